//! What is kept of pages while they come by, and what follows from it when all have.

use super::format::Format;
use super::kind::PageKind;
use super::layout::{Broken, IndexLayout, RangeCost, Tablespace};
use super::links::{Links, NO_LEVEL};
use super::page::{NOBODY, Page};
use super::tally::{Level, Levels};
use super::walk;
use super::whole::is_copy;
use std::collections::BTreeMap;

/// Why a page ends the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// The header of an index's page makes no sense.
    Header,
    /// More levels of indexes than are told apart.
    TooManyLevels,
}

pub(super) struct Gathered {
    format: Format,
    pages: u64,
    kinds: BTreeMap<PageKind, u64>,
    copies: u64,
    levels: Levels,
    links: Links,
}

impl Gathered {
    /// For a file of so many pages; `None` where there is no memory for its table.
    pub fn new(format: Format, pages: u64) -> Option<Self> {
        // A page has four bytes for the number of another one.
        let room = u32::try_from(pages).ok()? as usize;
        Some(Self {
            format,
            pages,
            kinds: BTreeMap::new(),
            copies: 0,
            levels: Levels::default(),
            links: Links::with_room(room)?,
        })
    }

    /// Takes the next page of the file.
    pub fn add(&mut self, number: u64, page: Page<'_>, free: bool) -> Result<(), Odd> {
        *self.kinds.entry(page.kind()).or_default() += 1;
        match self.level(number, page, free)? {
            NO_LEVEL => self.links.push(NO_LEVEL, (NOBODY, NOBODY)),
            level => self.links.push(level, (page.previous(), page.next())),
        }
        Ok(())
    }

    fn level(&mut self, number: u64, page: Page<'_>, free: bool) -> Result<u16, Odd> {
        if page.kind() != PageKind::Index {
            return Ok(NO_LEVEL);
        }
        if is_copy(number, page, self.format) {
            self.copies += 1;
            return Ok(NO_LEVEL);
        }
        match page.index() {
            Some(header) if free => {
                self.levels.add_freed(header).ok_or(Odd::TooManyLevels)?;
                Ok(NO_LEVEL)
            }
            Some(header) => {
                let neighbours = (page.previous(), page.next());
                self.levels.add(number as u32, neighbours, header).ok_or(Odd::TooManyLevels)
            }
            None if free => Ok(NO_LEVEL),
            None => Err(Odd::Header),
        }
    }

    /// Goes through all chains, and says what was found. A range of keys reads `range` of an index.
    pub fn finish(mut self, range: f64) -> Tablespace {
        let mut broken = Vec::new();
        let mut ranges = BTreeMap::new();
        let mut counts = vec![0; self.pages.div_ceil(self.format.extent_pages()) as usize];
        for (number, level) in (0..).zip(self.levels.all()) {
            match walk::walk(&mut self.links, number, level) {
                Err(fault) => broken.push(Broken { index: level.index, level: level.level, fault }),
                Ok(()) if level.level == 0 => {
                    let cost =
                        walk::range(&self.links, level, range, self.format.extent_pages(), &mut counts);
                    ranges.extend(cost.map(|cost| (level.index, cost)));
                }
                Ok(()) => {}
            }
        }
        let indexes = indexes(self.levels.all(), &ranges);
        let Self { format, pages, kinds, copies, .. } = self;
        Tablespace { format, pages, kinds, copies, indexes, broken }
    }
}

/// The indexes of these levels, by their numbers.
fn indexes(levels: &[Level], ranges: &BTreeMap<u64, RangeCost>) -> Vec<IndexLayout> {
    let mut found: BTreeMap<u64, IndexLayout> = BTreeMap::new();
    for level in levels {
        let index = found
            .entry(level.index)
            .or_insert_with(|| IndexLayout { id: level.index, ..IndexLayout::default() });
        index.pages += level.pages;
        index.freed += level.freed;
        if level.pages > 0 {
            index.levels = index.levels.max(level.level + 1);
        }
        if level.level == 0 {
            add_leaves(index, level);
            index.range = ranges.get(&level.index).copied();
        }
    }
    found.into_values().filter(|index| index.pages > 0).collect()
}

fn add_leaves(index: &mut IndexLayout, leaves: &Level) {
    let of = |number: f64, all: u64| (all > 0).then(|| number / all as f64);
    index.leaves = leaves.pages;
    index.records = leaves.records;
    index.used_bytes = leaves.used;
    index.fill = of(leaves.fill, leaves.pages).unwrap_or(0.0);
    index.fills = leaves.fills;
    index.in_order = of(leaves.adjacent as f64, leaves.followed);
    index.mean_jump = of(leaves.jumps as f64, leaves.followed);
}
