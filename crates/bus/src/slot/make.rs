//! A slot file has a header block, and then a block for each member. It is made whole or not at all, and over nothing that may be
//! somebody's.

use crate::BusError;
use crate::carrier::SLOTS_MAX;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub const BLOCK: usize = 4_096;
/// The header begins with this; then slots u32, little-endian, and a CRC-32 of both.
const MAGIC: &[u8; 16] = b"evenkeel slots 1";
/// Bytes at both ends of a device that have to be zero, besides the slots: what file systems, volume managers and RAID know
/// their devices by lies there, often behind a first block that is zero.
const ENDS: u64 = 128 << 10;

/// The bytes of the first block, which says how many slots there are.
fn header(slots: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK);
    block.extend(MAGIC);
    block.extend((slots as u32).to_le_bytes());
    block.extend(crc32fast::hash(&block).to_le_bytes());
    block.resize(BLOCK, 0);
    block
}

/// How many slots a first block says that there are; `None` of a block that is no header.
pub fn slots_in(first: &[u8]) -> Option<usize> {
    let slots = u32::from_le_bytes(first.get(16..20)?.try_into().ok()?) as usize;
    let is_header = (1..=SLOTS_MAX).contains(&slots) && first.get(..24)? == &header(slots)[..24];
    is_header.then_some(slots)
}

/// Makes a file with as many empty slots where nothing stands; of a block device that is empty, a slot file.
/// Errors: something else stands there, or it cannot be written.
pub fn make(path: &Path, slots: usize) -> Result<(), BusError> {
    check(slots)?;
    let failed = |error| BusError::File { path: path.to_owned(), error };
    match fs::metadata(path) {
        Ok(about) if about.file_type().is_block_device() => make_device(path, slots),
        Ok(_) => Err(failed(ErrorKind::AlreadyExists.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => make_file(path, slots).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a slot file may have as many.
pub fn check(slots: usize) -> Result<(), BusError> {
    if (1..=SLOTS_MAX).contains(&slots) { Ok(()) } else { Err(BusError::Slots(slots)) }
}

/// Makes a file. One that another member makes meanwhile is as good. It appears at its path when all of it is on the storage: a
/// full one leaves nothing behind.
pub fn make_file(path: &Path, slots: usize) -> io::Result<()> {
    let beside = beside(path)?;
    let made = write_whole(&beside, slots).and_then(|()| appear(&beside, path));
    let _ = fs::remove_file(&beside);
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write_whole(path: &Path, slots: usize) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o660).open(path)?;
    write_slots(&mut file, slots)
}

/// The header last: what is torn is no slot file.
fn write_slots(file: &mut File, slots: usize) -> io::Result<()> {
    file.seek(SeekFrom::Start(BLOCK as u64))?;
    (0..slots).try_for_each(|_| file.write_all(&[0; BLOCK]))?;
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header(slots))?;
    file.sync_all()
}

/// Gives a file its name, unless something has it.
fn appear(beside: &Path, path: &Path) -> io::Result<()> {
    fs::hard_link(beside, path)?;
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name in the same folder that nobody else uses, on this host or another one.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    // Keys of a hash map are drawn by the system.
    let number = std::collections::hash_map::RandomState::new().build_hasher().finish();
    Ok(folder(path).join(format!(".{}.{number:016x}", name.to_string_lossy())))
}

/// Makes a slot file of a block device that nothing stands on and nobody uses.
fn make_device(path: &Path, slots: usize) -> Result<(), BusError> {
    let failed = |error| BusError::File { path: path.to_owned(), error };
    // The kernel gives a device that is mounted, or part of another one, to nobody else.
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path);
    let mut device = opened.map_err(failed)?;
    match in_the_way(&mut device, slots).map_err(failed)? {
        Some(why) => Err(BusError::NotSlots { path: path.to_owned(), why }),
        None => write_slots(&mut device, slots).map_err(failed),
    }
}

/// Why a device cannot be made a slot file, if so.
fn in_the_way(device: &mut File, slots: usize) -> io::Result<Option<&'static str>> {
    let length = device.seek(SeekFrom::End(0))?;
    let needed = ((slots + 1) * BLOCK) as u64;
    if length < needed {
        return Ok(Some("the device is too small for so many slots"));
    }
    let first = needed.max(ENDS).min(length);
    let last = length.saturating_sub(ENDS).max(first);
    let is_empty = is_zero(device, 0, first)? && is_zero(device, last, length)?;
    Ok((!is_empty).then_some("the device is not empty"))
}

/// Whether all bytes of a range are zero.
fn is_zero(file: &mut File, from: u64, to: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(to - from).read_to_end(&mut bytes)?;
    Ok(bytes.len() as u64 == to - from && bytes.iter().all(|byte| *byte == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// A file that stands for a device of 1 MiB with a byte at this place.
    fn found(place: Option<u64>, slots: usize) -> Option<&'static str> {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        place.map_or(Ok(()), |place| file.write_all_at(b"x", place)).unwrap();
        in_the_way(&mut file, slots).unwrap()
    }

    #[test]
    fn a_device_is_empty_only_where_no_file_system_and_no_raid_could_know_it_by_anything() {
        assert_eq!(found(None, 64), None);
        // RAID 1.2, btrfs, what lies last of the first 128 KiB, in the last slot, and at the end.
        for place in [0, 4_096, 65_600, (128 << 10) - 1, 65 * 4_096 - 1, (1 << 20) - 65_536, (1 << 20) - 1] {
            assert_eq!(found(Some(place), 64), Some("the device is not empty"), "{place}");
        }
        assert_eq!(found(None, 255), None);
        assert_eq!(found(None, 256), Some("the device is too small for so many slots"));
    }

    #[test]
    fn a_file_is_made_once_and_nothing_that_stands_there_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slots");
        make(&path, 3).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 4 * BLOCK as u64);
        let before = fs::read(&path).unwrap();
        assert!(matches!(make(&path, 5), Err(BusError::File { .. })));
        make_file(&path, 5).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before, "another one made it meanwhile");
        assert!(matches!(make(&path, 0), Err(BusError::Slots(0))));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
