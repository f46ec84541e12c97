//! A tablespace from its beginning to its end.

use super::error::PagesError;
use super::extents::Extents;
use super::format::Format;
use super::gather::{Gathered, Odd};
use super::layout::Tablespace;
use super::page::Page;
use super::source::Source;
use super::tally::LEVELS_MAX;
use evenkeel_os::stop::Stop;
use std::path::Path;

/// Bytes of one read: they fit the cache of a CPU, so that the checksum finds them there, and hold four of the largest pages.
const CHUNK: usize = 256 << 10;

/// Reads a tablespace. Nobody may write to it: a server that was stopped, or a table held by FLUSH TABLES ... FOR EXPORT.
/// `range` is the share of an index that a range of keys reads; 0.05 is 5 %.
///
/// # Errors
/// It is not one that can be understood as a whole, or somebody writes to it. There are no figures then.
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
    let mut reading = Reading { source: &source, format, extents: Extents::default(), stop, path };
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
        gathered.add(number, Page { bytes }, free).map_err(|odd| match odd {
            Odd::Header => self.source.senseless(number),
            Odd::TooManyLevels => PagesError::TooManyLevels { path: self.path.into(), most: LEVELS_MAX },
        })
    }
}
