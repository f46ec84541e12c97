//! Entries on disk, sorted by their keys.

use super::{ENTRY, Entry};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Entries that are read together.
const PAGE: u64 = 128;
/// Fences at most, an even number: 8 MB.
const FENCES: usize = if cfg!(test) { 16 } else { 1 << 20 };

/// A sorted run in a file.
pub(super) struct Run {
    file: File,
    count: u64,
    fences: Fences,
}

/// First keys of pages, which say where a key would be.
struct Fences {
    keys: Vec<u64>,
    /// Pages from one to the next: the more there are of them, the fewer have one, so that memory is bounded.
    pages: u64,
}

impl Run {
    /// Writes entries, sorted as they come, to a file without a name in a folder: a kill leaves nothing behind.
    pub fn write(home: &Path, entries: impl Iterator<Item = io::Result<Entry>>) -> io::Result<Self> {
        let file = tempfile::tempfile_in(home)?;
        let (mut count, mut fences) = (0, Fences::new());
        let mut out = BufWriter::with_capacity(1 << 18, &file);
        for entry in entries {
            let entry = entry?;
            fences.see(count, entry.high);
            count += 1;
            out.write_all(&entry.to_bytes())?;
        }
        out.flush()?;
        drop(out);
        Ok(Self { file, count, fences })
    }

    /// The entry with a key.
    pub fn find(&self, key: (u64, u32)) -> io::Result<Option<Entry>> {
        let mut page = self.page(key.0)?;
        let mut bytes = [0; ENTRY * PAGE as usize];
        while page * PAGE < self.count {
            let there = (self.count - page * PAGE).min(PAGE) as usize;
            let bytes = &mut bytes[..ENTRY * there];
            self.file.read_exact_at(bytes, page * PAGE * ENTRY as u64)?;
            for entry in bytes.as_chunks().0.iter().map(Entry::from_bytes) {
                match entry.key().cmp(&key) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => return Ok(Some(entry)),
                    std::cmp::Ordering::Greater => return Ok(None),
                }
            }
            page += 1;
        }
        Ok(None)
    }

    /// The last page that begins before a key, or the first one of all.
    fn page(&self, high: u64) -> io::Result<u64> {
        let fence = self.fences.keys.partition_point(|fence| *fence < high).saturating_sub(1) as u64;
        let mut page = fence * self.fences.pages;
        let mut behind = (page + self.fences.pages).min(self.count.div_ceil(PAGE));
        while behind > page + 1 {
            let middle = page.midpoint(behind);
            let mut first = [0; 8];
            self.file.read_exact_at(&mut first, middle * PAGE * ENTRY as u64)?;
            match u64::from_be_bytes(first) < high {
                true => page = middle,
                false => behind = middle,
            }
        }
        Ok(page)
    }

    /// All entries in their order.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<Entry>> + use<>> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let (mut stream, mut left) = (BufReader::with_capacity(1 << 18, file), self.count);
        Ok(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let mut bytes = [0; ENTRY];
            Some(stream.read_exact(&mut bytes).map(|()| Entry::from_bytes(&bytes)))
        }))
    }
}

impl Fences {
    fn new() -> Self {
        Self { keys: Vec::new(), pages: 1 }
    }

    /// Takes the key of the entry with a number, counted from zero without a gap.
    fn see(&mut self, number: u64, high: u64) {
        if !number.is_multiple_of(PAGE * self.pages) {
            return;
        }
        if self.keys.len() == FENCES {
            let mut keeps = false;
            self.keys.retain(|_| {
                keeps = !keeps;
                keeps
            });
            self.pages *= 2;
        }
        self.keys.push(high);
    }
}

/// Entries of several sorted streams as one.
pub(super) fn merged<'a>(
    streams: Vec<Box<dyn Iterator<Item = io::Result<Entry>> + 'a>>,
) -> impl Iterator<Item = io::Result<Entry>> + 'a {
    let mut streams: Vec<_> = streams.into_iter().map(Iterator::peekable).collect();
    std::iter::from_fn(move || {
        let first = |(_, head): &(usize, Option<(u64, u32)>)| head.unwrap_or_default();
        // Few streams: the smallest is found by a look at each. One that cannot be read comes first, and says so.
        let heads = streams.iter_mut().enumerate().filter_map(|(number, stream)| {
            let head = stream.peek()?.as_ref().ok().map(Entry::key);
            Some((number, head))
        });
        let (number, _) = heads.min_by_key(first)?;
        streams.get_mut(number)?.next()
    })
}
