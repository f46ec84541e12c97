//! A tablespace from its beginning to its end.

use super::dictionary::CHANGE_BUFFER;
use super::format::{Format, u8_at, u32_at};
use super::source::{PagesError, Source};
use super::tally::{Broken, IndexLayout, LEVELS_MAX, Level, Levels, RangeCost, Tablespace};
use super::walk::{Links, NO_LEVEL};
use super::whole::{NOBODY, Page, is_copy};
use super::{PageKind, walk};
use evenkeel_os::Stop;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of one read: they fit the cache of a CPU, so that the checksum finds them there, and hold four of the largest pages.
const CHUNK: usize = 256 << 10;

/// Reads a tablespace. Nobody may write to it: a server that was stopped, or a table held by FLUSH TABLES ... FOR EXPORT.
/// `range` is the share of an index that a range of keys reads; 0.05 is 5 %.
/// Errors: it is not one that can be understood as a whole, or somebody writes to it. There are no figures then.
pub fn read(path: &Path, range: f64, stop: &Stop) -> Result<Tablespace, PagesError> {
    let source = Source::open(path)?;
    let before = source.state()?;
    let format = source.format()?;
    let pages = before.0 / format.page_bytes as u64;
    if pages < format.pages {
        return Err(PagesError::Truncated { path: path.into(), pages, expected: format.pages });
    }
    let no_room = || PagesError::Memory { path: path.into(), pages };
    let mut gathered = Gathered::new(format, pages).ok_or_else(no_room)?;
    let mut reading =
        Reading { source: &source, format, extents: Extents::default(), used_until: 0, stop, path };
    reading.all(pages, &mut gathered)?;
    if source.state()? != before {
        return Err(PagesError::Changed { path: path.into() });
    }
    Ok(gathered.finish(range))
}

struct Reading<'a> {
    source: &'a Source<'a>,
    format: Format,
    extents: Extents,
    /// The first page that was never used, like all after it.
    used_until: u64,
    stop: &'a Stop,
    path: &'a Path,
}

impl Reading<'_> {
    fn all(&mut self, pages: u64, gathered: &mut Gathered) -> Result<(), PagesError> {
        let size = self.format.page_bytes;
        let step = CHUNK / size;
        let mut chunk = vec![0; CHUNK];
        for start in (0..pages).step_by(step) {
            if self.stop.is_set() {
                return Err(PagesError::Stopped { path: self.path.into() });
            }
            let count = (pages - start).min(step as u64) as usize;
            let chunk = &mut chunk[..count * size];
            self.source.read_at(chunk, start * size as u64)?;
            for (number, bytes) in (start..).zip(chunk.chunks_exact_mut(size)) {
                self.page(number, bytes, gathered)?;
            }
        }
        Ok(())
    }

    fn page(&mut self, number: u64, bytes: &mut [u8], gathered: &mut Gathered) -> Result<(), PagesError> {
        let describes = Extents::is_here(number, self.format);
        // What stands on a free page does not matter, and nobody keeps it whole.
        let free = !describes && self.extents.is_free(number, self.format);
        if !free {
            self.source.settle(number, bytes, self.format)?;
        }
        if describes {
            self.extents.take(bytes);
        }
        if number == 0 {
            self.used_until = u32_at(bytes, USED_UNTIL).into();
        }
        gathered.free += u64::from(free || number >= self.used_until);
        gathered.add(number, Page { bytes }, free).map_err(|odd| match odd {
            Odd::Header => self.source.senseless(number),
            Odd::TooManyLevels => PagesError::TooManyLevels { path: self.path.into(), most: LEVELS_MAX },
        })
    }
}

/// On the first page: the page up to which pages were ever used.
const USED_UNTIL: usize = 38 + 12;
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

/// Why a page ends the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// The header of an index's page makes no sense.
    Header,
    /// More levels of indexes than are told apart.
    TooManyLevels,
}

pub(super) struct Gathered {
    format: Format,
    pages: u64,
    kinds: BTreeMap<PageKind, u64>,
    copies: u64,
    free: u64,
    outside: u64,
    levels: Levels,
    links: Links,
}

impl Gathered {
    /// For a file of so many pages; `None` where there is no memory for its table.
    pub fn new(format: Format, pages: u64) -> Option<Self> {
        // A page has four bytes for the number of another one.
        let room = u32::try_from(pages).ok()? as usize;
        Some(Self {
            format,
            pages,
            kinds: BTreeMap::new(),
            copies: 0,
            free: 0,
            outside: 0,
            levels: Levels::default(),
            links: Links::with_room(room)?,
        })
    }

    /// Takes the next page of the file.
    pub fn add(&mut self, number: u64, page: Page<'_>, free: bool) -> Result<(), Odd> {
        let kind = page.kind(self.format);
        *self.kinds.entry(kind).or_default() += 1;
        self.outside += u64::from(!free && kind.is_outside());
        match self.level(number, page, free)? {
            NO_LEVEL => self.links.push(NO_LEVEL, (NOBODY, NOBODY)),
            level => self.links.push(level, (page.previous(), page.next())),
        }
        Ok(())
    }

    fn level(&mut self, number: u64, page: Page<'_>, free: bool) -> Result<u16, Odd> {
        if page.kind(self.format) != PageKind::Index {
            return Ok(NO_LEVEL);
        }
        if is_copy(number, page, self.format) {
            self.copies += 1;
            return Ok(NO_LEVEL);
        }
        match page.index() {
            Some(header) if free => {
                self.levels.add_freed(header).ok_or(Odd::TooManyLevels)?;
                Ok(NO_LEVEL)
            }
            Some(header) => {
                let neighbours = (page.previous(), page.next());
                self.levels.add(number as u32, neighbours, header).ok_or(Odd::TooManyLevels)
            }
            None if free => Ok(NO_LEVEL),
            None => Err(Odd::Header),
        }
    }

    /// Goes through all chains, and says what was found. A range of keys reads `range` of an index.
    pub fn finish(mut self, range: f64) -> Tablespace {
        let mut broken = Vec::new();
        let mut ranges = BTreeMap::new();
        let mut counts = vec![0; self.pages.div_ceil(self.format.extent_pages()) as usize];
        for (number, level) in (0..).zip(self.levels.all()) {
            // Free pages of the change buffer keep what stood on them: its chains tell nothing.
            if level.index >= CHANGE_BUFFER {
                continue;
            }
            match walk::walk(&mut self.links, number, level) {
                Err(fault) => broken.push(Broken { index: level.index, level: level.level, fault }),
                Ok(()) if level.level == 0 => {
                    let cost =
                        walk::range(&self.links, level, range, self.format.extent_pages(), &mut counts);
                    ranges.extend(cost.map(|cost| (level.index, cost)));
                }
                Ok(()) => {}
            }
        }
        let indexes = indexes(self.levels.all(), &ranges);
        let Self { format, pages, kinds, copies, free, outside, .. } = self;
        Tablespace { format, pages, kinds, copies, free, outside, indexes, broken }
    }
}

/// The indexes of these levels, by their numbers.
fn indexes(levels: &[Level], ranges: &BTreeMap<u64, RangeCost>) -> Vec<IndexLayout> {
    let mut found: BTreeMap<u64, IndexLayout> = BTreeMap::new();
    for level in levels {
        let index = found
            .entry(level.index)
            .or_insert_with(|| IndexLayout { id: level.index, ..IndexLayout::default() });
        index.pages += level.pages;
        index.freed += level.freed;
        if level.pages > 0 {
            index.levels = index.levels.max(level.level + 1);
        }
        if level.level == 0 {
            add_leaves(index, level);
            index.range = ranges.get(&level.index).copied();
        }
    }
    for level in levels {
        if let Some(index) = found.get_mut(&level.index) {
            index.records = index.records.saturating_sub(level.hidden);
        }
    }
    found.into_values().filter(|index| index.pages > 0).collect()
}

fn add_leaves(index: &mut IndexLayout, leaves: &Level) {
    let of = |number: f64, all: u64| (all > 0).then(|| number / all as f64);
    index.leaves = leaves.pages;
    index.records = leaves.records;
    index.deleted = leaves.deleted;
    index.used_bytes = leaves.used;
    index.fill = of(leaves.fill, leaves.pages).unwrap_or(0.0);
    index.fills = leaves.fills;
    index.in_order = of(leaves.adjacent as f64, leaves.followed);
    index.mean_jump = of(leaves.jumps as f64, leaves.followed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_free_by_its_bit_or_with_its_whole_extent() {
        let format = Format { page_bytes: 16 << 10, ..Format::default() };
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
