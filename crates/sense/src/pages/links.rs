//! The table of pages: who comes before and after each, and of which level it is. Ten bytes and a bit for a page, which is what
//! bounds the memory of the whole reading: 690 MB for a file of 1 TB with pages of 16 KiB.

use super::page::NOBODY;

/// The number of the level of pages that belong to none.
pub(super) const NO_LEVEL: u16 = u16::MAX;

/// The table of all pages of a file.
#[derive(Debug, Default)]
pub(super) struct Links {
    previous: Vec<u32>,
    next: Vec<u32>,
    level: Vec<u16>,
    /// Pages that a walk has come by.
    seen: Vec<u64>,
}

impl Links {
    /// A table with room for so many pages; `None` where there is no memory for it.
    pub fn with_room(pages: usize) -> Option<Self> {
        let mut links = Self::default();
        links.previous.try_reserve_exact(pages).ok()?;
        links.next.try_reserve_exact(pages).ok()?;
        links.level.try_reserve_exact(pages).ok()?;
        links.seen.try_reserve_exact(pages.div_ceil(64)).ok()?;
        links.seen.resize(pages.div_ceil(64), 0);
        Some(links)
    }

    /// The next page of the file.
    pub fn push(&mut self, level: u16, (previous, next): (u32, u32)) {
        self.previous.push(previous);
        self.next.push(next);
        self.level.push(level);
    }

    /// The level of a page; `None` beyond the file.
    pub fn level(&self, page: u32) -> Option<u16> {
        self.level.get(page as usize).copied()
    }

    /// The page that this one names as its successor.
    pub fn next(&self, page: u32) -> u32 {
        self.next.get(page as usize).copied().unwrap_or(NOBODY)
    }

    /// The page that this one names as the one before it.
    pub fn previous(&self, page: u32) -> u32 {
        self.previous.get(page as usize).copied().unwrap_or(NOBODY)
    }

    /// Has a page name these instead, as a damaged one does.
    #[cfg(test)]
    pub fn rename(&mut self, page: usize, (previous, next): (Option<u32>, Option<u32>)) {
        self.previous[page] = previous.unwrap_or(self.previous[page]);
        self.next[page] = next.unwrap_or(self.next[page]);
    }

    /// Notes that a walk came by this page; false if one had before.
    pub fn see(&mut self, page: u32) -> bool {
        let (word, bit) = (page as usize / 64, 1 << (page % 64));
        let Some(word) = self.seen.get_mut(word) else { return false };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Pages of this level that no walk came by: the first one.
    pub fn unseen(&self, level: u16) -> Option<u32> {
        let is_unseen =
            |page: &usize| self.level[*page] == level && self.seen[page / 64] & (1 << (page % 64)) == 0;
        (0..self.level.len()).find(is_unseen).map(|page| page as u32)
    }
}
