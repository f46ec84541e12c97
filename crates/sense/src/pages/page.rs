//! One page: the header that all have, and that of pages of indexes.

use super::bytes::{u16_at, u32_at, u64_at};
use super::kind::PageKind;

/// No page, where a page has no neighbour.
pub(super) const NOBODY: u32 = u32::MAX;
/// Where the header of an index's page begins.
const INDEX_HEADER: usize = 38;
/// Levels of an index at most, as the server has it.
const LEVELS_MAX: u16 = 100;
/// Where rows begin, in the old and the compact form of rows.
const ROWS: [usize; 2] = [125, 120];
/// What an empty page has at its end: checksum, and the two places of its directory.
const END: usize = 8 + 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub bytes: &'a [u8],
}

/// What the header of an index's page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexPage {
    pub index: u64,
    /// 0 for a leaf.
    pub level: u16,
    pub records: u16,
    /// Bytes of rows that are not deleted.
    pub used: u32,
    /// Bytes that rows can have on an empty page.
    pub room: u32,
}

impl Page<'_> {
    pub fn number(self) -> u32 {
        u32_at(self.bytes, 4)
    }

    /// The page before it in the order of keys.
    pub fn previous(self) -> u32 {
        u32_at(self.bytes, 8)
    }

    /// The page after it in the order of keys.
    pub fn next(self) -> u32 {
        u32_at(self.bytes, 12)
    }

    pub fn space(self) -> u32 {
        u32_at(self.bytes, 34)
    }

    pub fn kind_number(self) -> u16 {
        u16_at(self.bytes, 24)
    }

    pub fn kind(self) -> PageKind {
        PageKind::of(self.kind_number())
    }

    /// Whether nothing was ever written to it.
    pub fn is_empty(self) -> bool {
        static NOTHING: [u8; super::format::PAGE_BYTES_MAX] = [0; super::format::PAGE_BYTES_MAX];
        u64_at(self.bytes, 16) == 0 && NOTHING.get(..self.bytes.len()) == Some(self.bytes)
    }

    /// The header of an index's page; `None` where it makes no sense.
    pub fn index(self) -> Option<IndexPage> {
        let field = |at| u16_at(self.bytes, INDEX_HEADER + at);
        let (top, heap, garbage, level) = (field(2) as usize, field(4), field(8) as usize, field(26));
        let rows = ROWS[usize::from(heap >> 15)];
        let used = top.checked_sub(rows)?.checked_sub(garbage)?;
        let room = self.bytes.len().checked_sub(rows + END)?;
        (used <= room && level < LEVELS_MAX).then_some(IndexPage {
            index: u64_at(self.bytes, INDEX_HEADER + 28),
            level,
            records: field(16),
            used: used as u32,
            room: room as u32,
        })
    }
}
