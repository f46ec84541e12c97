//! Levels of indexes, counted while their pages come by in the order of the file.

use super::PageKind;
use super::format::Format;
use super::whole::{IndexPage, NOBODY};
use std::collections::{BTreeMap, HashMap};

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
    /// Rows that were deleted and not cleared away yet.
    pub deleted: u64,
    /// Records of the index that are no rows.
    pub hidden: u64,
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
        self.records += u64::from(header.records.saturating_sub(header.deleted));
        self.deleted += u64::from(header.deleted);
        self.hidden += u64::from(header.has_hidden);
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

/// Shares by which the fill of leaves is told: up to 10 %, up to 20 %, and so on.
pub const FILLS: usize = 10;

/// A tablespace by its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Tablespace {
    pub format: Format,
    /// Pages of its file.
    pub pages: u64,
    /// How many there are of each kind.
    pub kinds: BTreeMap<PageKind, u64>,
    /// Pages of indexes in the double write buffer of a shared tablespace: copies, which belong to no index here.
    pub copies: u64,
    /// Pages that nothing uses: given back, kept for an index, or never used.
    pub free: u64,
    /// Pages of values that are kept outside their rows.
    pub outside: u64,
    pub indexes: Vec<IndexLayout>,
    pub broken: Vec<Broken>,
}

/// How an index lies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexLayout {
    pub id: u64,
    /// Pages in use, leaves and those above.
    pub pages: u64,
    /// Pages that were its own and are free.
    pub freed: u64,
    /// Levels, leaves included.
    pub levels: u16,
    pub leaves: u64,
    pub records: u64,
    /// Rows on leaves that were deleted and not cleared away yet; no other figure has them.
    pub deleted: u64,
    /// Bytes of these rows on leaves.
    pub used_bytes: u64,
    /// Mean share of a leaf that rows take.
    pub fill: f64,
    /// How many leaves are filled up to 10 %, up to 20 %, and so on.
    pub fills: [u64; FILLS],
    /// Share of leaves whose successor in the order of keys is the next page of the file; `None` where no leaf has one.
    pub in_order: Option<f64>,
    /// Pages from a leaf to its successor, in either direction, in the mean.
    pub mean_jump: Option<f64>,
    /// What a range of keys touches; `None` where the chain of leaves is broken.
    pub range: Option<RangeCost>,
}

/// What reading a range of keys touches, in the mean over all places where it may begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeCost {
    pub leaves: u64,
    /// Extents in which they lie.
    pub extents: f64,
    /// Extents that as many pages need if they lie side by side.
    pub extents_least: u64,
}

/// A chain of pages that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Number of the index in the server.
    pub index: u64,
    /// The level, 0 for leaves.
    pub level: u16,
    /// What is wrong, and where.
    pub fault: Fault,
}

/// What is wrong with a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("page {page} is followed by page {next}, which the file does not have")]
    OutOfFile { page: u32, next: u32 },
    #[error("page {page} is followed by page {next}, which is not of this index and level")]
    Elsewhere { page: u32, next: u32 },
    #[error("page {page} is followed by page {next}, which names page {back} as the one before it")]
    NotBack { page: u32, next: u32, back: u32 },
    #[error("page {page} is followed by page {next}, which came before it: a cycle")]
    Circle { page: u32, next: u32 },
    #[error("no page is the first: each, as page {page}, names one before it")]
    NoFirst { page: u32 },
    #[error("{pages} pages, the first of them page {page}, are not in the chain")]
    Apart { pages: u64, page: u32 },
}
