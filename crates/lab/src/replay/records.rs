//! The records of a capture file, one after another.

use evenkeel_wire::capture::{COMMAND_MAX, MAGIC, Record};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Length and checksum in front of a record.
pub(super) const HEADER_BYTES: usize = 8;
/// Longest record that can be one.
pub(super) const RECORD_MAX: usize = COMMAND_MAX + (64 << 10) + HEADER_BYTES;
/// Longest first line.
const LINE_MAX: u64 = 64 << 10;

pub struct Records {
    input: BufReader<File>,
    buffer: Vec<u8>,
    /// Where the next record begins.
    at: u64,
    /// The first line.
    pub header: serde_json::Value,
    /// Records that could not be read.
    pub damaged: u64,
    /// The file ends inside a record.
    pub is_cut: bool,
}

impl Records {
    /// `None` where the file is no capture.
    pub fn open(file: File) -> io::Result<Option<Self>> {
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut magic = Vec::new();
        (&mut input).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic != MAGIC {
            return Ok(None);
        }
        let mut line = Vec::new();
        let length = (&mut input).take(LINE_MAX).read_until(b'\n', &mut line)?;
        let at = (MAGIC.len() + length) as u64;
        let header = serde_json::from_slice(&line).unwrap_or_default();
        Ok(Some(Self { input, buffer: Vec::new(), at, header, damaged: 0, is_cut: !line.ends_with(b"\n") }))
    }

    /// The next record and where it begins. A damaged one is counted and passed over.
    pub fn next(&mut self) -> io::Result<Option<(u64, Record<'_>)>> {
        while self.fill()? {
            let at = self.at;
            self.at += self.buffer.len() as u64;
            if Record::read(&self.buffer).is_ok() {
                // Read twice: a borrow that is returned from a loop lasts for all of it.
                return Ok(Record::read(&self.buffer).ok().flatten().map(|(record, _)| (at, record)));
            }
            self.damaged += 1;
        }
        Ok(None)
    }

    /// Reads one record into the buffer; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        if self.read(HEADER_BYTES)? < HEADER_BYTES {
            self.is_cut |= !self.buffer.is_empty();
            return Ok(false);
        }
        let length = self.buffer.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        if length > RECORD_MAX - HEADER_BYTES {
            // Where the next one begins nobody can say.
            (self.damaged, self.is_cut) = (self.damaged + 1, true);
            return Ok(false);
        }
        self.is_cut |= self.read(length)? < length;
        Ok(!self.is_cut)
    }

    fn read(&mut self, length: usize) -> io::Result<usize> {
        (&mut self.input).take(length as u64).read_to_end(&mut self.buffer)
    }
}
