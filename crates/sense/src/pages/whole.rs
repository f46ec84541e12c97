//! Whether a page can be believed, and why not.

use super::PageKind;
use super::format::{Format, u8_at, u16_at, u32_at, u64_at};

/// What a page is at first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It can be believed.
    Whole,
    /// It is packed by page compression.
    Compressed,
    /// It cannot be read without a key.
    Encrypted,
    Wrong(&'static str),
}

/// Judges a page by the place where it stands.
pub(super) fn look(number: u64, page: Page<'_>, format: Format) -> Sight {
    if (number > 0 && page.is_empty()) || is_copy(number, page, format) {
        return Sight::Whole;
    }
    if !format.full_crc32 {
        // MySQL's own, whose checksum is that of the page before it was packed: compressed, encrypted, both, an encrypted spatial index.
        match page.kind_number() {
            14 => return Sight::Compressed,
            15..=17 => return Sight::Encrypted,
            _ => {}
        }
    }
    if let Some(what) = fault(page.bytes, format) {
        // Only encrypted pages have this field, and their checksum is another one.
        let has_key = !format.full_crc32 && number > 0 && u32_at(page.bytes, 26) != 0;
        return if has_key { Sight::Encrypted } else { Sight::Wrong(what) };
    }
    if format.full_crc32 && number > 0 && u32_at(page.bytes, 0) != 0 {
        return Sight::Encrypted;
    }
    match page.kind(format) {
        PageKind::PageCompressed => Sight::Compressed,
        PageKind::PageCompressedEncrypted | PageKind::Encrypted => Sight::Encrypted,
        _ if u64::from(page.number()) != number => Sight::Wrong("it has the number of another page"),
        _ if page.space() != format.space => Sight::Wrong("it is of another tablespace"),
        _ => Sight::Whole,
    }
}

/// Whether this is a copy of another page: the double write buffer of a shared tablespace holds such.
pub(super) fn is_copy(number: u64, page: Page<'_>, format: Format) -> bool {
    let buffer = format.extent_pages()..3 * format.extent_pages();
    let is_another = u64::from(page.number()) != number || page.space() != 0;
    format.space == 0 && buffer.contains(&number) && is_another && !page.is_empty()
}

/// What is wrong with a page.
fn fault(page: &[u8], format: Format) -> Option<&'static str> {
    if format.full_crc32 { full(page) } else { original(page) }
}

/// MariaDB since 10.5: one checksum of all bytes before it.
fn full(page: &[u8]) -> Option<&'static str> {
    let end = page.len() - 4;
    if u32_at(page, 20) != u32_at(page, end - 4) {
        return Some("its header and trailer are of different changes");
    }
    (crc32c::crc32c(&page[..end]) != u32_at(page, end)).then_some("its checksum is wrong")
}

/// MySQL, and MariaDB before: a checksum at the beginning, by any of the three ways that servers had.
fn original(page: &[u8]) -> Option<&'static str> {
    /// What servers write that are told to use no checksums.
    const NONE: u32 = 0xDEAD_BEEF;
    let end = page.len() - 8;
    if u32_at(page, 20) != u32_at(page, end + 4) {
        return Some("its header and trailer are of different changes");
    }
    let (head, body) = (&page[4..26], &page[38..end]);
    let stored = u32_at(page, 0);
    let right = stored == NONE
        || stored == crc32c::crc32c(head) ^ crc32c::crc32c(body)
        || stored == fold(head).wrapping_add(fold(body));
    (!right).then_some("its checksum is wrong")
}

/// InnoDB's own checksum before CRC-32, which MySQL 5.1 has.
fn fold(bytes: &[u8]) -> u32 {
    const FIRST: u32 = 1_463_735_687;
    const SECOND: u32 = 1_653_893_711;
    bytes.iter().fold(0, |fold: u32, &byte| {
        let (mixed, byte) = (fold ^ u32::from(byte) ^ SECOND, u32::from(byte));
        ((mixed << 8).wrapping_add(fold) ^ FIRST).wrapping_add(byte)
    })
}

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

/// The kind of the root of an index whose table got columns without a rebuild (MariaDB).
const INSTANT: u16 = 18;

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
    /// Rows of a leaf that were deleted and wait to be cleared away.
    pub deleted: u16,
    /// Whether it is the root of an index with a record that is no row: it describes the columns that were added without a rebuild.
    pub has_hidden: bool,
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

    pub fn kind(self, format: Format) -> PageKind {
        PageKind::of(self.kind_number(), format.has_sdi)
    }

    /// Whether nothing was ever written to it.
    pub fn is_empty(self) -> bool {
        static NOTHING: [u8; super::format::PAGE_BYTES_MAX] = [0; super::format::PAGE_BYTES_MAX];
        u64_at(self.bytes, 16) == 0 && NOTHING.get(..self.bytes.len()) == Some(self.bytes)
    }

    /// The rows of an index's page in the order of their keys: where each begins, and whether it was deleted.
    pub fn rows(self) -> impl Iterator<Item = (usize, bool)> {
        const DELETED: u8 = 0x20;
        /// The least of all keys: no row of a leaf, but a description of columns.
        const LEAST: u8 = 0x10;
        let is_compact = u16_at(self.bytes, INDEX_HEADER + 4) >> 15 == 1;
        let (mut at, last, info) = if is_compact { (99, 112, 5) } else { (101, 116, 6) };
        // A damaged page may have a circle: it ends after as many rows as could be there.
        (0..self.bytes.len() / info).map_while(move |_| {
            let next = u16_at(self.bytes, at - 2);
            at = usize::from(if is_compact { next.wrapping_add(at as u16) } else { next });
            let is_row = at > last && at < self.bytes.len();
            is_row.then(|| (at, u8_at(self.bytes, at - info) & (DELETED | LEAST) == DELETED))
        })
    }

    /// The header of an index's page; `None` where it makes no sense.
    pub fn index(self) -> Option<IndexPage> {
        let field = |at| u16_at(self.bytes, INDEX_HEADER + at);
        let (top, heap, garbage, level) = (field(2) as usize, field(4), field(8) as usize, field(26));
        let rows = ROWS[usize::from(heap >> 15)];
        let used = top.checked_sub(rows)?.checked_sub(garbage)?;
        let room = self.bytes.len().checked_sub(rows + END)?;
        if used > room || level >= LEVELS_MAX {
            return None;
        }
        let records = field(16);
        let deleted =
            if level == 0 { self.rows().filter(|row| row.1).count() as u16 } else { 0 }.min(records);
        let live = f64::from(records - deleted) / f64::from(records.max(1));
        Some(IndexPage {
            index: u64_at(self.bytes, INDEX_HEADER + 28),
            level,
            records,
            deleted,
            has_hidden: self.kind_number() == INSTANT,
            used: if deleted > 0 { (used as f64 * live) as u32 } else { used as u32 },
            room: room as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 4 << 10;

    fn page() -> Vec<u8> {
        let mut page: Vec<u8> = (0..SIZE).map(|byte| (byte % 251) as u8).collect();
        page.copy_within(20..24, SIZE - 4);
        page
    }

    fn format(full_crc32: bool) -> Format {
        Format { page_bytes: SIZE, full_crc32, space: 1, pages: 1, has_sdi: false }
    }

    #[test]
    fn any_of_the_original_checksums_is_right_and_a_flipped_byte_is_not() {
        let sums = |page: &[u8]| {
            let (head, body) = (&page[4..26], &page[38..SIZE - 8]);
            let crc = crc32c::crc32c(head) ^ crc32c::crc32c(body);
            [crc, fold(head).wrapping_add(fold(body)), 0xDEAD_BEEF]
        };
        for (way, stored) in sums(&page()).into_iter().enumerate() {
            let mut page = page();
            page[..4].copy_from_slice(&stored.to_be_bytes());
            assert_eq!(fault(&page, format(false)), None, "{way}");
            page[100] ^= 1;
            assert_eq!(fault(&page, format(false)).is_some(), way < 2, "{way}");
        }
    }

    #[test]
    fn a_page_of_which_half_is_of_another_change_is_torn() {
        let mut page = page();
        page.copy_within(20..24, SIZE - 8);
        let sum = crc32c::crc32c(&page[..SIZE - 4]);
        page[SIZE - 4..].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(fault(&page, format(true)), None);
        page[21] ^= 1;
        assert_eq!(fault(&page, format(true)), Some("its header and trailer are of different changes"));
    }
}
