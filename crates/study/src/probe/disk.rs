//! What a disk gives: fio reads and writes files of several sizes in records of several sizes.

use super::place::{Place, ProbeFile};
use crate::published::{PublishedError, Result, While};
use evenkeel_os::Stop;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::process::Command;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    #[default]
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

/// The cells of a surface: each file size with each record size that it has room for, each access, each way.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPlan {
    pub file_bytes: Vec<u64>,
    pub record_bytes: Vec<u64>,
    pub accesses: Vec<Access>,
    /// Around the page cache (`true`), through it (`false`). What is written through it is brought to the disk after the cell.
    pub direct: Vec<bool>,
    /// Time of a cell.
    pub time: Duration,
    pub seed: u64,
}

/// One I/O at a time, as a thread of a database waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub access: Access,
    pub direct: bool,
    pub file_bytes: u64,
    pub record_bytes: u64,
    /// 1,000,000 bytes per second.
    pub mb_per_s: f64,
    pub ios_per_s: f64,
    /// How long it took.
    pub seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    pub cells: Vec<Cell>,
    /// Written before the cells, so that each file was on the disk when it was read.
    pub laid_out_bytes: u64,
}

/// Longest time to write a file, and to start and end fio beside the time of a cell.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1200);
const AROUND: Duration = Duration::from_secs(120);

/// Measures each cell once, in order of the plan. What was written stays in the page cache for what reads through that.
///
/// # Errors
/// fio is not installed, or failed: no room, or a file system without direct I/O.
pub fn surface(place: &Place, plan: &DiskPlan, stop: &Stop) -> Result<Option<Surface>> {
    let mut surface = Surface::default();
    for &file_bytes in &plan.file_bytes {
        let file = place.file("disk.probe");
        if fio(place, &file, file_bytes, &laid_out(plan), WRITTEN_WITHIN, stop)?.is_none() {
            return Ok(None);
        }
        surface.laid_out_bytes += file_bytes;
        for (record_bytes, access, direct) in cells(plan, file_bytes) {
            let words = words(plan, record_bytes, access, direct);
            let Some(job) = fio(place, &file, file_bytes, &words, plan.time + AROUND, stop)? else {
                return Ok(None);
            };
            let cell =
                read(&job, access).ok_or_else(|| PublishedError::wrong("fio says nothing of its I/Os"))?;
            surface.cells.push(Cell { direct, file_bytes, record_bytes, ..cell });
            if !access.reads() && !direct {
                let written = File::open(file.path()).and_then(|file| file.sync_data());
                written.doing(|| format!("bringing {} to the disk", file.path().display()))?;
            }
        }
    }
    Ok(Some(surface))
}

/// Record, access and way of each cell of a file.
fn cells(plan: &DiskPlan, file_bytes: u64) -> Vec<(u64, Access, bool)> {
    let mut cells = Vec::new();
    for &record_bytes in plan.record_bytes.iter().filter(|bytes| **bytes <= file_bytes) {
        for &access in &plan.accesses {
            cells.extend(plan.direct.iter().map(|direct| (record_bytes, access, *direct)));
        }
    }
    cells
}

/// Random bytes, since a disk may pack what is alike.
fn laid_out(plan: &DiskPlan) -> Vec<String> {
    let words = ["--rw=write", "--bs=64k", "--fallocate=none", "--refill_buffers=1", "--end_fsync=1"];
    words.map(str::to_owned).into_iter().chain([format!("--randseed={}", plan.seed)]).collect()
}

fn words(plan: &DiskPlan, record_bytes: u64, access: Access, direct: bool) -> Vec<String> {
    let mut words =
        vec!["--invalidate=0".to_owned(), "--norandommap=1".to_owned(), "--time_based=1".to_owned()];
    words.push(format!("--runtime={}ms", plan.time.as_millis()));
    words.extend([format!("--rw={}", access.word()), format!("--bs={record_bytes}")]);
    words.extend([format!("--direct={}", u8::from(direct)), format!("--randseed={}", plan.seed)]);
    words
}

/// Runs fio on a file; what it says of its job.
fn fio(
    place: &Place,
    file: &ProbeFile,
    bytes: u64,
    words: &[String],
    patience: Duration,
    stop: &Stop,
) -> Result<Option<Value>> {
    let mut fio = Command::new("fio");
    fio.args(["--name=probe", "--ioengine=psync", "--thread=1", "--output-format=json"]);
    fio.arg(format!("--filename={}", file.path().display())).arg(format!("--size={bytes}")).args(words);
    let Some(said) = place.run(fio.current_dir(&place.folder), patience, stop)? else { return Ok(None) };
    // Notes may come first.
    let from = said.find('{').unwrap_or_default();
    Ok(Some(serde_json::from_str::<Value>(&said[from..])?["jobs"][0].take()))
}

fn read(job: &Value, access: Access) -> Option<Cell> {
    let side = &job[if access.reads() { "read" } else { "write" }];
    let runtime_ms = side["runtime"].as_f64().filter(|ms| *ms > 0.0)?;
    Some(Cell {
        access,
        mb_per_s: side["bw_bytes"].as_f64()? / 1e6,
        ios_per_s: side["iops"].as_f64()?,
        seconds: runtime_ms / 1e3,
        ..Cell::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_that_fits_is_measured_by_each_access_and_way() {
        let plan = DiskPlan {
            file_bytes: vec![1 << 16],
            record_bytes: vec![1 << 12, 1 << 20],
            accesses: vec![Access::RandomRead, Access::SequentialWrite],
            direct: vec![false, true],
            time: Duration::from_secs(1),
            seed: 1,
        };
        let cells = cells(&plan, 1 << 16);
        assert_eq!(cells.len(), 4);
        assert!(cells.iter().all(|(record, ..)| *record == 1 << 12), "{cells:?}");
    }

    #[test]
    fn a_file_through_the_page_cache_gives_figures_and_goes() {
        if !evenkeel_os::tools::is_there("fio") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let plan = DiskPlan {
            file_bytes: vec![1 << 20],
            record_bytes: vec![4096],
            accesses: vec![Access::RandomRead, Access::SequentialWrite],
            direct: vec![false],
            time: Duration::from_millis(200),
            seed: 1,
        };
        let surface = surface(&Place::host(folder.path()), &plan, &Stop::default()).unwrap().unwrap();
        assert_eq!((surface.cells.len(), surface.laid_out_bytes), (2, 1 << 20));
        for cell in surface.cells {
            let by_count = cell.ios_per_s * 4096.0 / 1e6;
            assert!((cell.mb_per_s / by_count - 1.0).abs() < 0.01, "{cell:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
