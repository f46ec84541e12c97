//! What a rebuild would make of an index and of its file.

use super::{IndexLayout, Tablespace};
use serde::Serialize;

/// What a server that sorts leaves on each leaf: it keeps a sixteenth free for what comes later.
const FILL_OF_SORTED: f64 = 15.0 / 16.0;
/// Extents by which a large file grows, and what a fresh file has beyond its pages in use: extents that its indexes keep, and a tenth.
const GROWTH_EXTENTS: u64 = 4;
const SPARE: f64 = 0.1;
/// Pages of a file that no index has: of the header, the change buffer, the segments, the dictionary.
const OWN_PAGES: u64 = 4;
/// From this share of a file on, and from these bytes on, what a rebuild gives back is worth it.
const WORTH_SHARE: f64 = 0.3;
const WORTH_BYTES: u64 = 8 << 20;

impl IndexLayout {
    /// Share of a leaf that rows take where they are sorted anew: as many whole rows of the mean size as fit beside what is kept free.
    pub fn reached_fill(&self, page_bytes: u64) -> f64 {
        let row = self.used_bytes as f64 / self.records as f64 / page_bytes as f64;
        let rows = (FILL_OF_SORTED / row).floor();
        if row > 0.0 && row.is_finite() && rows >= 1.0 { rows * row } else { FILL_OF_SORTED }
    }

    /// Its pages after a rebuild over those of today, at most 1.
    pub fn less(&self, page_bytes: u64) -> f64 {
        if self.leaves < 2 { 1.0 } else { (self.fill / self.reached_fill(page_bytes)).min(1.0) }
    }

    /// Its pages after a rebuild.
    pub fn rebuilt_pages(&self, page_bytes: u64) -> u64 {
        (self.pages as f64 * self.less(page_bytes)).ceil().max(1.0) as u64
    }
}

/// The room that a table takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Room {
    /// Its files.
    pub file_bytes: u64,
    /// Pages of them that nothing uses.
    pub free_bytes: u64,
    /// Pages of values that are kept outside their rows.
    pub outside_bytes: u64,
    /// Its files after a rebuild, about.
    pub rebuilt_bytes: u64,
}

impl Room {
    /// The room of a table with a file of its own.
    pub fn of(space: &Tablespace) -> Self {
        let page_bytes = space.format.page_bytes as u64;
        let indexes: u64 = space.indexes.iter().map(|index| index.rebuilt_pages(page_bytes)).sum();
        let used = indexes + space.outside + OWN_PAGES;
        let growth = GROWTH_EXTENTS * space.format.extent_pages();
        // A small table has single pages, and no extents.
        let spare = if used < growth { 0 } else { (used as f64 * SPARE) as u64 + growth };
        Self {
            file_bytes: space.pages * page_bytes,
            free_bytes: space.free * page_bytes,
            outside_bytes: space.outside * page_bytes,
            rebuilt_bytes: (used + spare) * page_bytes,
        }
    }

    /// That of several files together: partitions.
    pub fn with(self, other: Self) -> Self {
        Self {
            file_bytes: self.file_bytes + other.file_bytes,
            free_bytes: self.free_bytes + other.free_bytes,
            outside_bytes: self.outside_bytes + other.outside_bytes,
            rebuilt_bytes: self.rebuilt_bytes + other.rebuilt_bytes,
        }
    }

    /// What a rebuild gives back to the file system; `None` where it is not worth it.
    pub fn gives_back(&self) -> Option<u64> {
        let bytes = self.file_bytes.saturating_sub(self.rebuilt_bytes);
        (bytes >= WORTH_BYTES && bytes as f64 >= self.file_bytes as f64 * WORTH_SHARE).then_some(bytes)
    }
}
