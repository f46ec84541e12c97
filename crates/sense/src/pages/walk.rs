//! The chain of a level, gone through in the order of keys.

use super::tally::{Fault, Level, RangeCost};
use super::whole::NOBODY;

/// Goes through a level from its first page until the end or a fault.
pub(super) fn walk(links: &mut Links, number: u16, level: &Level) -> Result<(), Fault> {
    let Some(mut page) = level.first else {
        return level.seen.map_or(Ok(()), |page| Err(Fault::NoFirst { page }));
    };
    let mut walked = 0;
    links.see(page);
    loop {
        walked += 1;
        let next = links.next(page);
        if next == NOBODY {
            break;
        }
        step(links, number, page, next)?;
        page = next;
    }
    let pages = level.pages.saturating_sub(walked);
    match links.unseen(number).filter(|_| pages > 0) {
        Some(page) => Err(Fault::Apart { pages, page }),
        None => Ok(()),
    }
}

/// Whether a chain may go from a page to this next one.
fn step(links: &mut Links, number: u16, page: u32, next: u32) -> Result<(), Fault> {
    match links.level(next) {
        None => return Err(Fault::OutOfFile { page, next }),
        Some(level) if level != number => return Err(Fault::Elsewhere { page, next }),
        Some(_) => {}
    }
    let back = links.previous(next);
    if back != page {
        return Err(Fault::NotBack { page, next, back });
    }
    if links.see(next) { Ok(()) } else { Err(Fault::Circle { page, next }) }
}

/// What a range of `share` of a chain touches, in the mean over all places where it may begin. The chain must be whole.
pub(super) fn range(
    links: &Links,
    level: &Level,
    share: f64,
    extent_pages: u64,
    counts: &mut [u32],
) -> Option<RangeCost> {
    let (first, pages) = (level.first?, level.pages);
    let leaves = ((pages as f64 * share).ceil() as u64).clamp(1, pages);
    let extent = |page: u32| (u64::from(page) / extent_pages) as usize;
    let (mut head, mut tail, mut touched, mut sum) = (first, first, 0, 0);
    for place in 1..=pages {
        touched += u64::from(raise(counts, extent(head)));
        head = links.next(head);
        if place >= leaves {
            sum += touched;
            touched -= u64::from(lower(counts, extent(tail)));
            tail = links.next(tail);
        }
    }
    // What the last range holds is let go of, so that the next index finds nothing counted.
    while tail != NOBODY {
        lower(counts, extent(tail));
        tail = links.next(tail);
    }
    let extents = sum as f64 / (pages - leaves + 1) as f64;
    Some(RangeCost { leaves, extents, extents_least: leaves.div_ceil(extent_pages) })
}

/// Counts a page of an extent; true for the first one.
fn raise(counts: &mut [u32], extent: usize) -> bool {
    let Some(count) = counts.get_mut(extent) else { return false };
    *count += 1;
    *count == 1
}

/// Takes a page of an extent off; true for the last one.
fn lower(counts: &mut [u32], extent: usize) -> bool {
    let Some(count) = counts.get_mut(extent).filter(|count| **count > 0) else { return false };
    *count -= 1;
    *count == 0
}

// The table of pages: who comes before and after each, and of which level it is. Ten bytes and a bit for a page, which is what
// bounds the memory of the whole reading: 690 MB for a file of 1 TB with pages of 16 KiB.

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A level whose chain is `chain`, in a file of so many pages.
    fn chain(pages: u32, chain: &[u32]) -> (Links, Level) {
        let mut links = Links::with_room(pages as usize).unwrap();
        for page in 0..pages {
            let place = chain.iter().position(|other| *other == page);
            let at = |place: Option<usize>| place.and_then(|at| chain.get(at)).copied().unwrap_or(NOBODY);
            match place {
                Some(place) => links.push(0, (at(place.checked_sub(1)), at(Some(place + 1)))),
                None => links.push(NO_LEVEL, (NOBODY, NOBODY)),
            }
        }
        let first = chain.first().copied();
        (links, Level { first, seen: first, pages: chain.len() as u64, ..Level::default() })
    }

    #[test]
    fn a_whole_chain_is_gone_through_to_its_end() {
        let (mut links, level) = chain(10, &[3, 9, 4, 5]);
        assert_eq!((walk(&mut links, 0, &level), links.unseen(0)), (Ok(()), None));
    }

    #[test]
    fn each_way_to_break_a_chain_is_told_with_its_pages() {
        let broken = |change: fn(&mut Links)| {
            let (mut links, level) = chain(10, &[3, 9, 4, 5]);
            change(&mut links);
            walk(&mut links, 0, &level).unwrap_err()
        };
        assert_eq!(broken(|links| links.rename(4, (None, Some(10)))), Fault::OutOfFile { page: 4, next: 10 });
        assert_eq!(broken(|links| links.rename(4, (None, Some(7)))), Fault::Elsewhere { page: 4, next: 7 });
        let back = Fault::NotBack { page: 9, next: 4, back: 3 };
        assert_eq!(broken(|links| links.rename(4, (Some(3), None))), back);
        let apart = Fault::Apart { pages: 2, page: 4 };
        assert_eq!(broken(|links| links.rename(9, (None, Some(NOBODY)))), apart);
        let circle = |links: &mut Links| {
            links.rename(5, (None, Some(9)));
            links.rename(9, (Some(5), None));
        };
        assert_eq!(broken(circle), Fault::NotBack { page: 3, next: 9, back: 5 });
        let own = |links: &mut Links| links.rename(3, (Some(3), Some(3)));
        assert_eq!(broken(own), Fault::Circle { page: 3, next: 3 });
        let (mut links, level) = chain(10, &[3, 9]);
        let level = Level { first: None, ..level };
        assert_eq!(walk(&mut links, 0, &level), Err(Fault::NoFirst { page: 3 }));
    }

    #[test]
    fn a_range_touches_one_extent_in_order_and_one_for_each_page_where_pages_are_scattered() {
        let cost = |order: &[u32]| {
            let (links, level) = chain(1_000, order);
            let mut counts = vec![0; 100];
            let cost = range(&links, &level, 0.1, 10, &mut counts).unwrap();
            assert!(counts.iter().all(|count| *count == 0));
            cost
        };
        let sorted: Vec<u32> = (0..100).collect();
        let scattered: Vec<u32> = (0..100).map(|page| page * 10).collect();
        let RangeCost { leaves, extents, extents_least } = cost(&sorted);
        assert_eq!((leaves, extents_least), (10, 1));
        assert!((1.8..2.0).contains(&extents), "{extents}");
        assert_eq!(cost(&scattered).extents, 10.0);
    }
}
