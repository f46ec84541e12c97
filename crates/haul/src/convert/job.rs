//! A conversion of many inputs into a folder.

use super::block::{Context, Converted, Direction};
use super::output::{self, Output, Told};
use super::pool::{self, Sink, Work};
use super::{Done, Progress, Step};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::input::{self, Identity, Input, Opened};
use crate::keys::{Keys, KeysOfBlock, Repeated};
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use xxhash_rust::xxh3::xxh3_64;

/// What becomes of a record that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// It is refused.
    Refuse,
    /// It is a line as any other.
    Keep,
}

/// What is to be converted, and how.
pub struct Job<'a> {
    /// Where the fields are.
    pub file: &'a LayoutFile,
    /// Which way.
    pub direction: Direction,
    /// What is read: files, since a rerun and the search for duplicates read them again.
    pub inputs: Vec<Input>,
    /// The folder of the outputs.
    pub into: &'a Path,
    /// What becomes of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    /// Ends it early; a rerun goes on.
    pub stop: &'a Stop,
}

impl Job<'_> {
    /// Converts all inputs, those that are done already left out; says of each what became of it, in their order. Records that were
    /// stored by an earlier run count as the first of their kind, wherever their file stands in the order.
    ///
    /// # Errors
    /// Anything that cannot be read or written; what was done until then is kept, and a rerun goes on.
    pub fn run(mut self, tell: &mut (dyn FnMut(&Progress) + Send)) -> Result<Vec<Done>, HaulError> {
        fs::create_dir_all(self.into).map_err(HaulError::io("create", self.into))?;
        self.check_names()?;
        let rules = self.rules();
        let asked = self.inputs.clone();
        let known = |input: &Input| output::finished(self.into, input, rules).is_some();
        // A stable sort: what is done comes first.
        let mut inputs = asked.clone();
        inputs.sort_by_key(|input| !known(input));
        self.inputs = inputs;
        let repeated = self.repeated(tell)?;
        let mut all = BTreeMap::new();
        let mut progress = Progress { step: Step::Lines, total: self.total(), ..Progress::default() };
        for (number, input) in (0_u16..).zip(&self.inputs) {
            let done = match output::finished(self.into, input, rules) {
                Some(done) => done,
                None => self.one((number, input), rules, repeated.as_ref(), &progress, tell)?,
            };
            progress.tally.add(&done.tally);
            progress.read += done.identity.map_or(0, |identity| identity.size);
            tell(&progress);
            all.insert(input.clone(), done);
        }
        Ok(asked.iter().filter_map(|input| all.remove(input)).collect())
    }

    fn one(
        &self,
        (number, input): (u16, &Input),
        rules: u64,
        repeated: Option<&Repeated>,
        before: &Progress,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Done, HaulError> {
        let identity = Identity::of(input.path());
        let mut output = Output::open(
            self.into,
            input,
            &output::names(input, self.file, self.direction),
            (identity, rules),
        )?;
        let Opened { stream, read, identity: opened, .. } = input::open(input, output.offset())?;
        if opened != identity {
            return Err(self.changed(input, output.offset()));
        }
        let mut tell = |tally: &_| tell(&output::sum(before, tally, read.load(Ordering::Relaxed)));
        let blocks = Blocks::new(stream, self.file.separator, output.offset());
        let context =
            Context { file: self.file, direction: self.direction, inputs: &self.inputs, input: number };
        let mut told = Told { output: &mut output, tell: &mut tell };
        let done = pool::run(blocks, input.path(), &Lines { context, repeated }, &mut told, self.stop);
        if done.is_err() {
            output.note()?;
        }
        done?;
        // What grew or was replaced meanwhile is not what was converted.
        match Identity::of(input.path()) == identity {
            true => output.finish(input, self.into),
            false => Err(self.changed(input, output.offset())),
        }
    }

    fn changed(&self, input: &Input, at: u64) -> HaulError {
        let what = "its size, time or number is another one; run again once nobody writes to it";
        HaulError::Changed { path: input.path().to_owned(), at, what }
    }

    /// Which records came before; `None` where nobody asks.
    fn repeated(&self, tell: &mut (dyn FnMut(&Progress) + Send)) -> Result<Option<Repeated>, HaulError> {
        let has_key = self.file.layout.types().iter().any(|each| !each.key.is_empty());
        if self.duplicates == Duplicates::Keep || !has_key || self.direction != Direction::Delimit {
            return Ok(None);
        }
        let mut keys = Keys::new(self.into)?;
        let mut progress = Progress { step: Step::Keys, total: self.total(), ..Progress::default() };
        let mut longest = 0;
        for (number, input) in (0_u16..).zip(&self.inputs) {
            let Opened { stream, read, .. } = input::open(input, 0)?;
            let context =
                Context { file: self.file, direction: self.direction, inputs: &self.inputs, input: number };
            let blocks = Blocks::new(stream, self.file.separator, 0);
            let before = progress.read;
            let mut sink = KeySink {
                keys: &mut keys,
                longest: &mut longest,
                after: &mut || {
                    progress.read = before + read.load(Ordering::Relaxed);
                    tell(&progress);
                },
            };
            pool::run(blocks, input.path(), &KeyWork(context), &mut sink, self.stop)?;
        }
        keys.judge(longest).map(Some)
    }

    fn total(&self) -> Option<u64> {
        self.inputs.iter().map(|input| Identity::of(input.path()).map(|found| found.size)).sum()
    }

    /// What decides what becomes of a record, as a number.
    fn rules(&self) -> u64 {
        let text = format!(
            "{:?} {:?} {:?} {:?} {}",
            self.direction,
            self.duplicates,
            self.file.layout.is_ragged(),
            self.file.separator,
            self.file.text
        );
        xxh3_64(text.as_bytes())
    }

    fn check_names(&self) -> Result<(), HaulError> {
        let mut seen: BTreeMap<String, &Input> = BTreeMap::new();
        for input in &self.inputs {
            if let Some(first) = seen.insert(input.stem(), input) {
                let (first, second) = (first.path().to_owned(), input.path().to_owned());
                return Err(HaulError::Alike { first, second, name: input.stem() });
            }
        }
        Ok(())
    }
}

struct Lines<'a> {
    context: Context<'a>,
    repeated: Option<&'a Repeated>,
}

impl Work for Lines<'_> {
    type Scratch = Converted;

    fn work(&self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        let bytes = offset..offset + block.len() as u64;
        let repeats = self.repeated.map(|repeated| repeated.within(self.context.input, bytes));
        let repeats = repeats.transpose()?.unwrap_or_default();
        self.context.convert(offset, block, &repeats, scratch);
        Ok(())
    }
}

struct KeyWork<'a>(Context<'a>);

/// Keys, a line that nobody reads, and where the block ends.
#[derive(Default)]
struct KeyScratch(KeysOfBlock, Vec<u8>, u64);

impl Work for KeyWork<'_> {
    type Scratch = KeyScratch;

    fn work(&self, offset: u64, block: &[u8], scratch: &mut KeyScratch) -> Result<(), HaulError> {
        self.0.keys(offset, block, &mut scratch.1, &mut scratch.0);
        scratch.2 = offset + block.len() as u64;
        Ok(())
    }
}

struct KeySink<'a> {
    keys: &'a mut Keys,
    longest: &'a mut u64,
    after: &'a mut (dyn FnMut() + Send),
}

impl Sink<KeyScratch> for KeySink<'_> {
    fn take(&mut self, scratch: &KeyScratch) -> Result<(), HaulError> {
        *self.longest = (*self.longest).max(scratch.2);
        self.keys.add(&scratch.0)?;
        (self.after)();
        Ok(())
    }
}
