//! A conversion of many inputs into a folder.

use super::block::Context;
use super::output::{Output, Told};
use super::{Done, Lines, has_keys, output, pool, see_again};
use crate::blocks::Blocks;
use crate::input::{Identity, Opened};
use crate::keys::Seen;
use crate::layout::LayoutFile;
use crate::{HaulError, Progress, Step, input, keys, refused};
use evenkeel_os::Stop;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use xxhash_rust::xxh3::xxh3_64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    Refuse,
    Keep,
}

pub struct Job<'a> {
    pub file: &'a LayoutFile,
    /// What is read: files, since a rerun reads them again.
    pub inputs: Vec<PathBuf>,
    pub into: &'a Path,
    pub duplicates: Duplicates,
    /// Ends it early; a rerun goes on with the next file that is not done.
    pub stop: &'a Stop,
}

struct Before {
    /// Names by the numbers of inputs.
    names: Vec<PathBuf>,
    /// `None` where nobody looks for records that come twice.
    seen: Option<Seen>,
}

impl Job<'_> {
    /// Converts all inputs, those that are done already left out; says of each what became of it, in their order. Records that were
    /// stored by an earlier run count as the first of their kind, wherever their file stands in the order.
    /// Errors: anything that cannot be read or written; the files that were done until then are kept.
    pub fn run(mut self, tell: &mut (dyn FnMut(&Progress) + Send)) -> Result<Vec<Done>, HaulError> {
        fs::create_dir_all(self.into).map_err(HaulError::io("create", self.into))?;
        self.check_names()?;
        let asked = self.inputs.clone();
        let (mut done, mut rules) = self.chain();
        self.inputs
            .sort_by_key(|input| done.iter().position(|(known, _)| known == input).unwrap_or(usize::MAX));
        let mut before = self.before()?;
        if done.len() < self.inputs.len() {
            self.see_done(&done, &mut before, tell)?;
        }
        let mut progress = Progress { step: Step::Lines, total: self.total(), ..Progress::default() };
        for (number, input) in self.inputs.iter().enumerate() {
            if done.len() <= number {
                let found = self.one((number, input), rules, &mut before, &progress, tell)?;
                rules = self.after(rules, &found);
                done.push((input.clone(), found));
            }
            let (_, found) = &done[number];
            progress = progress.and(found.identity.map_or(0, |identity| identity.size), &found.tally);
            tell(&progress);
        }
        let mut all: BTreeMap<PathBuf, Done> = done.into_iter().collect();
        Ok(asked.iter().filter_map(|input| all.remove(input)).collect())
    }

    fn before(&self) -> Result<Before, HaulError> {
        keys::check_inputs(self.inputs.len())?;
        let names = self.inputs.clone();
        Ok(Before { names, seen: self.looks_for_duplicates().then(Seen::default) })
    }

    /// Notes the keys of the inputs that are done, since one that is not may have them again.
    fn see_done(
        &self,
        done: &[(PathBuf, Done)],
        before: &mut Before,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<(), HaulError> {
        let mut progress = Progress { step: Step::Keys, total: self.total(), ..Progress::default() };
        for (number, (input, done)) in done.iter().enumerate() {
            let Opened { stream, read, identity } = input::open(input, 0)?;
            if identity != done.identity {
                return Err(input::changed(input, 0));
            }
            let Before { names, seen: Some(seen) } = before else { return Ok(()) };
            let context = self.context(names, number);
            let read_before = progress.read;
            see_again(&context, stream, seen, self.stop, &mut || {
                progress.read = read_before + read.load(Ordering::Relaxed);
                tell(&progress);
            })?;
        }
        Ok(())
    }

    /// The inputs that are done, in the order in which they were, and the rules for the one that comes next.
    ///
    /// What became of a record depends on the inputs before its own, so that the rules of each input are made of those before it: where
    /// one of these is gone or another one, all that were converted after it are converted again. Otherwise two files could each
    /// hold a record back for the other's sake.
    fn chain(&self) -> (Vec<(PathBuf, Done)>, u64) {
        let known = self.inputs.iter().filter_map(|input| Some((input, output::finished(self.into, input)?)));
        let mut by_rules: BTreeMap<u64, Vec<(&PathBuf, Done)>> = BTreeMap::new();
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
        self.duplicates == Duplicates::Refuse && has_keys(self.file)
    }

    fn one(
        &self,
        (number, input): (usize, &Path),
        rules: u64,
        before: &mut Before,
        done: &Progress,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Done, HaulError> {
        let identity = Identity::of(input);
        let names = output::names(input, self.file);
        let Opened { stream, read, identity: opened } = input::open(input, 0)?;
        if opened != identity {
            return Err(input::changed(input, 0));
        }
        let mut output = Output::open(self.into, input, &names, (identity, rules))?;
        let context = self.context(&before.names, number);
        let mut tell = |tally: &_| tell(&done.and(read.load(Ordering::Relaxed), tally));
        let blocks = Blocks::new(stream, self.file.separator, 0);
        let seen = before.seen.as_mut();
        let mut told = Told { output: &mut output, context: &context, seen, tell: &mut tell };
        let converted = pool::run(blocks, input, &Lines(&context), &mut told, self.stop);
        // What grew or was replaced meanwhile is not what was converted.
        let is_same = Identity::of(input) == identity;
        match converted
            .and_then(|()| if is_same { Ok(()) } else { Err(input::changed(input, output.bytes())) })
        {
            Ok(()) => output.finish(input, self.into),
            Err(error) => {
                output.discard();
                Err(error)
            }
        }
    }

    fn context<'b>(&'b self, names: &'b [PathBuf], input: usize) -> Context<'b> {
        let has_keys = self.looks_for_duplicates();
        Context { file: self.file, names, input: input as u32, has_keys, places: false }
    }

    fn total(&self) -> Option<u64> {
        self.inputs.iter().map(|input| Identity::of(input).map(|found| found.size)).sum()
    }

    fn rules(&self) -> u64 {
        let text = format!(
            "{:?} {:?} {:?} {}",
            self.duplicates,
            self.file.layout.is_ragged(),
            self.file.separator,
            self.file.text
        );
        xxh3_64(text.as_bytes())
    }

    fn check_names(&self) -> Result<(), HaulError> {
        let mut seen: BTreeMap<String, &Path> = BTreeMap::new();
        for input in &self.inputs {
            if let Some(first) = seen.insert(input::stem(input), input) {
                let (first, second, name) = (first.display(), input.display(), input::stem(input));
                let what = format!("{first} and {second} would both become {name}");
                return Err(refused(what, "convert one of them into another folder").into());
            }
            output::keep_those_of_others(self.into, input)?;
        }
        Ok(())
    }
}
