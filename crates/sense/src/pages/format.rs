//! How the pages of a tablespace are written: their size and checksum, by the flags on its first page.

/// Where the header of the tablespace begins on its first page, behind the header of every page.
const SPACE_HEADER: usize = 38;
/// Pages of the tablespace, by its header.
const PAGES: usize = SPACE_HEADER + 8;
const FLAGS: usize = SPACE_HEADER + 16;
/// In flags: MariaDB's format of 10.5 and later, whose checksum covers the whole page.
const FULL_CRC32: u32 = 1 << 4;
/// In flags: MySQL 8 and later.
const SDI: u32 = 1 << 14;
/// The kind of page that every tablespace begins with.
const FIRST_KIND: u16 = 8;
/// Smallest size of a page, which the first page is looked at by before its size is known.
pub(super) const PAGE_BYTES_MIN: usize = 4 << 10;
/// The largest size, of which a reading holds several.
pub(super) const PAGE_BYTES_MAX: usize = 64 << 10;

/// How pages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    pub page_bytes: usize,
    /// Whether the checksum covers the whole page and stands at its end (MariaDB since 10.5).
    pub full_crc32: bool,
    /// Whether it is of MySQL 8 or later, which keeps the names of its tables in it (SDI).
    pub has_sdi: bool,
    pub space: u32,
    /// Pages that the tablespace has by its header; its file may have more, which were never used.
    pub pages: u64,
}

/// Why the flags are not those of a tablespace that can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    NotATablespace(String),
    Compressed(&'static str),
    Encrypted,
    PageSize(u32),
}

impl Format {
    /// What the first page says.
    pub(super) fn of_first_page(page: &[u8]) -> Result<Self, Unreadable> {
        is_first(page)?;
        let flags = u32_at(page, FLAGS);
        let full_crc32 = flags & FULL_CRC32 != 0;
        let code = if full_crc32 { full(flags)? } else { original(flags)? };
        let page_bytes = match code {
            3..=7 => 512 << code,
            _ => return Err(Unreadable::PageSize(flags)),
        };
        let has_sdi = !full_crc32 && flags & SDI != 0;
        let (space, pages) = (u32_at(page, 34), u32_at(page, PAGES).into());
        Ok(Self { page_bytes, full_crc32, has_sdi, space, pages })
    }

    /// Pages of an extent, the stretch in which a tablespace grows: 1 MiB, and of large pages at least 64 pages.
    pub fn extent_pages(self) -> u64 {
        ((1 << 20) / self.page_bytes as u64).max(64)
    }
}

fn is_first(page: &[u8]) -> Result<(), Unreadable> {
    let not = |why: String| Err(Unreadable::NotATablespace(why));
    if page.len() < PAGE_BYTES_MIN {
        return not(format!("it has {} bytes, less than a page", page.len()));
    }
    let (number, kind) = (u32_at(page, 4), u16_at(page, 24));
    if number != 0 || kind != FIRST_KIND {
        return not(format!(
            "its first page is of kind {kind} and number {number}, not of kind 8 and number 0"
        ));
    }
    if u32_at(page, 34) != u32_at(page, SPACE_HEADER) {
        return not("its first page names two tablespaces".to_owned());
    }
    if u64_at(page, 16) == 0 && u32_at(page, PAGES) == 0 {
        return not("its first page is empty".to_owned());
    }
    Ok(())
}

/// The code of the page size in the flags of MariaDB 10.5 and later.
fn full(flags: u32) -> Result<u32, Unreadable> {
    match flags >> 5 & 7 {
        0 => Ok(flags & 15),
        _ => Err(Unreadable::Compressed("page compression")),
    }
}

/// The code of the page size in the flags of MySQL and of MariaDB before.
fn original(flags: u32) -> Result<u32, Unreadable> {
    /// In flags of MySQL 5.7 and later; MariaDB leaves it zero.
    const ENCRYPTION: u32 = 1 << 13;
    const PAGE_COMPRESSION: u32 = 1 << 16;
    /// What no version says by 0 in the flags: pages of 16 KiB.
    const DEFAULT: u32 = 5;
    if flags >> 1 & 15 != 0 {
        return Err(Unreadable::Compressed("ROW_FORMAT=COMPRESSED"));
    }
    if flags & PAGE_COMPRESSION != 0 {
        return Err(Unreadable::Compressed("page compression"));
    }
    if flags & ENCRYPTION != 0 {
        return Err(Unreadable::Encrypted);
    }
    Ok(match flags >> 6 & 15 {
        0 => DEFAULT,
        code => code,
    })
}

// Numbers in the bytes of a page, which are big-endian. What lies beyond the page is zero: a damaged page may point anywhere, and
// whoever reads one checks what it says.

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let end = at.saturating_add(N);
    bytes.get(at..end).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

pub(super) fn u8_at(bytes: &[u8], at: usize) -> u8 {
    array::<1>(bytes, at)[0]
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_page(flags: u32) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES_MIN];
        page[25] = 8;
        page[PAGES + 3] = 7;
        page[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
        page
    }

    #[test]
    fn both_formats_say_the_page_size_and_what_is_not_read() {
        let size = |flags| Format::of_first_page(&first_page(flags)).map(|format| format.page_bytes);
        for (flags, expected) in [(0x15, 16 << 10), (0x13, 4 << 10), (0x17, 64 << 10)] {
            assert_eq!(size(flags), Ok(expected), "{flags:#x}");
        }
        for (flags, expected) in
            [(0, 16 << 10), (0x21 | 3 << 6, 4 << 10), (0x21, 16 << 10), (7 << 6, 64 << 10)]
        {
            assert_eq!(size(flags), Ok(expected), "{flags:#x}");
        }
        assert_eq!(size(0x15 | 2 << 5), Err(Unreadable::Compressed("page compression")));
        assert_eq!(size(0x21 | 4 << 1), Err(Unreadable::Compressed("ROW_FORMAT=COMPRESSED")));
        assert_eq!(size(0x21 | 1 << 13), Err(Unreadable::Encrypted));
        for flags in [0x1f, 0x10, 0x18, 1 << 6, 9 << 6] {
            assert_eq!(size(flags), Err(Unreadable::PageSize(flags)), "{flags:#x}");
        }
    }

    #[test]
    fn what_is_no_first_page_is_refused_by_what_it_is() {
        let mut other = first_page(0x15);
        other[7] = 3;
        for page in [vec![], vec![0; 100], vec![0; PAGE_BYTES_MIN], vec![255; PAGE_BYTES_MIN], other] {
            assert!(matches!(Format::of_first_page(&page), Err(Unreadable::NotATablespace(_))));
        }
    }

    #[test]
    fn an_extent_is_a_mebibyte_and_at_least_64_pages() {
        for (bytes, pages) in [(4, 256), (8, 128), (16, 64), (32, 64), (64, 64)] {
            let format = Format { page_bytes: bytes << 10, ..Format::default() };
            assert_eq!(format.extent_pages(), pages);
        }
    }
}
