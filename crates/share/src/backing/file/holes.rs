//! Which parts of a file are holes, as its file system says.

use super::open::Opened;
use crate::{Answer, Buffer, Errno, holes};
use evenkeel_os::file::{Stretch, begin_of};

/// What is taken for data where holes come and go while they are asked for.
const STEP: u64 = 4_096;

impl Opened {
    /// Fills the buffer with extents. The file is looked at afterwards: what was cut off would be a hole like any other.
    pub fn holes(&self, range: (u64, u64), buffer: Buffer) -> Answer {
        let filled = holes::fill(buffer, range, |at| self.stretch(at))?;
        self.look();
        self.reaches(range.0 + range.1)?;
        Ok(filled)
    }

    /// Where what begins at an offset ends, and whether it is a hole. A block device says "data" of everything, and so
    /// does a file system that does not know better.
    fn stretch(&self, at: u64) -> Result<(u64, bool), Errno> {
        let data = match begin_of(&self.file, Stretch::Data, at) {
            Ok(data) => data,
            Err(error) => {
                return match error.raw_os_error() {
                    // There is no data behind.
                    Some(libc::ENXIO) => Ok((self.bytes, true)),
                    Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS) => Ok((self.bytes, false)),
                    _ => Err(error.into()),
                };
            }
        };
        if data > at {
            return Ok((data, true));
        }
        let hole = begin_of(&self.file, Stretch::Hole, at)?;
        // Somebody may have made a hole here since.
        Ok((if hole > at { hole } else { (at / STEP + 1) * STEP }, false))
    }
}
