//! Works done by calls that wait: of the pool, and what the ring has no entry for.

use super::open::Opened;
use crate::backing::pool::Perform;
use crate::{Answer, Buffer, Errno, Work};
use evenkeel_os::file::{self, Space};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::unix::fs::FileExt;

/// Zeroes that are written at once where the file knows no other way.
const ZEROES: usize = 1 << 20;

impl Perform for Opened {
    fn perform(&self, work: Work) -> Answer {
        let is_read = matches!(work, Work::Read { .. });
        if !is_read {
            self.look();
        }
        self.has(&work)?;
        let answer = self.act(work);
        // A read that found the end, or a change while somebody cut the file.
        if is_read && answer.is_err() {
            self.look();
        } else if !is_read {
            self.look_after();
        }
        answer
    }
}

impl Opened {
    /// Does it, with no look at the file.
    pub fn act(&self, work: Work) -> Answer {
        match work {
            Work::Read { offset, mut buffer } => {
                self.read(&mut buffer, offset)?;
                Ok(buffer)
            }
            Work::Write { offset, buffer, durable } => {
                self.write(&buffer, offset, durable)?;
                Ok(buffer)
            }
            Work::Flush => self.flush(),
            Work::Trim { offset, bytes } => self.trim(offset, bytes),
            Work::Zero { offset, bytes, allocate, durable } => {
                self.zero(offset, bytes, allocate)?;
                if durable { self.flush() } else { Ok(Buffer::default()) }
            }
        }
    }

    /// Whether all of a range is in whole blocks.
    pub fn is_whole(&self, offset: u64, bytes: u64) -> bool {
        offset.is_multiple_of(self.block) && bytes.is_multiple_of(self.block)
    }

    fn flush(&self) -> Answer {
        match self.file.sync_data() {
            Ok(()) => Ok(Buffer::default()),
            Err(error) => {
                let errno = error.into();
                self.lose(errno);
                Err(errno)
            }
        }
    }

    fn read(&self, buffer: &mut Buffer, offset: u64) -> Result<(), Errno> {
        if self.is_whole(offset, buffer.len() as u64) {
            return self.read_all(buffer.as_mut_slice(), offset);
        }
        let (start, blocks) = self.blocks_around(offset, buffer.len())?;
        let begin = (offset - start) as usize;
        let bytes = buffer.as_mut_slice();
        bytes.copy_from_slice(&blocks.as_slice()[begin..][..bytes.len()]);
        Ok(())
    }

    /// The whole blocks that a range touches, and where they begin. The size is whole blocks too: they are all there.
    fn blocks_around(&self, offset: u64, bytes: usize) -> Result<(u64, Buffer), Errno> {
        let start = offset / self.block * self.block;
        let end = (offset + bytes as u64).next_multiple_of(self.block);
        let mut blocks = Buffer::zeroed((end - start) as usize);
        self.read_all(blocks.as_mut_slice(), start)?;
        Ok((start, blocks))
    }

    fn read_all(&self, bytes: &mut [u8], offset: u64) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read_at(&mut bytes[done..], offset + done as u64) {
                // The disk has these bytes, the file does not any more.
                Ok(0) => return Err(Errno::IO),
                Ok(read) => done += read,
                Err(error) => passing(error)?,
            }
        }
        Ok(())
    }

    /// Half blocks are read, changed and written. Whoever asks for that sees to it that nothing else changes those
    /// blocks meanwhile.
    fn write(&self, buffer: &Buffer, offset: u64, durable: bool) -> Result<(), Errno> {
        if self.is_whole(offset, buffer.len() as u64) {
            return self.write_all(buffer.as_slice(), offset, durable);
        }
        let (start, mut blocks) = self.blocks_around(offset, buffer.len())?;
        let begin = (offset - start) as usize;
        blocks.as_mut_slice()[begin..][..buffer.len()].copy_from_slice(buffer.as_slice());
        self.write_all(blocks.as_slice(), start, durable)
    }

    /// A durable write to a file is written and then synced: of an error of both in one nobody could say which of them
    /// failed, and a file may well have no space left. A device has, and may be able to do both at once.
    fn write_all(&self, bytes: &[u8], offset: u64, durable: bool) -> Result<(), Errno> {
        let at_once = durable && self.is_device;
        let mut done = 0;
        while done < bytes.len() {
            let (rest, at) = (&bytes[done..], offset + done as u64);
            let written = if at_once {
                file::write_durably(&self.file, rest, at)
            } else {
                self.file.write_at(rest, at)
            };
            match written {
                Ok(0) => return Err(Errno::NO_SPACE),
                Ok(written) => done += written,
                Err(error) => passing(error).inspect_err(|errno| self.doubt(*errno, at_once))?,
            }
        }
        if durable && !at_once { self.flush().map(drop) } else { Ok(()) }
    }

    /// An error of a write; `synced`: it may as well be one of the sync that was to follow.
    pub fn doubt(&self, errno: Errno, synced: bool) {
        if synced {
            self.lose(errno);
        }
    }

    /// Advice that the file cannot take is no error: what the bytes read as afterwards was open.
    fn trim(&self, offset: u64, bytes: u64) -> Answer {
        let start = offset.next_multiple_of(self.block);
        let end = (offset + bytes) / self.block * self.block;
        if start >= end {
            return Ok(Buffer::default());
        }
        let result = match self.is_device {
            true => file::discard(&self.file, start, end - start),
            false => file::allocate(&self.file, Space::Punch, start, end - start),
        };
        match result {
            Err(error) if !is_unsupported(&error) => Err(error.into()),
            _ => Ok(Buffer::default()),
        }
    }

    fn zero(&self, offset: u64, bytes: u64, allocate: bool) -> Result<(), Errno> {
        if bytes == 0 {
            return Ok(());
        }
        let space = |space| file::allocate(&self.file, space, offset, bytes);
        let mut result = if allocate { Err(unsupported()) } else { space(Space::Punch) };
        if result.as_ref().is_err_and(is_unsupported) {
            result = space(Space::Zero);
        }
        if result.as_ref().is_err_and(is_unsupported) && !self.is_device {
            result = space(Space::Punch).and_then(|()| space(Space::Allocate));
        }
        match result {
            Err(error) if is_unsupported(&error) => self.write_zeroes(offset, bytes),
            result => Ok(result?),
        }
    }

    fn write_zeroes(&self, offset: u64, bytes: u64) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes {
            // Pieces after the first begin at whole blocks.
            let at = offset + done;
            let piece = (bytes - done).min(ZEROES as u64 - at % self.block);
            self.write(&Buffer::zeroed(piece as usize), at, false)?;
            done += piece;
        }
        Ok(())
    }
}

/// Lets pass what says nothing about the disk.
fn passing(error: io::Error) -> Result<(), Errno> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error.into()) }
}

fn unsupported() -> io::Error {
    io::Error::from_raw_os_error(libc::EOPNOTSUPP)
}

/// A device says "invalid" to ranges that are not whole sectors.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Alone,
}

/// Changes under way, and those that wait for them.
///
/// With direct I/O a change of half a block reads the block, changes it and writes it back. Another change of that block
/// in between would be lost: such a change runs alone among changes. Reads and flushes are not concerned.
#[derive(Debug, Default)]
pub(super) struct Order {
    under_way: HashMap<u64, Kind>,
    alone: bool,
    waiting: VecDeque<(u64, Work, Kind)>,
}

impl Order {
    /// Gives a work back that may begin; keeps one that may not yet.
    pub fn start(&mut self, id: u64, work: Work, whole: bool) -> Option<Work> {
        let kind = if whole { Kind::Whole } else { Kind::Alone };
        if !self.waiting.is_empty() || !self.may(kind) {
            self.waiting.push_back((id, work, kind));
            return None;
        }
        self.begin(id, kind);
        Some(work)
    }

    fn may(&self, kind: Kind) -> bool {
        !self.alone && (kind == Kind::Whole || self.under_way.is_empty())
    }

    fn begin(&mut self, id: u64, kind: Kind) {
        self.under_way.insert(id, kind);
        self.alone |= kind == Kind::Alone;
    }

    /// A work has ended, a change or not.
    pub fn end(&mut self, id: u64) {
        if self.under_way.remove(&id) == Some(Kind::Alone) {
            self.alone = false;
        }
    }

    /// The next of those that waited and may begin.
    pub fn next(&mut self) -> Option<(u64, Work)> {
        let kind = self.waiting.front()?.2;
        if !self.may(kind) {
            return None;
        }
        let (id, work, kind) = self.waiting.pop_front()?;
        self.begin(id, kind);
        Some((id, work))
    }
}
