//! Disk I/O is counted for a process, and for the device that holds a path.

use crate::mounts::Mount;
use crate::text::{self, rise};
use evenkeel_core::Nanos;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes that a process had the disks move: a reading since its start, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Read from disk, not from the page cache.
    pub read_bytes: u64,
    /// Written, or left to the page cache to write.
    pub write_bytes: u64,
}

impl ProcessIo {
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&text::read(format!("/proc/{pid}/io"))?)
    }

    /// Bytes that a process wrote by system calls since its start, be it to files or to sockets.
    pub fn written(pid: u32) -> Option<u64> {
        text::number(&text::read(format!("/proc/{pid}/io"))?, "wchar")
    }

    pub fn parse(text: &str) -> Option<Self> {
        Some(Self {
            read_bytes: text::number(text, "read_bytes")?,
            write_bytes: text::number(text, "write_bytes")?,
        })
    }

    /// What happened since an earlier reading; `None` where that is of another process.
    pub fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            read_bytes: self.read_bytes.checked_sub(before.read_bytes)?,
            write_bytes: self.write_bytes.checked_sub(before.write_bytes)?,
        })
    }
}

/// What a block device (or a partition) did: a reading since the boot, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceIo {
    pub reads: u64,
    pub read_bytes: u64,
    /// Sum of the times of the reads, in the queue and on the device.
    pub read_time: Nanos,
    pub writes: u64,
    pub write_bytes: u64,
    /// Sum of the times of the writes.
    pub write_time: Nanos,
    pub busy: Nanos,
}

impl DeviceIo {
    pub fn read(device: (u32, u32)) -> Option<Self> {
        Self::parse(&text::read("/proc/diskstats")?, device)
    }

    /// Finds the line of a device in the text of /proc/diskstats. The lines of four columns that
    /// partitions had before 2.6.25 count other things and are not taken.
    pub fn parse(text: &str, device: (u32, u32)) -> Option<Self> {
        text.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let found = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            (found == device).then(|| Self::parse_columns(words.skip(1)))?
        })
    }

    /// Whole disks by name, `limit` of them at most: no partitions, nothing in memory, and nothing that stands on other
    /// disks (dm, md, loop) and so would count their I/Os twice.
    pub fn whole_disks(limit: usize) -> Vec<(String, Self)> {
        let is_disk = |name: &str| Path::new("/sys/block").join(name).is_dir();
        let disks = Self::all(&text::read("/proc/diskstats").unwrap_or_default(), is_disk);
        disks.into_iter().take(limit).collect()
    }

    /// The devices in the text of /proc/diskstats that are disks by their names.
    fn all(text: &str, is_disk: impl Fn(&str) -> bool) -> Vec<(String, Self)> {
        let device = |line: &str| {
            let name = line.split_ascii_whitespace().nth(2)?;
            if !stands_alone(name) || !is_disk(name) {
                return None;
            }
            Some((name.to_owned(), Self::parse_columns(line.split_ascii_whitespace().skip(3))?))
        };
        text.lines().filter_map(device).collect()
    }

    fn parse_columns<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        /// Whatever the device's own sectors are, the kernel counts in these.
        const SECTOR_BYTES: u64 = 512;
        let columns: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let column = |number: usize| columns.get(number - 1).copied();
        let millis = |number| Some(text::times(column(number)?, Nanos::from_millis(1)));
        Some(Self {
            reads: column(1)?,
            read_bytes: column(3)?.saturating_mul(SECTOR_BYTES),
            read_time: millis(4)?,
            writes: column(5)?,
            write_bytes: column(7)?.saturating_mul(SECTOR_BYTES),
            write_time: millis(8)?,
            busy: column(11).and(millis(10))?,
        })
    }

    /// What happened since an earlier reading; `None` where that is of another device.
    pub fn since(&self, before: &Self) -> Option<Self> {
        // The kernel counts these milliseconds in 32 bits: they wrap once in 50 days of such time.
        let time = |before: Nanos, after: Nanos| {
            let millis = rise(before.0 / 1_000_000, after.0 / 1_000_000)?;
            Some(Nanos::from_millis(millis))
        };
        Some(Self {
            reads: self.reads.checked_sub(before.reads)?,
            read_bytes: self.read_bytes.checked_sub(before.read_bytes)?,
            read_time: time(before.read_time, self.read_time)?,
            writes: self.writes.checked_sub(before.writes)?,
            write_bytes: self.write_bytes.checked_sub(before.write_bytes)?,
            write_time: time(before.write_time, self.write_time)?,
            busy: time(before.busy, self.busy)?,
        })
    }
}

/// Whether a device of this name is no part of memory and does not stand on other devices.
pub fn stands_alone(name: &str) -> bool {
    !["dm-", "md", "loop", "ram", "zram", "sr", "fd", "nbd"].iter().any(|kind| name.starts_with(kind))
}

/// A block device: a disk, a partition, a logical volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Major and minor number.
    pub number: (u32, u32),
    /// `vda1`, `dm-0` ...
    pub name: String,
    /// Whether the kernel takes it for one that turns. A hypervisor may hide the truth.
    pub rotational: Option<bool>,
}

impl Device {
    /// The device that holds a path (or would: of what does not exist, the nearest folder above).
    /// `None` where no single one does: tmpfs, overlay, NFS, ZFS, a btrfs whose device cannot be seen.
    pub fn of_path(path: &Path) -> Option<Self> {
        let path = existing(path)?;
        let number = split(std::fs::metadata(&path).ok()?.st_dev());
        Self::find(number).or_else(|| Self::find(source_of(&path, &Mount::all())?))
    }

    /// Number of the disk that it is, or is a partition of: the kernel holds back whole disks alone.
    pub fn whole(&self) -> (u32, u32) {
        let folder = PathBuf::from(format!("/sys/dev/block/{}:{}", self.number.0, self.number.1));
        let Ok(folder) = folder.canonicalize() else { return self.number };
        if !folder.join("partition").exists() {
            return self.number;
        }
        let above = folder.parent().and_then(|disk| text::read_line(disk.join("dev")));
        let number = above.as_deref().and_then(|text| text.split_once(':'));
        number
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
            .unwrap_or(self.number)
    }

    /// A device by its number; major 0 is never one.
    fn find(number: (u32, u32)) -> Option<Self> {
        let folder = PathBuf::from(format!("/sys/dev/block/{}:{}", number.0, number.1));
        let folder = folder.canonicalize().ok().filter(|_| number.0 != 0)?;
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(Self { number, name, rotational: rotational(&folder) })
    }
}

/// The path itself or the nearest folder above it that exists, without symbolic links.
pub(crate) fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|path| path.canonicalize().ok())
}

/// Of a file system that numbers its own devices (btrfs), the device file that was mounted.
fn source_of(path: &Path, mounts: &[Mount]) -> Option<(u32, u32)> {
    let source = Path::new(&Mount::of(mounts, path)?.source);
    if !source.starts_with("/dev") {
        return None;
    }
    Some(split(std::fs::metadata(source).ok()?.st_rdev()))
}

/// Major and minor out of the kernel's packed number.
fn split(device: u64) -> (u32, u32) {
    (libc::major(device), libc::minor(device))
}

/// The flag is in the folder of the disk, which for a partition is the one above.
fn rotational(folder: &Path) -> Option<bool> {
    let flag = |folder: &Path| text::read_line(folder.join("queue/rotational"));
    let flag = flag(folder).or_else(|| flag(folder.parent()?))?;
    match flag.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::{captured, damaged};
    use crate::left_out::left_out;

    #[test]
    fn a_process_tells_what_reached_the_disks() {
        let io = ProcessIo::parse(captured("pid-io")).expect("a reading");
        let expected = ProcessIo { read_bytes: 323932160, write_bytes: 3239321 };
        assert_eq!(io, expected);
        assert_eq!(io.since(&io), Some(ProcessIo::default()));
        assert_eq!(ProcessIo::default().since(&io), None);
    }

    #[test]
    fn a_device_and_its_partition_have_lines_of_their_own() {
        let disk = DeviceIo::parse(captured("diskstats-6.18"), (254, 0)).expect("a disk");
        assert_eq!((disk.reads, disk.read_bytes), (83209, 7803282 * 512));
        assert_eq!((disk.write_time, disk.busy), (Nanos::from_millis(121076), Nanos::from_millis(42668)));
        let partition = DeviceIo::parse(captured("diskstats-6.18"), (254, 1)).expect("a partition");
        assert_eq!(partition.writes, 16980);
        assert_eq!(DeviceIo::parse(captured("diskstats-6.18"), (9, 9)), None);
    }

    #[test]
    fn fewer_columns_of_older_kernels_are_enough() {
        let disk = DeviceIo::parse(captured("diskstats-4.9"), (8, 0)).expect("a disk");
        assert_eq!(disk.reads, 71202);
        let mapped = DeviceIo::parse(captured("diskstats-4.9"), (253, 0)).expect("a logical volume");
        assert_eq!(mapped.write_bytes, 9013312 * 512);
        assert_eq!(DeviceIo::parse("   8 1 sda1 100 200 300 400\n", (8, 1)), None);
        damaged(captured("pid-io"), ProcessIo::parse);
        damaged(captured("diskstats-6.18"), |text| DeviceIo::parse(text, (254, 0)));
    }

    #[test]
    fn whole_disks_are_those_that_stand_on_no_others() {
        let disks =
            DeviceIo::all(captured("diskstats-6.18"), |name| name == "vda" || name.starts_with("loop"));
        let names: Vec<&str> = disks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["vda"]);
        assert_eq!(disks[0].1.reads, 83209);
        assert!(!stands_alone("dm-0") && !stands_alone("loop1") && stands_alone("nvme0n1"));
    }

    #[test]
    fn milliseconds_wrap_in_32_bits() {
        let at = |millis| DeviceIo { busy: Nanos::from_millis(millis), ..Default::default() };
        let wrapped = at(4).since(&at((1 << 32) - 6)).expect("a difference");
        assert_eq!(wrapped.busy, Nanos::from_millis(10));
    }

    #[test]
    fn what_does_not_exist_is_looked_up_above() {
        assert_eq!(existing(Path::new("/proc/no such/folder")), Some("/proc".into()));
        assert_eq!(existing(Path::new("/")), Some("/".into()));
        assert_eq!(existing(Path::new("")), None);
    }

    #[test]
    fn the_device_of_a_folder_is_in_diskstats_or_not_available() {
        let Some(device) = Device::of_path(Path::new("/")) else {
            return left_out("the folder / is on no device of this machine");
        };
        assert!(!device.name.is_empty() && device.number.0 > 0);
        assert!(DeviceIo::read(device.number).is_some(), "{device:?}");
    }

    #[test]
    fn the_source_of_a_mount_counts_only_where_it_is_a_device_file() {
        let mount =
            |source: &str| vec![Mount::parse(&format!("1 1 0:50 / / rw - overlay {source} rw")).remove(0)];
        assert_eq!(source_of(Path::new("/x"), &mount("overlay")), None);
        assert_eq!(source_of(Path::new("/x"), &mount("/dev/no such")), None);
        assert_eq!(source_of(Path::new("/x"), &mount("/dev/null")), Some((1, 3)));
    }
}
