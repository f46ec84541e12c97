//! Which parts of a disk are holes: no space is taken by them, and they read as zeroes.
//!
//! To say "data" is always right, and to say "hole" of bytes that somebody wrote loses them: whoever copies a disk leaves holes
//! out. So what is not known is data.

use super::{Buffer, Errno};
use evenkeel_wire::nbd::{EXTENT_BYTES, extent};

/// A buffer for as many extents as one answer may have.
pub(super) const EXTENTS_BYTES: usize = 512 * EXTENT_BYTES;

/// Fills a buffer with extents of a range, as far as they go in, in the form in which clients of NBD get them. `stretch` says where
/// what begins at an offset ends, and whether it is a hole.
pub(super) fn fill(
    mut buffer: Buffer,
    (offset, bytes): (u64, u64),
    mut stretch: impl FnMut(u64) -> Result<(u64, bool), Errno>,
) -> Result<Buffer, Errno> {
    let (mut at, end, mut used) = (offset, offset + bytes, 0);
    let mut last: Option<(u64, bool)> = None;
    while at < end {
        let (to, hole) = stretch(at)?;
        // Some of it in any case, so that it comes to an end.
        let to = to.clamp(at + 1, end);
        let (begin, place) = match last {
            Some((begin, was_hole)) if was_hole == hole => (begin, used - EXTENT_BYTES),
            _ if used + EXTENT_BYTES > buffer.len() => break,
            _ => (at, used),
        };
        // No range is longer than its number in a request.
        let length = u32::try_from(to - begin).map_err(|_| Errno::INVALID)?;
        buffer.as_mut_slice()[place..place + EXTENT_BYTES].copy_from_slice(&extent(length, hole));
        (at, used, last) = (to, place + EXTENT_BYTES, Some((begin, hole)));
    }
    buffer.set_len(used);
    Ok(buffer)
}

/// All of a range is data, as far as anybody knows.
pub(super) fn all_data(buffer: Buffer, range: (u64, u64)) -> Result<Buffer, Errno> {
    fill(buffer, range, |_| Ok((u64::MAX, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Extents as they stand in a buffer.
    fn extents(buffer: &Buffer) -> Vec<(u32, bool)> {
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        let pairs = buffer.as_slice().chunks_exact(EXTENT_BYTES);
        pairs.map(|pair| (number(&pair[..4]), number(&pair[4..]) == 3)).collect()
    }

    #[test]
    fn stretches_of_one_kind_are_one_extent_and_the_last_one_ends_with_the_range() {
        let stretch = |at: u64| Ok((at / 100 * 100 + 100, at / 100 % 4 < 2));
        let filled = fill(Buffer::zeroed(64), (50, 700), stretch).unwrap();
        assert_eq!(extents(&filled), [(150, true), (200, false), (200, true), (150, false)]);
    }

    #[test]
    fn what_does_not_go_in_is_left_out_and_the_first_extent_never_is() {
        let turns = |at: u64| Ok((at + 1, at % 2 == 1));
        assert_eq!(extents(&fill(Buffer::zeroed(8), (0, 9), turns).unwrap()), [(1, false)]);
        assert_eq!(extents(&fill(Buffer::zeroed(16), (1, 9), turns).unwrap()), [(1, true), (1, false)]);
        let stuck = |at: u64| Ok((at, false));
        assert_eq!(extents(&fill(Buffer::zeroed(8), (7, 3), stuck).unwrap()), [(3, false)], "it ends");
        assert_eq!(
            extents(&all_data(Buffer::zeroed(8), (0, u64::from(u32::MAX))).unwrap()),
            [(u32::MAX, false)]
        );
        assert_eq!(fill(Buffer::zeroed(8), (0, 9), |_| Err(Errno::IO)).err(), Some(Errno::IO));
    }
}
