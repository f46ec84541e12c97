//! Packets are put together as far as somebody reads them.

use super::{ResponseReader, State};
use crate::error::{ProtocolError, ServerError};
use crate::packet::{HEADER_BYTES, PAYLOAD_MAX};

/// Bytes kept of a packet that arrives in pieces: enough for an error with its longest text.
pub const HEAD_BYTES: usize = 16 + ServerError::TEXT_MAX;

impl ResponseReader {
    /// The next packet: `Some(Some(payload))` where it lies whole in the input, `Some(None)` where its head
    /// was kept in `self.head`, `None` where bytes are missing.
    #[allow(clippy::type_complexity)]
    pub(super) fn packet<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Option<Option<&'a [u8]>>, ProtocolError> {
        loop {
            if self.header_filled < HEADER_BYTES && !self.fill_header(input)? {
                return Ok(None);
            }
            let full = self.left == PAYLOAD_MAX && self.length == self.left as u64;
            let piecemeal = self.continues || full || !self.head.is_empty() || input.len() < self.left;
            if !piecemeal {
                let (payload, rest) = input.split_at(self.left);
                *input = rest;
                self.header_filled = 0;
                return Ok(Some(Some(payload)));
            }
            if !self.fill_head(input)? {
                return Ok(None);
            }
            self.header_filled = 0;
            self.continues = self.is_full();
            if !self.continues {
                return Ok(Some(None));
            }
        }
    }

    /// Whether the packet of the last header is of full length, so that another continues it.
    fn is_full(&self) -> bool {
        self.header[..3] == [0xff, 0xff, 0xff]
    }

    fn fill_header(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let count = (HEADER_BYTES - self.header_filled).min(input.len());
        let (taken, rest) = input.split_at(count);
        self.header[self.header_filled..self.header_filled + count].copy_from_slice(taken);
        self.header_filled += count;
        *input = rest;
        if self.header_filled < HEADER_BYTES {
            return Ok(false);
        }
        let [a, b, c, sequence] = self.header;
        if sequence != self.sequence {
            return Err(ProtocolError::Sequence { expected: self.sequence, found: sequence });
        }
        self.sequence = sequence.wrapping_add(1);
        self.left = u32::from_le_bytes([a, b, c, 0]) as usize;
        if !self.continues {
            self.head.clear();
            self.length = 0;
        }
        self.length += self.left as u64;
        if self.keeps_whole() && self.length > self.packet_limit as u64 {
            return Err(ProtocolError::TooLarge { limit: self.packet_limit });
        }
        Ok(true)
    }

    /// Keeps the head of a packet in pieces; true when its end was seen.
    fn fill_head(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let (taken, rest) = input.split_at(self.left.min(input.len()));
        *input = rest;
        self.left -= taken.len();
        let room = if self.keeps_whole() { taken.len() } else { HEAD_BYTES.saturating_sub(self.head.len()) };
        self.head.extend_from_slice(&taken[..room.min(taken.len())]);
        Ok(self.left == 0)
    }

    /// Rows and definitions are kept whole when somebody captures them. The ends of a result set are short
    /// and kept either way.
    fn keeps_whole(&self) -> bool {
        self.capture && matches!(self.state, State::Rows | State::Definitions { .. })
    }
}
