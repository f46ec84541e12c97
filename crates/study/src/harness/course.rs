//! From the first run to the last, whatever is measured: what is missing is made, and disturbed runs once more.

use crate::store::Attempt;
use evenkeel_core::Nanos;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_os::Stop;

/// What is measured run by run: a published study by its plan, a profile by its cells. It keeps its runs itself.
pub trait Course {
    /// Why it cannot go on.
    type Error;
    /// What tells a run from the others of the course.
    type Key: Clone;
    type Run: Attempt;

    fn runs(&self) -> &[Self::Run];

    fn is(&self, run: &Self::Run, key: &Self::Key) -> bool;

    /// How long a run takes, roughly.
    fn takes(&self, key: &Self::Key) -> Nanos;

    /// What comes next, by what is known so far; `None` at the end.
    fn next(&mut self) -> Result<Option<Block<Self::Key>>, Self::Error>;

    /// Makes an attempt at a run, numbered from 1, and keeps it; false where somebody asked to stop.
    fn make(&mut self, key: &Self::Key, attempt: u32) -> Result<bool, Self::Error>;

    /// A run was disturbed, and this attempt at it follows.
    fn again(&mut self, key: &Self::Key, attempt: u32, because: Disturbance);

    /// A run, where it is made.
    fn finished(&self, key: &Self::Key) -> Option<&Self::Run> {
        self.runs().iter().find(|run| self.is(run, key))
    }

    fn attempts_set_aside(&self) -> u32 {
        count(self.runs().iter().map(Attempt::attempts_set_aside).sum())
    }

    /// How long those take that are not made yet.
    fn left(&self, keys: impl Iterator<Item = Self::Key>) -> Nanos {
        let missing = keys.filter(|key| self.finished(key).is_none());
        missing.fold(Nanos::ZERO, |sum, key| sum + self.takes(&key))
    }
}

/// Runs that are made one after the other. Those that were disturbed are made once more at its end, after all others.
#[derive(Clone, Debug)]
pub struct Block<K> {
    /// In their order; what is finished is not made again.
    pub keys: Vec<K>,
    /// How often one is made again at most.
    pub retries: u32,
    pub retries_in_all: u32,
}

impl<K> Block<K> {
    /// A single run, made once.
    pub fn one(key: K) -> Self {
        Self { keys: vec![key], retries: 0, retries_in_all: 0 }
    }
}

/// Goes from block to block; whether all came to its end, or somebody asked to stop.
pub fn go_through<C: Course>(course: &mut C, stop: &Stop) -> Result<bool, C::Error> {
    while let Some(block) = course.next()? {
        for key in &block.keys {
            if course.finished(key).is_none() && (stop.is_set() || !course.make(key, 1)?) {
                return Ok(false);
            }
        }
        if !disturbed_again(course, &block, stop)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether going through it would make no run: all are made, and none that was disturbed would be made again.
pub fn is_complete<C: Course>(course: &mut C) -> Result<bool, C::Error> {
    while let Some(block) = course.next()? {
        let is_missing = block.keys.iter().any(|key| course.finished(key).is_none());
        let most = if block.retries > 0 { block.retries_in_all as usize } else { 0 };
        if is_missing || !disturbed(course, &block, most).is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The runs of a block that were disturbed from outside, once more; of the attempts at a run the least disturbed stands.
/// What was measured has no part in it.
fn disturbed_again<C: Course>(course: &mut C, block: &Block<C::Key>, stop: &Stop) -> Result<bool, C::Error> {
    let mut left = block.retries_in_all as usize;
    for _ in 0..block.retries {
        let found = disturbed(course, block, left);
        left -= found.len();
        for (key, because) in found {
            let attempt = 2 + count(course.finished(&key).map_or(0, Attempt::attempts_set_aside));
            course.again(&key, attempt, because);
            if stop.is_set() || !course.make(&key, attempt)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The most disturbed runs of a block, as many as may be made again, in the order of the block.
fn disturbed<C: Course>(course: &C, block: &Block<C::Key>, left: usize) -> Vec<(C::Key, Disturbance)> {
    let because = |key: &C::Key| {
        let run = course.finished(key)?;
        let may = run.attempts_set_aside() < block.retries as usize;
        Some(run.disturbance()).filter(|because| may && because.is_too_large())
    };
    let with_place = |(place, key): (usize, &C::Key)| Some((place, key.clone(), because(key)?));
    let mut found: Vec<_> = block.keys.iter().enumerate().filter_map(with_place).collect();
    found.sort_by(|(.., one), (.., other)| other.weight().total_cmp(&one.weight()));
    found.truncate(left);
    found.sort_by_key(|(place, ..)| *place);
    found.into_iter().map(|(_, key, because)| (key, because)).collect()
}

fn count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX)
}
