//! A conversion of many inputs into a folder.

use super::block::{Context, Converted, Direction};
use super::output::{self, Output, Told};
use super::pool::{self, Work};
use super::repeated::{Stretch, find_repeated, has_keys};
use super::{Done, Progress, Step};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::input::{self, Identity, Input, Opened};
use crate::keys::Repeated;
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
    /// Whether fields of fixed width become lines, or lines become fields.
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
        let asked = self.inputs.clone();
        let (mut done, mut rules) = self.chain();
        self.inputs
            .sort_by_key(|input| done.iter().position(|(known, _)| known == input).unwrap_or(usize::MAX));
        // Of one moment: what is changed between the search for duplicates and the lines was searched as something else.
        let identities: Vec<_> = self.inputs.iter().map(|input| Identity::of(input.path())).collect();
        let repeated = self.repeated(tell)?;
        let mut progress = Progress { step: Step::Lines, total: self.total(), ..Progress::default() };
        for (number, (input, identity)) in (0_u32..).zip(self.inputs.iter().zip(identities)) {
            if done.len() <= number as usize {
                let found = self.one((number, input, identity), rules, repeated.as_ref(), &progress, tell)?;
                rules = self.after(rules, &found);
                done.push((input.clone(), found));
            }
            let (_, found) = &done[number as usize];
            progress.tally.add(&found.tally);
            progress.read += found.identity.map_or(0, |identity| identity.size);
            tell(&progress);
        }
        let mut all: BTreeMap<Input, Done> = done.into_iter().collect();
        Ok(asked.iter().filter_map(|input| all.remove(input)).collect())
    }

    /// The inputs that are done, in the order in which they were, and the rules for the one that comes next.
    ///
    /// What became of a record depends on the inputs before its own, so that the rules of each input are made of those before it: where
    /// one of these is gone or another one, all that were converted after it are converted again. Otherwise two files could each
    /// hold a record back for the other's sake.
    fn chain(&self) -> (Vec<(Input, Done)>, u64) {
        let known = self.inputs.iter().filter_map(|input| Some((input, output::finished(self.into, input)?)));
        let mut by_rules: BTreeMap<u64, Vec<(&Input, Done)>> = BTreeMap::new();
        known.for_each(|(input, done)| by_rules.entry(done.rules).or_default().push((input, done)));
        let (mut chain, mut rules) = (Vec::new(), self.rules());
        while let Some((input, done)) = by_rules.get_mut(&rules).and_then(Vec::pop) {
            rules = self.after(rules, &done);
            chain.push((input.clone(), done));
        }
        (chain, rules)
    }

    /// The rules for the input after one; the same where inputs do not look at each other.
    fn after(&self, rules: u64, done: &Done) -> u64 {
        match self.looks_for_duplicates() {
            true => xxh3_64(format!("{rules} {:?}", done.identity).as_bytes()),
            false => rules,
        }
    }

    fn looks_for_duplicates(&self) -> bool {
        self.duplicates == Duplicates::Refuse && has_keys(self.file) && self.direction == Direction::Delimit
    }

    fn one(
        &self,
        (number, input, identity): (u32, &Input, Option<Identity>),
        rules: u64,
        repeated: Option<&Repeated>,
        before: &Progress,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Done, HaulError> {
        let names = output::names(input, self.file, self.direction);
        let mut output = Output::open(self.into, input, &names, (identity, rules))?;
        let Opened { stream, read, identity: opened, .. } = input::open(input, output.offset())?;
        if opened != identity {
            return Err(self.changed(input, output.offset()));
        }
        let mut tell = |tally: &_| tell(&output::sum(before, tally, read.load(Ordering::Relaxed)));
        let blocks = Blocks::new(stream, self.file.separator, output.offset());
        let mut told = Told { output: &mut output, tell: &mut tell };
        let work = Lines { context: self.context(number), repeated };
        let done = pool::run(blocks, input.path(), &work, &mut told, self.stop);
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

    fn context(&self, number: u32) -> Context<'_> {
        Context {
            file: self.file,
            direction: self.direction,
            inputs: &self.inputs,
            input: number,
            places: false,
        }
    }

    fn changed(&self, input: &Input, at: u64) -> HaulError {
        let what = "its size, time or number is another one; run again once nobody writes to it";
        HaulError::Changed { path: input.path().to_owned(), at, what }
    }

    /// Which records came before; `None` where nobody asks.
    pub(crate) fn repeated(
        &self,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Option<Repeated>, HaulError> {
        if !self.looks_for_duplicates() {
            return Ok(None);
        }
        let whole = |(number, input)| Stretch { number, input, bytes: 0..u64::MAX };
        let stretches: Vec<_> = (0_u32..).zip(&self.inputs).map(whole).collect();
        let progress = Progress { step: Step::Keys, total: self.total(), ..Progress::default() };
        find_repeated((self.file, self.into), &stretches, self.stop, progress, tell).map(Some)
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

/// Records of an input as lines, but for those that came before.
pub(crate) struct Lines<'a> {
    pub context: Context<'a>,
    pub repeated: Option<&'a Repeated>,
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
