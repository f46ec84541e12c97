//! What the study is made by: the size of a guest, and its parts.

use crate::harness::{Factor, Part};
use crate::published::MachineRecord;
use evenkeel_site::sandbox::{Domain, FileDisk, FileSystem, Net};
use serde::{Deserialize, Serialize};

pub const LOAD: &str = "load";
pub const SELECT: &str = "select";
pub const BESIDE: &str = "beside";
pub const STARVE: &str = "starve";
pub const NET: &str = "network";
pub const DISK: &str = "disk";
pub const FLUSH: &str = "flush";
pub const MACHINE: &str = "machine";

/// 100 Mbit/s, as the published client machine had.
pub const LINE_BYTES_PER_S: u64 = 12_500_000;
/// Files in MiB and records in KiB.
pub const FILES: [u32; 5] = [1, 8, 32, 128, 512];
const RECORDS: [u32; 3] = [4, 64, 1024];

/// The places of servers, in the order of all lists.
pub const PLACES: [&str; 3] = ["host", "a", "b"];
/// Rows of a run, which is what one LOAD DATA sends.
pub const BLOCK_ROWS: u64 = 10_000;
/// Of the rows, which part the load beside the selects has.
pub const SECOND_PART: u64 = 5;
/// What a row takes on disk, with its indexes.
const ROW_BYTES: u64 = 300;
/// Memory of the published host as a multiple of a guest's: 512 MB to 145 MB.
const HOST_PART: f64 = 512.0 / 145.0;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Setting {
    /// Memory of a guest in bytes.
    pub memory: u64,
    /// Data of each server as a multiple of a guest's memory.
    pub data: f64,
    /// Length of each network, disk and busy-host measurement.
    pub seconds: f64,
    pub place: MachineRecord,
}

impl Setting {
    /// One of so many parts of all rows.
    pub fn rows(&self, parts: u64) -> u64 {
        ((self.data * self.memory as f64) as u64 / ROW_BYTES / parts / BLOCK_ROWS).max(1) * BLOCK_ROWS
    }

    /// Where the server of a place runs. All share the first CPU, as the published ones did.
    pub fn domain(&self, place: usize) -> Domain {
        let whole = |bytes: f64| bytes as u64 >> 20 << 20;
        let (memory, cpus) = (self.memory as f64, "0".parse().ok());
        if place == 0 {
            return Domain { cpus, memory: Some(whole(HOST_PART * memory)), ..Domain::default() };
        }
        let disk = FileDisk { bytes: whole((self.data + 8.0) * memory + 1e9), file_system: FileSystem::Ext4 };
        // With a weight it has a group of its own. To the host's processes both guests are one group, that of all sandboxes.
        let (weight, net) = (Some(100), Some(Net::default()));
        Domain { cpus, weight, memory: Some(self.memory), file_disk: Some(disk), net, ..Domain::default() }
    }
}

/// Seconds for a row: of its load on the host, in one guest and in each of two, and of the selects; and what a load takes more where the
/// page of its index has to come from the disk.
const LOADED_S: [f64; 3] = [20e-6, 23e-6, 39e-6];
const READ_S: [f64; 3] = [7e-6, 9e-6, 13e-6];
const FETCHED_S: f64 = 180e-6;
/// With so many times a guest's memory of data its buffer pool holds the index.
const DATA_FITS: f64 = 2.0;

impl Setting {
    pub fn takes_s(&self, part: &Part, levels: &[String]) -> f64 {
        let level = levels.first().map_or("", String::as_str);
        let place = ["host", "one"].iter().position(|known| *known == level).unwrap_or(2);
        let misses = if place > 0 { (1.0 - DATA_FITS / self.data).max(0.0) } else { 0.0 };
        let rows = self.rows(1) as f64;
        let load = rows * (LOADED_S[place] + misses * FETCHED_S);
        match part.name.as_str() {
            LOAD => load,
            SELECT => rows * READ_S[place],
            BESIDE => rows * READ_S[place] + load / SECOND_PART as f64,
            MACHINE => 3.5 * self.seconds.ceil(),
            NET => self.seconds.max(2.0) + 1.0,
            DISK => 2.0 * self.seconds + 1.5,
            _ => self.seconds + 1.5,
        }
    }
}

/// The places that work at a level of the factor `where`.
pub fn at_work(level: &str) -> &'static [usize] {
    match level {
        "host" => &[0],
        "one" => &[1],
        _ => &[1, 2],
    }
}

type Pair = [&'static str; 2];

/// Table 1: server and client of pairs that send at once, data go to the server; the Mbit/s that were published.
pub const PAIRS: [(&str, &[Pair], f64); 9] = [
    ("guest-client", &[["a", "client"]], 94.0),
    ("client-guest", &[["client", "a"]], 94.1),
    ("client-host", &[["client", "host"]], 94.1),
    ("host-client", &[["host", "client"]], 94.2),
    ("guest-guest", &[["a", "b"]], 135.0),
    ("guest-host", &[["a", "host"]], 230.0),
    ("two-guests", &[["a", "client"], ["b", "client"]], 94.0),
    ("host-guest", &[["host", "client"], ["a", "client"]], 93.8),
    ("host-two-guests", &[["host", "client"], ["a", "client"], ["b", "client"]], 94.2),
];

/// The factor of the last part.
const BUSY: &str = "busy host processes";

const ABOUT_NET: &str = "A TCP connection for each pair, all at once; the server is named first. The client machine has a line of 100 Mbit/s.";
const ABOUT_MACHINE: &str = "A thread computes, copies, and reads in random order 16 KiB (a cache) and 16 MiB (memory, or the last cache); what each server has of memory, and the kernel for its domain.";
const ABOUT_DISK: &str =
    "A file (MiB) in records (KiB), one I/O at a time, through the page cache; two guests: the mean of both.";
const ABOUT_BESIDE: &str =
    "The selects in a, a load in b. Whoever is done first goes on until the other one is done too.";
const ABOUT_STARVE: &str = "Both guests query rows in memory while 0, 1 or 8 processes of the host compute on their CPU, or one of the highest priority.";

pub fn parts(repeats: u32) -> Vec<Part> {
    let of = |name, levels: &[&str]| Factor::named(name, levels.iter().map(|level| (*level, "")));
    let wheres = || of("where", &["host", "one", "two"]);
    let [record, file] = [Factor::numeric("record", RECORDS), Factor::numeric("file", FILES)];
    // What takes seconds is repeated in a short study too.
    let often = repeats.max(3);
    let (load, select) = ("LOAD DATA of the whole table.", "Five selects of the whole table.");
    let [pair, to] = [of("pair", &PAIRS.map(|(name, ..)| name)), of("where", &["host", "one"])];
    let jobs = of("jobs", &["read", "write", "both"]);
    let busy = of(BUSY, &["0", "1", "8", "top-priority"]);
    vec![
        Part::new(MACHINE, "CPU, memory and cache", ABOUT_MACHINE, vec![wheres()], repeats),
        Part::new(NET, "network (Table 1)", ABOUT_NET, vec![pair], often),
        Part::new(DISK, "disk (Figures 1 to 6)", ABOUT_DISK, vec![wheres(), record, file], repeats),
        Part::new(FLUSH, "flushes", "Appends of 512 bytes, each flushed.", vec![to], often),
        Part::new(LOAD, "bulk load (Table 2)", load, vec![wheres()], repeats),
        Part::new(SELECT, "complex selects (Table 3)", select, vec![wheres()], repeats),
        Part::new(BESIDE, "read beside write (Table 4)", ABOUT_BESIDE, vec![jobs], repeats),
        Part::new(STARVE, "a host that starves its guests", ABOUT_STARVE, vec![busy], often),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data: f64) -> Setting {
        Setting { memory: 128 << 20, data, seconds: 1.0, ..Default::default() }
    }

    #[test]
    fn a_guest_has_a_disk_with_room_for_its_data_and_the_host_the_published_part_of_memory() {
        let setting = of(5.0);
        assert_eq!(setting.domain(0).to_string(), "cpus=0,memory=451M");
        let guest = setting.domain(1);
        assert_eq!(
            (guest.memory, guest.net.is_some(), guest.cpus == setting.domain(0).cpus),
            (Some(128 << 20), true, true)
        );
        assert!(guest.file_disk.unwrap().bytes as f64 > 2.0 * setting.data * setting.memory as f64);
        let rows = setting.rows(1);
        assert!(
            rows.is_multiple_of(BLOCK_ROWS) && (rows * ROW_BYTES) as f64 > 0.98 * 5.0 * (128 << 20) as f64
        );
    }

    #[test]
    fn each_pair_of_table_1_is_of_places_that_there_are() {
        let known = |name: &&str| PLACES.contains(name) || *name == "client";
        assert!(PAIRS.iter().flat_map(|(_, pairs, _)| pairs.iter().flatten()).all(known));
        assert!(parts(1).iter().all(|part| part.is_named_well()));
    }
}
