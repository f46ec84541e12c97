//! Levels of indexes, counted while their pages come by in the order of the file.

use super::layout::FILLS;
use super::page::{IndexPage, NOBODY};
use std::collections::HashMap;

/// Levels that are told apart; the number of one has two bytes in the table of pages.
pub(super) const LEVELS_MAX: usize = u16::MAX as usize - 1;

/// One level of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub index: u64,
    pub level: u16,
    pub pages: u64,
    pub freed: u64,
    pub records: u64,
    pub used: u64,
    pub fill: f64,
    pub fills: [u64; FILLS],
    /// Pages that name a successor.
    pub followed: u64,
    /// Of these, whose successor is the next page of the file.
    pub adjacent: u64,
    /// Pages between these and their successors.
    pub jumps: u64,
    /// The first page in the order of keys, as far as seen.
    pub first: Option<u32>,
    /// The first page in the file.
    pub seen: Option<u32>,
}

impl Level {
    /// Counts a page in use.
    fn add(&mut self, page: u32, (previous, next): (u32, u32), header: IndexPage) {
        let fill = f64::from(header.used) / f64::from(header.room);
        self.pages += 1;
        self.records += u64::from(header.records);
        self.used += u64::from(header.used);
        self.fill += fill;
        self.fills[((fill * FILLS as f64).ceil() as usize).clamp(1, FILLS) - 1] += 1;
        self.seen.get_or_insert(page);
        if previous == NOBODY {
            self.first.get_or_insert(page);
        }
        if next != NOBODY {
            self.followed += 1;
            self.adjacent += u64::from(u64::from(next) == u64::from(page) + 1);
            self.jumps += u64::from(next.abs_diff(page));
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Levels {
    all: Vec<Level>,
    numbers: HashMap<(u64, u16), u16>,
    /// The one that was asked for last: pages of a level often lie together.
    last: Option<(u64, u16, u16)>,
}

impl Levels {
    /// Counts a page in use and says the number of its level; `None` where there are too many.
    pub fn add(&mut self, page: u32, neighbours: (u32, u32), header: IndexPage) -> Option<u16> {
        let number = self.number(header.index, header.level)?;
        self.all[usize::from(number)].add(page, neighbours, header);
        Some(number)
    }

    pub fn add_freed(&mut self, header: IndexPage) -> Option<()> {
        let number = self.number(header.index, header.level)?;
        self.all[usize::from(number)].freed += 1;
        Some(())
    }

    /// All of them, by their numbers.
    pub fn all(&self) -> &[Level] {
        &self.all
    }

    fn number(&mut self, index: u64, level: u16) -> Option<u16> {
        if let Some((_, _, number)) = self.last.filter(|last| (last.0, last.1) == (index, level)) {
            return Some(number);
        }
        let number = match self.numbers.get(&(index, level)) {
            Some(number) => *number,
            None => self.new_level(index, level)?,
        };
        self.last = Some((index, level, number));
        Some(number)
    }

    fn new_level(&mut self, index: u64, level: u16) -> Option<u16> {
        let number = u16::try_from(self.all.len()).ok().filter(|_| self.all.len() < LEVELS_MAX)?;
        self.all.push(Level { index, level, ..Level::default() });
        self.numbers.insert((index, level), number);
        Some(number)
    }
}
