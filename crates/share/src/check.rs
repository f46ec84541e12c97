//! What may not reach a backing: I/Os beyond its end, and changes to what may only be read.

use super::{Errno, Work};

/// Whether a disk of this size takes it.
pub fn check(work: &Work, bytes: u64, read_only: bool) -> Result<(), Errno> {
    if read_only && work.changes() {
        return Err(Errno::READ_ONLY);
    }
    let Some((offset, length)) = work.range() else { return Ok(()) };
    let fits = offset.checked_add(length).is_some_and(|end| end <= bytes);
    match (fits, work) {
        (true, _) => Ok(()),
        (false, Work::Write { .. } | Work::Zero { .. }) => Err(Errno::NO_SPACE),
        (false, _) => Err(Errno::INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;

    #[test]
    fn what_is_beyond_the_end_or_changes_a_read_only_disk_is_refused() {
        let read = |offset, length| Work::Read { offset, buffer: Buffer::zeroed(length) };
        let write = |offset, length| Work::Write { offset, buffer: Buffer::zeroed(length), durable: false };
        assert_eq!(check(&read(4_096, 4_096), 8_192, true), Ok(()));
        assert_eq!(check(&read(4_097, 4_096), 8_192, false), Err(Errno::INVALID));
        assert_eq!(check(&read(u64::MAX, 4_096), 8_192, false), Err(Errno::INVALID));
        assert_eq!(check(&write(8_192, 1), 8_192, false), Err(Errno::NO_SPACE));
        assert_eq!(check(&write(0, 1), 8_192, true), Err(Errno::READ_ONLY));
        assert_eq!(check(&Work::Trim { offset: 0, bytes: 9_000 }, 8_192, false), Err(Errno::INVALID));
        assert_eq!(check(&Work::Flush, 8_192, true), Ok(()));
    }
}
