//! Packets of a reply as they pass: the first bytes of each are kept, the rest is counted.

use crate::error::ProtocolError;
use crate::packet::{HEADER_BYTES, PAYLOAD_MAX};

/// Bytes kept of each packet: an OK packet's numbers, a plugin's name.
pub(super) const HEAD_BYTES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Frame {
    header: [u8; HEADER_BYTES],
    header_filled: u8,
    head_filled: u8,
    /// Whether a packet of full length came before and this one continues it.
    continues: bool,
    /// Number that is due, once there is one before it.
    due: Option<u8>,
    left: u32,
    length: u64,
    head: [u8; HEAD_BYTES],
}

impl Frame {
    /// Takes bytes up to the end of a packet with all that continue it; true when the end was seen.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        if self.header_filled == 0 && !self.continues && self.take_whole(input)? {
            return Ok(true);
        }
        self.take_piece(input)
    }

    /// A short packet that is all there, as nearly all are; takes nothing where it is another one.
    fn take_whole(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let [a, b, c, sequence, payload @ ..] = *input else { return Ok(false) };
        let length = u32::from_le_bytes([*a, *b, *c, 0]);
        if length as usize == PAYLOAD_MAX || payload.len() < length as usize {
            return Ok(false);
        }
        self.header = [*a, *b, *c, *sequence];
        self.is_due(*sequence)?;
        let (packet, rest) = payload.split_at(length as usize);
        *input = rest;
        (self.left, self.length) = (0, u64::from(length));
        self.head_filled = packet.len().min(HEAD_BYTES) as u8;
        match payload.first_chunk::<HEAD_BYTES>() {
            // What is behind the packet is copied too: a copy of fixed length costs less than its end would.
            Some(head) => self.head = *head,
            None => self.head[..packet.len()].copy_from_slice(packet),
        }
        Ok(true)
    }

    /// Passes a packet that is all there, shorter than the longest, and neither an error nor an end, by its first byte.
    /// Nothing of it is kept, so that a row costs little. Says whether there was one; any other is left for
    /// [`Frame::take`].
    pub fn skip(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let [a, b, c, sequence, payload @ ..] = *input else { return Ok(false) };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        let (Some(first), Some(rest)) = (payload.first(), payload.get(length..)) else { return Ok(false) };
        if self.is_inside() || *first >= 0xfe || length == 0 || length == PAYLOAD_MAX {
            return Ok(false);
        }
        self.is_due(*sequence)?;
        *input = rest;
        Ok(true)
    }

    fn is_due(&mut self, sequence: u8) -> Result<(), ProtocolError> {
        if let Some(expected) = self.due.filter(|due| *due != sequence) {
            return Err(ProtocolError::Sequence { expected, found: sequence });
        }
        self.due = Some(sequence.wrapping_add(1));
        Ok(())
    }

    fn take_piece(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        loop {
            if usize::from(self.header_filled) < HEADER_BYTES && !self.take_header(input)? {
                return Ok(false);
            }
            let (taken, rest) = input.split_at(input.len().min(self.left as usize));
            *input = rest;
            self.left -= taken.len() as u32;
            self.keep(taken);
            if self.left > 0 {
                return Ok(false);
            }
            self.header_filled = 0;
            self.continues = self.header[..3] == [0xff; 3];
            if !self.continues {
                return Ok(true);
            }
        }
    }

    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let filled = usize::from(self.header_filled);
        let (taken, rest) = input.split_at(input.len().min(HEADER_BYTES - filled));
        *input = rest;
        self.header[filled..filled + taken.len()].copy_from_slice(taken);
        self.header_filled += taken.len() as u8;
        if usize::from(self.header_filled) < HEADER_BYTES {
            return Ok(false);
        }
        let [a, b, c, sequence] = self.header;
        self.is_due(sequence)?;
        self.left = u32::from_le_bytes([a, b, c, 0]);
        if !self.continues {
            self.head_filled = 0;
            self.length = 0;
        }
        self.length += u64::from(self.left);
        Ok(true)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let filled = usize::from(self.head_filled);
        let count = bytes.len().min(HEAD_BYTES - filled);
        self.head[filled..filled + count].copy_from_slice(&bytes[..count]);
        self.head_filled += count as u8;
    }

    /// The next packet may have any number: another command's reply, or the other side's turn between.
    pub fn any_number_is_due(&mut self) {
        self.due = None;
    }

    pub fn is_inside(&self) -> bool {
        self.header_filled > 0 || self.continues
    }

    /// First bytes of the last packet.
    pub fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_filled)]
    }

    pub fn number(&self) -> u8 {
        self.header[3]
    }

    pub fn first(&self) -> Option<u8> {
        self.head().first().copied()
    }

    /// Length of the last packet with all that continued it.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the last packet begins like an end of rows and is too short for a row that does: a value of
    /// 16 MiB or more begins with 0xFE too.
    pub fn is_end(&self, deprecate_eof: bool) -> bool {
        let limit = if deprecate_eof { PAYLOAD_MAX as u64 } else { 9 };
        self.first() == Some(0xfe) && self.length < limit
    }
}
