//! Whether a page can be believed, and why not.

use super::bytes::u32_at;
use super::checksum;
use super::format::Format;
use super::kind::PageKind;
use super::page::Page;

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
    if let Some(what) = checksum::fault(page.bytes, format) {
        // Only encrypted pages have this field, and their checksum is another one.
        let has_key = !format.full_crc32 && number > 0 && u32_at(page.bytes, 26) != 0;
        return if has_key { Sight::Encrypted } else { Sight::Wrong(what) };
    }
    if format.full_crc32 && number > 0 && u32_at(page.bytes, 0) != 0 {
        return Sight::Encrypted;
    }
    match page.kind_number() {
        // MySQL's own: compressed, encrypted, both, and an encrypted spatial index.
        14 => Sight::Compressed,
        15..=17 => Sight::Encrypted,
        _ if page.kind() == PageKind::PageCompressed => Sight::Compressed,
        _ if page.kind() == PageKind::PageCompressedEncrypted => Sight::Encrypted,
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
