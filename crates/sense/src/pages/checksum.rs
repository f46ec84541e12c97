//! Whether a page is whole: its checksum, and the number of its last change at both ends.

use super::bytes::u32_at;
use super::format::Format;

/// What is wrong with a page.
pub(super) fn fault(page: &[u8], format: Format) -> Option<&'static str> {
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
        Format { page_bytes: SIZE, full_crc32, space: 1, pages: 1 }
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
