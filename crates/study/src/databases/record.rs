//! What is to be run: every way at each most window, on copies of disks that are made once.

use crate::harness::{Event, Factor, Notify, Part};
use crate::published::{At, Result, While, fill};
use crate::shares::words;
use evenkeel_core::share::experiment::Treatment;
use evenkeel_lab::data::dvdstore::{self, Size};
use evenkeel_os::tools;
use evenkeel_site::sandbox::{Sandbox, SandboxSpec};
use evenkeel_site::server::Target;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub const NAMES: [&str; 2] = ["a", "b"];
/// Shares of the hosts, in the order of [`NAMES`].
pub const SHARES: [f64; 2] = [1.0, 4.0];
/// Latency threshold in seconds.
pub const THRESHOLD_S: f64 = 0.015;

/// How it is made, beside rounds, most windows and ways, which are the plan's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Closed clients of each store, without think time.
    pub clients: u32,
    /// Load before measuring begins.
    pub warm_up_s: f64,
    /// Measured time of a run.
    pub duration_s: f64,
    pub size: String,
    pub period_s: f64,
}

impl Setting {
    /// The measured time, since the loads began.
    pub fn within(&self) -> (f64, f64) {
        (self.warm_up_s, self.warm_up_s + self.duration_s)
    }
}

// The pristine disks: a filled store's whole sandbox, and its redo logs, each as a file system in a file.
//
// They are made once, of a server on plain files that ended in order; every run works on copies.

/// Name of the sandbox on a data disk.
pub const SANDBOX: &str = "store";
/// What both servers have, the filling one and the measured.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_log_file_size", "48M"),
    // Nothing is cached beside the buffer pool, and nothing written twice: the disk is what is measured.
    ("innodb_doublewrite", "OFF"),
    ("innodb_read_io_threads", "16"),
];
/// Of the server that fills, so that it takes its time for rows alone.
const FILL: [(&str, &str); 2] =
    [("innodb_buffer_pool_size", "256M"), ("innodb_flush_log_at_trx_commit", "0")];
const ROWS: u64 = 1;
/// Room beyond twice what there is, for what runs add: sparse, so that it takes no space until then.
const ROOM: [u64; 2] = [256 << 20, 64 << 20];

/// Disks that nothing has run on: one file for the data, one for the redo logs.
pub struct Images([PathBuf; 2]);

impl Images {
    /// Fills a store, and makes the images in `folder`.
    pub fn make(at: &At<'_, Setting>, folder: &Path, tell: Notify<'_>) -> Result<Self> {
        let fill = folder.join("fill");
        let logs = fill.join("logs");
        fs::create_dir_all(&logs).doing(|| format!("making {}", logs.display()))?;
        let store = filled(at, &fill, tell)?;
        tell(Event::Step("making file systems of it".to_owned()));
        let images = Self(["data", "logs"].map(|name| folder.join(name)));
        for (place, contents) in [&store, &logs].into_iter().enumerate() {
            let bytes = (2 * size_of(contents)? + ROOM[place]).next_multiple_of(1 << 20);
            format(&images.0[place], bytes, contents)?;
        }
        fs::remove_dir_all(&fill).doing(|| format!("removing {}", fill.display()))?;
        Ok(images)
    }

    /// Copies one to `to`.
    pub fn copy(&self, place: usize, to: &Path) -> Result<()> {
        let arguments = [OsStr::new("--sparse=always"), self.0[place].as_os_str(), to.as_os_str()];
        tools::run("cp", &arguments).doing(|| format!("making {}", to.display())).map(drop)
    }
}

/// A sandbox of a store with its redo logs in `logs`.
pub fn spec(home: &Path, logs: &Path, more: &[(&str, &str)]) -> SandboxSpec {
    let settings = SETTINGS.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let logs = ("innodb_log_group_home_dir".to_owned(), logs.display().to_string());
    SandboxSpec { settings: settings.chain([logs]).collect(), ..SandboxSpec::new(home, SANDBOX) }
}

/// The folder of a filled store that has ended in order.
fn filled(at: &At<'_, Setting>, home: &Path, tell: Notify<'_>) -> Result<PathBuf> {
    tell(Event::Step(format!("filling a store of {}", at.setting.size)));
    let sandbox = Sandbox::up(&spec(home, &home.join("logs"), &FILL), at.workplace.stop, &mut |_| {})?;
    let target = Target { database: Some(dvdstore::NAME.to_owned()), ..sandbox.target() };
    let size: Size = at.setting.size.parse().doing(|| "reading the size of the plan")?;
    // Nothing is left for the first seconds of a run.
    fill(&at.workplace, &target, size, ROWS, tell)?.exec("SET GLOBAL innodb_fast_shutdown = 0")?;
    let folder = sandbox.dir().to_owned();
    sandbox.down(&mut |_| {})?;
    Ok(folder)
}

fn format(file: &Path, bytes: u64, contents: &Path) -> Result<()> {
    let made = File::create(file).and_then(|file| file.set_len(bytes));
    made.doing(|| format!("making {}", file.display()))?;
    // What the kernel would make later it would make while something is measured.
    let options = ["-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-d"];
    let mut arguments: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    arguments.extend([contents.as_os_str(), file.as_os_str()]);
    tools::run("mkfs.ext4", &arguments)
        .doing(|| format!("making a file system in {}", file.display()))
        .map(drop)
}

/// Bytes of all files below a folder.
fn size_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let reading = || format!("reading {}", folder.display());
    for entry in fs::read_dir(folder).doing(reading)? {
        let (entry, found) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))).doing(reading)?;
        bytes += if found.is_dir() { size_of(&entry)? } else { found.len() };
    }
    Ok(bytes)
}

/// Before the most window in the name of a part.
const MOST: &str = "most-";

/// A part for each most window.
pub fn parts(setting: &Setting, windows: &[u32], ways: &[Treatment], rounds: u32) -> Vec<Part> {
    let part = |most: &u32| {
        let (name, title) = (format!("{MOST}{most}"), format!("windows of at most {most}"));
        let ways = Factor::named("way", ways.iter().map(|way| (way.name(), words(*way))));
        let about = "The charts are of the first round of each way.";
        let marks = vec![(setting.warm_up_s, "measured".to_owned())];
        Part { marks, ..Part::new(&name, &title, about, vec![ways], rounds) }
    };
    windows.iter().map(part).collect()
}

/// The most window of a part; `None` of one that is not of this study.
pub fn most(part: &Part) -> Option<u32> {
    part.name.strip_prefix(MOST)?.parse().ok()
}
