//! Framing: a header of three bytes length and one byte sequence number before each payload.

use crate::error::ProtocolError;

pub const HEADER_BYTES: usize = 4;
/// A payload of this length is continued by the next packet.
pub const PAYLOAD_MAX: usize = 0xff_ffff;

/// Appends packets to `out`: what `write` appends becomes the payload, split where it is too long for one
/// packet. `sequence` is the number of the first and becomes that after the last.
pub fn put(out: &mut Vec<u8>, sequence: &mut u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    write(out);
    let length = out.len() - start - HEADER_BYTES;
    if length < PAYLOAD_MAX {
        out[start..start + HEADER_BYTES].copy_from_slice(&header(length, sequence));
    } else {
        split(out, start, sequence);
    }
}

fn header(length: usize, sequence: &mut u8) -> [u8; HEADER_BYTES] {
    let [a, b, c, ..] = (length as u64).to_le_bytes();
    let header = [a, b, c, *sequence];
    *sequence = sequence.wrapping_add(1);
    header
}

/// Puts a header before every piece of a long payload; a last piece of full length is followed by an
/// empty packet.
fn split(out: &mut Vec<u8>, start: usize, sequence: &mut u8) {
    let payload = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    let mut pieces = payload.chunks_exact(PAYLOAD_MAX);
    for piece in &mut pieces {
        out.extend_from_slice(&header(piece.len(), sequence));
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&header(pieces.remainder().len(), sequence));
    out.extend_from_slice(pieces.remainder());
}

/// Collects whole packets below a size limit; for the login, where every packet is small.
#[derive(Debug)]
pub struct PacketReader {
    kept: Vec<u8>,
    limit: usize,
}

impl PacketReader {
    /// Refuses payloads above `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), limit: limit.min(PAYLOAD_MAX - 1) }
    }

    /// Takes bytes from the front of `input` until a packet is whole: its sequence number and payload.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<(u8, Vec<u8>)>, ProtocolError> {
        if !self.fill(HEADER_BYTES, input) {
            return Ok(None);
        }
        let length = u32::from_le_bytes([self.kept[0], self.kept[1], self.kept[2], 0]) as usize;
        if length > self.limit {
            return Err(ProtocolError::TooLarge { limit: self.limit });
        }
        if !self.fill(HEADER_BYTES + length, input) {
            return Ok(None);
        }
        let payload = self.kept.split_off(HEADER_BYTES);
        let sequence = self.kept[3];
        self.kept.clear();
        Ok(Some((sequence, payload)))
    }

    /// Bytes of a packet that is not whole yet.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    fn fill(&mut self, want: usize, input: &mut &[u8]) -> bool {
        let count = want.saturating_sub(self.kept.len()).min(input.len());
        let (taken, rest) = input.split_at(count);
        self.kept.extend_from_slice(taken);
        *input = rest;
        self.kept.len() >= want
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_payload_is_split_and_a_full_last_piece_is_followed_by_an_empty_packet() {
        for (length, packets) in [(PAYLOAD_MAX - 1, 1), (PAYLOAD_MAX, 2), (PAYLOAD_MAX + 7, 2)] {
            let (mut out, mut sequence) = (vec![9], 0);
            put(&mut out, &mut sequence, |out| out.resize(out.len() + length, 7));
            assert_eq!(usize::from(sequence), packets);
            assert_eq!(out.len(), 1 + length + packets * HEADER_BYTES);
            let last = length % PAYLOAD_MAX;
            let at = out.len() - last - HEADER_BYTES;
            let [a, b, c, ..] = (last as u64).to_le_bytes();
            assert_eq!(&out[at..at + 4], &[a, b, c, sequence - 1]);
        }
    }

    #[test]
    fn a_packet_in_single_bytes_comes_out_whole() {
        let mut out = Vec::new();
        put(&mut out, &mut 5, |out| out.extend_from_slice(b"hello"));
        let mut reader = PacketReader::new(100);
        for (at, byte) in out.iter().enumerate() {
            let packet = reader.next(&mut &[*byte][..]).unwrap();
            assert_eq!(packet.is_some(), at + 1 == out.len());
            if let Some((sequence, payload)) = packet {
                assert_eq!((sequence, payload.as_slice()), (5, &b"hello"[..]));
            }
        }
    }

    #[test]
    fn a_packet_above_the_limit_is_refused_by_its_header() {
        let mut reader = PacketReader::new(10);
        assert_eq!(reader.next(&mut &[11, 0, 0, 0][..]), Err(ProtocolError::TooLarge { limit: 10 }));
    }
}
