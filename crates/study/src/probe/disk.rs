//! What a disk gives: fio reads, writes and flushes files.

use super::place::{Place, ProbeFile};
use crate::published::{PublishedError, Result, While};
use evenkeel_os::Stop;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::process::Command;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    RandomRead,
    RandomWrite,
    SequentialRead,
    SequentialWrite,
}

impl Access {
    pub fn reads(self) -> bool {
        matches!(self, Self::RandomRead | Self::SequentialRead)
    }

    /// What fio calls it.
    fn word(self) -> &'static str {
        match self {
            Self::RandomRead => "randread",
            Self::RandomWrite => "randwrite",
            Self::SequentialRead => "read",
            Self::SequentialWrite => "write",
        }
    }
}

/// What one I/O at a time gives, as a thread of a database waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// 1,000,000 bytes per second.
    pub mb_per_s: f64,
    pub ios_per_s: f64,
    /// How long it took.
    pub seconds: f64,
}

/// Longest time to write a file, and to start and end fio beside the time of a cell.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1200);
const AROUND: Duration = Duration::from_secs(120);
/// Random bytes, since a disk may pack what is alike.
const LAID_OUT: &str = "--rw=write --bs=64k --fallocate=none --refill_buffers=1 --end_fsync=1";
/// More than a disk takes in appends while it is watched.
const FLUSHED_BYTES: u64 = 64 << 20;

/// Writes a file, and does each access once, in records of this size, around the page cache or through it. What was written stays in the
/// page cache for what reads through that.
/// Errors: fio is not installed, or failed: no room, or a file system without direct I/O.
pub fn disk(
    place: &Place,
    [file_bytes, record_bytes]: [u64; 2],
    accesses: &[Access],
    direct: bool,
    time: Duration,
    stop: &Stop,
) -> Result<Option<Vec<Speed>>> {
    let file = place.file("disk.probe");
    if fio(place, &file, file_bytes, LAID_OUT, WRITTEN_WITHIN, stop)?.is_none() {
        return Ok(None);
    }
    let (mut speeds, millis) = (Vec::new(), time.as_millis());
    for access in accesses {
        let (rw, direct_word) = (access.word(), u8::from(direct));
        let words = format!(
            "--invalidate=0 --norandommap=1 --time_based=1 --runtime={millis}ms --rw={rw} --bs={record_bytes} --direct={direct_word}"
        );
        let Some(job) = fio(place, &file, file_bytes, &words, time + AROUND, stop)? else { return Ok(None) };
        let side = &job[if access.reads() { "read" } else { "write" }];
        speeds.push(speed(side).ok_or_else(|| PublishedError::wrong("fio says nothing of its I/Os"))?);
        if !access.reads() && !direct {
            let written = File::open(file.path()).and_then(|file| file.sync_data());
            written.doing(|| format!("bringing {} to the disk", file.path().display()))?;
        }
    }
    Ok(Some(speeds))
}

/// How long it takes until a small append, as a log has them, is on the disk: the median in milliseconds.
/// Errors: fio is not installed, or the file cannot be written.
pub fn flush(place: &Place, time: Duration, stop: &Stop) -> Result<Option<f64>> {
    let millis = time.as_millis();
    let words =
        format!("--rw=write --bs=512 --fallocate=none --fdatasync=1 --time_based=1 --runtime={millis}ms");
    let job = fio(place, &place.file("flush.probe"), FLUSHED_BYTES, &words, time + AROUND, stop)?;
    let median_ns = |job: Value| job["sync"]["lat_ns"]["percentile"]["50.000000"].as_f64();
    let ms = |job| Some(median_ns(job)? / 1e6);
    job.map(|job| ms(job).ok_or_else(|| PublishedError::wrong("fio says nothing of its flushes"))).transpose()
}

/// Runs fio on a file; what it says of its job.
fn fio(
    place: &Place,
    file: &ProbeFile,
    bytes: u64,
    words: &str,
    patience: Duration,
    stop: &Stop,
) -> Result<Option<Value>> {
    let mut fio = Command::new("fio");
    fio.args(["--name=probe", "--ioengine=psync", "--thread=1", "--output-format=json"]);
    fio.arg(format!("--filename={}", file.path().display())).arg(format!("--size={bytes}"));
    let words = words.split(' ');
    let Some(said) = place.run(fio.args(words).current_dir(&place.folder), patience, stop)? else {
        return Ok(None);
    };
    // Notes may come first.
    let from = said.find('{').unwrap_or_default();
    Ok(Some(serde_json::from_str::<Value>(&said[from..])?["jobs"][0].take()))
}

fn speed(side: &Value) -> Option<Speed> {
    let runtime_ms = side["runtime"].as_f64().filter(|ms| *ms > 0.0)?;
    let (bytes_per_s, ios_per_s) = (side["bw_bytes"].as_f64()?, side["iops"].as_f64()?);
    Some(Speed { mb_per_s: bytes_per_s / 1e6, ios_per_s, seconds: runtime_ms / 1e3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_through_the_page_cache_and_flushes_give_figures_and_the_files_go() {
        if !evenkeel_os::tools::is_there("fio") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (place, time) = (Place::host(folder.path()), Duration::from_millis(200));
        let accesses = [Access::RandomRead, Access::SequentialWrite];
        let found = disk(&place, [1 << 20, 4096], &accesses, false, time, &Stop::default()).unwrap().unwrap();
        assert_eq!(found.len(), 2);
        for speed in found {
            assert!((speed.mb_per_s / (speed.ios_per_s * 4096.0 / 1e6) - 1.0).abs() < 0.01, "{speed:?}");
        }
        assert!(flush(&place, time, &Stop::default()).unwrap().is_some_and(|ms| ms > 0.0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
