//! Which pages are free, by the descriptors that stand before each stretch of a tablespace.

use super::bytes::{u8_at, u32_at};
use super::format::Format;

/// Where descriptors begin on their page.
const DESCRIPTORS: usize = 150;
const BITS: usize = 24;
/// The state of an extent that belongs to nobody.
const FREE: u32 = 1;

/// The descriptors of the stretch that is being read: as many pages as a page has bytes.
#[derive(Debug, Default)]
pub(super) struct Extents {
    page: Vec<u8>,
}

impl Extents {
    /// Whether this page has descriptors.
    pub fn is_here(page: u64, format: Format) -> bool {
        page.is_multiple_of(format.page_bytes as u64)
    }

    /// Takes the descriptors of a page, until the next one.
    pub fn take(&mut self, bytes: &[u8]) {
        self.page.clear();
        self.page.extend_from_slice(bytes);
    }

    /// Whether a page of this stretch is free, so that what stands on it is of the past.
    pub fn is_free(&self, page: u64, format: Format) -> bool {
        let within = (page % format.page_bytes as u64) as usize;
        let pages = format.extent_pages() as usize;
        let descriptor = DESCRIPTORS + within / pages * (BITS + pages / 4);
        let bit = within % pages * 2;
        let free = u8_at(&self.page, descriptor + BITS + bit / 8) >> (bit % 8) & 1 == 1;
        u32_at(&self.page, descriptor + 20) == FREE || free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_free_by_its_bit_or_with_its_whole_extent() {
        let format = Format { page_bytes: 16 << 10, full_crc32: true, space: 1, pages: 1 };
        let mut page = vec![0; 16 << 10];
        page[DESCRIPTORS + BITS] = 0b0100;
        page[DESCRIPTORS + 40 + 23] = 1;
        let mut extents = Extents::default();
        assert!(!extents.is_free(1, format));
        extents.take(&page);
        let free: Vec<u64> = (0..192).filter(|page| extents.is_free(*page, format)).collect();
        assert_eq!(free, [1].into_iter().chain(64..128).collect::<Vec<_>>());
        assert!(extents.is_free((16 << 10) + 1, format) && Extents::is_here(32 << 10, format));
    }
}
