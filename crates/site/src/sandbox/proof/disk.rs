//! Whether a limit of the disk bites: direct reads of written blocks, by processes inside the group.
//!
//! Blocks that were never written would be answered by the file system without any disk, and what the page cache holds as well:
//! a limit of 300 was seen to let 297,000 such reads a second through.

use super::Inside;
use crate::sandbox::SandboxError;
use crate::sandbox::cgroup::Groups;
use crate::sandbox::domain::{DiskLimit, Domain};
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::clock::monotonic;
use evenkeel_os::process::Owned;
use evenkeel_sense::disk::Device;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Bytes of the file that is read.
const FILE_BYTES: u64 = 64 << 20;
/// Processes that read side by side, so that a disk of some latency is not taken for a slow one.
const READERS: u64 = 4;
/// Reads of this size for a limit of I/Os, and of bytes.
const SMALL: u64 = 4 << 10;
const LARGE: u64 = 64 << 10;
/// How long a proof takes about, in seconds, and how many reads it takes at least; at most it reads the file once.
const SECONDS: f64 = 1.5;
const READS_MIN: f64 = 32.0;
/// A limit bites where what comes through is between these parts of it: the kernel counts in slices, and 290 to 308 of 300 were seen.
const BITES: (f64, f64) = (0.75, 1.15);
/// And where without it so much more came through.
const SLOWED: f64 = 1.25;

/// A file of written blocks; gone when this is dropped.
struct Proof {
    path: PathBuf,
}

impl Drop for Proof {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Proof {
    /// Sets the limit and tries it; what was found, or why the limit is refused. It is set afterwards.
    fn make(groups: &Groups, folder: &Path, limit: DiskLimit) -> Result<String, SandboxError> {
        // Before anything is written, so that what keeps it from being set is told as such.
        set(groups, folder, limit)?;
        let proof = Self::write(folder).map_err(|error| {
            Domain::from(limit).refused(format!("cannot write a file to try it on: {error}"))
        })?;
        let mut found = Vec::new();
        for (bytes, asked) in [(SMALL, limit.iops), (LARGE, limit.bytes_per_s)] {
            if asked.is_some() {
                found.push(proof.of_size(groups, folder, limit, bytes)?);
            }
        }
        Ok(found.join(", "))
    }

    fn write(folder: &Path) -> io::Result<Self> {
        let proof = Self { path: folder.join("disk.probe") };
        let mut file = File::create(&proof.path)?;
        // No disk that packs or shares what is alike may make the reads cheap.
        let mut random = Random::new(Seed(FILE_BYTES));
        let mut piece = Vec::with_capacity(1 << 20);
        for _ in 0..FILE_BYTES >> 20 {
            piece.clear();
            piece.extend((0..(1 << 20) / 8).flat_map(|_| random.bits().to_ne_bytes()));
            file.write_all(&piece)?;
        }
        file.sync_all()?;
        Ok(proof)
    }

    fn of_size(
        &self,
        groups: &Groups,
        folder: &Path,
        limit: DiskLimit,
        bytes: u64,
    ) -> Result<String, SandboxError> {
        let refuse = |reason: String| Domain::from(limit).refused(reason);
        let read = |groups: &Groups, reads: f64| {
            self.rate(groups, bytes, reads)
                .map_err(|error| refuse(format!("cannot read directly to try it: {error}")))
        };
        let expected = limit.expected(bytes);
        let reads = (SECONDS * expected).clamp(READS_MIN, (FILE_BYTES / bytes) as f64);
        set(groups, folder, DiskLimit::default())?;
        let free = read(&Groups::default(), reads)?;
        set(groups, folder, limit)?;
        let held = read(groups, reads)?;
        judge(expected, free, held).map_err(refuse)?;
        Ok(format!(
            "{held:.0} direct reads per second of {} KiB with the limit, {free:.0} without it",
            bytes >> 10
        ))
    }

    /// Direct reads per second in these groups.
    fn rate(&self, groups: &Groups, bytes: u64, reads: f64) -> io::Result<f64> {
        let each = ((reads / READERS as f64).ceil() as u64).min(FILE_BYTES / READERS / bytes);
        let begun = monotonic();
        let inside = Inside { groups, cpus: None };
        let start = |reader| inside.start(&self.reader(bytes, reader, each), None);
        let readers: Vec<Owned> = (0..READERS).map(start).collect::<io::Result<_>>()?;
        for mut reader in readers {
            let (status, mut said) = (reader.0.wait()?, String::new());
            if !status.success() {
                reader.0.stderr.take().map_or(Ok(0), |mut from| from.read_to_string(&mut said))?;
                return Err(io::Error::other(format!("dd ended with {status}: {}", said.trim())));
            }
        }
        Ok((each * READERS) as f64 / (monotonic() - begun).as_secs_f64())
    }

    /// The words of a reader. Each has a part of the file of its own.
    fn reader(&self, bytes: u64, reader: u64, reads: u64) -> [String; 8] {
        let part = FILE_BYTES / READERS / bytes;
        [
            "dd".to_owned(),
            format!("if={}", self.path.display()),
            "of=/dev/null".to_owned(),
            format!("bs={bytes}"),
            format!("skip={}", reader * part),
            format!("count={reads}"),
            "iflag=direct".to_owned(),
            "status=none".to_owned(),
        ]
    }
}

/// Proves a limit in groups that nobody is in yet, and takes it away again.
pub(in crate::sandbox) fn prove(
    groups: &Groups,
    folder: &Path,
    limit: DiskLimit,
) -> Result<String, SandboxError> {
    let found = Proof::make(groups, folder, limit)?;
    set(groups, folder, DiskLimit::default())?;
    Ok(found)
}

/// Makes a group with such a limit on the disk that holds a folder, as for a private server, proves it and removes it; what was found.
pub fn try_disk(folder: &Path, limit: DiskLimit) -> Result<String, SandboxError> {
    fs::create_dir_all(folder).map_err(SandboxError::io("create", folder))?;
    let domain = Domain { disk: limit, ..Domain::default() };
    prove(&Groups::create(&format!("try-disk-{}", std::process::id()), &domain)?, folder, limit)
}

/// Whether a limit bites, by what came through with it and without, per second.
fn judge(expected: f64, free: f64, held: f64) -> Result<String, String> {
    if free < SLOWED * expected {
        return Err(format!(
            "this disk does {free:.0} direct reads per second without a limit, so a limit of {expected:.0} \
             would change nothing"
        ));
    }
    let words =
        format!("{held:.0} direct reads per second of written blocks, where {expected:.0} are allowed");
    super::judge(expected, held, BITES, words)
}

// What the disk of a private server gives at most: so many I/Os, or bytes, in a second.
//
// A control group of version 1 (blkio) or 2 (io) holds the server's I/Os back. That it does is proved before the first server runs
// under it, since it may do nothing at all: on a device that the kernel does not throttle, or where the disk is slower by itself.

/// Sets the limit for whoever is in these groups, on the disk that holds a folder; [`DiskLimit::default`] takes it away.
pub(in crate::sandbox) fn set(groups: &Groups, folder: &Path, limit: DiskLimit) -> Result<(), SandboxError> {
    let device = Device::of_path(folder).ok_or_else(|| SandboxError::Limit {
        what: Domain::from(limit).to_string(),
        reason: format!(
            "{} is not on a single disk (tmpfs, overlay and network file systems have none)",
            folder.display()
        ),
        hint: "name a folder on a disk by --home, or run without the limit",
    })?;
    let number = device.whole();
    let written = match (groups.of("io"), groups.of("blkio")) {
        (Some(group), _) => set_v2(group, number, limit),
        (None, Some(group)) => set_v1(group, number, limit),
        (None, None) => Err(io::Error::other("there is no control group for it")),
    };
    written.map_err(|error| SandboxError::limit_io(Domain::from(limit).to_string(), &error))
}

fn set_v2(group: &Path, (major, minor): (u32, u32), limit: DiskLimit) -> io::Result<()> {
    let word = |value: Option<u64>| value.map_or_else(|| "max".to_owned(), |value| value.to_string());
    let (iops, bytes) = (word(limit.iops), word(limit.bytes_per_s));
    fs::write(
        group.join("io.max"),
        format!("{major}:{minor} riops={iops} wiops={iops} rbps={bytes} wbps={bytes}"),
    )
}

fn set_v1(group: &Path, (major, minor): (u32, u32), limit: DiskLimit) -> io::Result<()> {
    for (what, value) in [("iops", limit.iops), ("bps", limit.bytes_per_s)] {
        for direction in ["read", "write"] {
            let file = group.join(format!("blkio.throttle.{direction}_{what}_device"));
            // Zero takes a limit away.
            fs::write(file, format!("{major}:{minor} {}", value.unwrap_or(0)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Cgroup;

    #[test]
    fn a_limit_that_lets_through_too_much_or_too_little_or_that_the_disk_does_not_reach_is_refused() {
        assert!(judge(300.0, 9_000.0, 308.0).is_ok() && judge(300.0, 9_000.0, 290.0).is_ok());
        for (free, held, words) in [
            (300_000.0, 297_000.0, "has no effect: 297000 direct reads"),
            (9_000.0, 100.0, "something else limits it"),
            (310.0, 300.0, "without a limit, so a limit of 300 would change nothing"),
        ] {
            let reason = judge(300.0, free, held).unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }

    #[test]
    fn written_blocks_are_read_directly_and_the_file_goes() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let proof = Proof::write(folder.path()).unwrap();
        assert_eq!(fs::metadata(&proof.path).unwrap().len(), FILE_BYTES);
        if let Err(error) = proof.rate(&Groups::default(), SMALL, 64.0) {
            // A file system without direct I/O.
            assert!(error.to_string().contains("Invalid argument"), "{error}");
        }
        let missing = Cgroup { controllers: Vec::new(), path: folder.path().join("none") };
        assert!(
            proof.rate(&Groups::adopt(vec![missing]), SMALL, 64.0).is_err(),
            "a reader outside of its group proves nothing"
        );
        let path = proof.path.clone();
        drop(proof);
        assert!(!path.exists());
    }

    #[test]
    fn the_smaller_of_both_limits_holds_for_an_io_of_a_size() {
        let limit = DiskLimit { iops: Some(300), bytes_per_s: Some(4 << 20) };
        assert_eq!(limit.expected(4 << 10), 300.0);
        assert_eq!(limit.expected(64 << 10), 64.0);
        assert_eq!(DiskLimit::default().expected(4096), f64::INFINITY);
        assert!(DiskLimit::default().is_none() && !limit.is_none());
    }

    #[test]
    fn each_version_of_control_groups_is_told_in_its_own_words() {
        let group = tempfile::tempdir().unwrap();
        let read = |file: &str| fs::read_to_string(group.path().join(file)).unwrap();
        let limit = DiskLimit { iops: Some(300), bytes_per_s: None };
        set_v2(group.path(), (254, 0), limit).unwrap();
        assert_eq!(read("io.max"), "254:0 riops=300 wiops=300 rbps=max wbps=max");
        set_v1(group.path(), (254, 0), limit).unwrap();
        assert_eq!(read("blkio.throttle.read_iops_device"), "254:0 300");
        assert_eq!(read("blkio.throttle.write_bps_device"), "254:0 0");
    }

    #[test]
    fn a_folder_in_memory_and_a_limit_without_a_group_are_refused() {
        let limit = DiskLimit { iops: Some(300), bytes_per_s: None };
        let refusal = set(&Groups::default(), Path::new("/proc"), limit).unwrap_err().to_string();
        assert!(refusal.starts_with("cannot set disk-iops=300: /proc is not on a single disk"), "{refusal}");
    }
}
