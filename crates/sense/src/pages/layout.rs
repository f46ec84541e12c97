//! What was found in a tablespace: the answer, without how it was come by.

use super::format::Format;
use super::kind::PageKind;
use std::collections::BTreeMap;

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
