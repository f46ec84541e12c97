//! What the study is made by: the size of a guest, and its parts.

use crate::harness::{Factor, Part};
use crate::published::{MachineRecord, Number, Numbers};
use evenkeel_sense::cpu::CpuSet;
use evenkeel_site::sandbox::{Domain, FileDisk, FileSystem, Net};
use serde::{Deserialize, Serialize};

pub const LOAD: &str = "load";
pub const SELECT: &str = "select";
pub const BESIDE: &str = "beside";
pub const STARVE: &str = "starve";
pub const CPUS: &str = "cpus";
pub const NET: &str = "network";
pub const DISK: &str = "disk";
pub const FLUSH: &str = "flush";

/// 100 Mbit/s, as the published client machine had.
pub const LINE_BYTES_PER_S: u64 = 12_500_000;
/// Files in MiB and records in KiB.
pub const FILES: [u32; 5] = [1, 8, 32, 128, 512];
pub const RECORDS: [u32; 3] = [4, 64, 1024];

/// The places of servers, in the order of all lists.
pub const PLACES: [&str; 3] = ["host", "a", "b"];
/// Rows of a run, which is what one LOAD DATA sends.
pub const BLOCK_ROWS: u64 = 10_000;
/// What a row takes on disk, with its indexes.
const ROW_BYTES: u64 = 300;
/// Memory of the published host as a multiple of a guest's: 512 MB to 145 MB.
const HOST_PART: f64 = 512.0 / 145.0;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Memory of a guest in bytes.
    pub memory: u64,
    /// Data of each server as a multiple of a guest's memory.
    pub data: f64,
    /// How long a pair, a point of a surface or a starving guest is watched.
    pub seconds: f64,
    pub place: MachineRecord,
}

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![
            Number::new("memory", self.memory as f64, 64e6, 1e12),
            Number::new("data", self.data, 0.1, 1e3),
            Number::measured_s("seconds", self.seconds),
        ]
    }
}

impl Setting {
    pub fn rows(&self) -> u64 {
        (self.data * self.memory as f64 / ROW_BYTES as f64) as u64 / BLOCK_ROWS * BLOCK_ROWS
    }

    /// Where the server of a place runs. All share the first CPU, as the published ones did.
    pub fn domain(&self, place: usize) -> Domain {
        let cpus: Option<CpuSet> = "0".parse().ok();
        if place == 0 {
            let memory = (HOST_PART * self.memory as f64) as u64 >> 20 << 20;
            return Domain { cpus, memory: Some(memory), ..Domain::default() };
        }
        let bytes = ((self.data + 8.0) * self.memory as f64) as u64 + (1 << 30);
        let file_disk = Some(FileDisk { bytes: bytes >> 20 << 20, file_system: FileSystem::Ext4 });
        let (memory, net) = (Some(self.memory), Some(Net::default()));
        // Its own group, as a guest is one to its hypervisor.
        Domain { cpus, weight: Some(100), memory, file_disk, net, ..Domain::default() }
    }
}

const SHORT_REPEATS: u32 = 3;

/// The places that work at a level of the factor `where`.
pub fn at_work(level: &str) -> &'static [usize] {
    match level {
        "host" => &[0],
        "one" => &[1],
        _ => &[1, 2],
    }
}

/// Server and client of each pair that sends at once. Data go to the server.
pub fn pairs_of(level: &str) -> &'static [[&'static str; 2]] {
    PAIRS.iter().find(|(name, ..)| *name == level).map_or(&[], |(_, _, pairs)| pairs)
}

type PairRow = (&'static str, &'static str, &'static [[&'static str; 2]]);

/// Rows of Table 1; server first.
const PAIRS: [PairRow; 9] = [
    ("guest-client", "guest from client machine", &[["a", "client"]]),
    ("client-guest", "client machine from guest", &[["client", "a"]]),
    ("client-host", "client machine from host", &[["client", "host"]]),
    ("host-client", "host from client machine", &[["host", "client"]]),
    ("guest-guest", "guest from guest", &[["a", "b"]]),
    ("guest-host", "guest from host", &[["a", "host"]]),
    ("two-guests", "two guests at once", &[["a", "client"], ["b", "client"]]),
    ("host-guest", "host and guest", &[["host", "client"], ["a", "client"]]),
    ("host-two-guests", "host and two guests", &[["host", "client"], ["a", "client"], ["b", "client"]]),
];

pub const WHERES: [(&str, &str); 3] =
    [("host", "the host"), ("one", "one guest"), ("two", "two guests at once, each")];

fn wheres(count: usize) -> Factor {
    Factor::named("where", WHERES.into_iter().take(count))
}

/// All parts; `full` ones too.
pub fn parts(repeats: u32, is_full: bool) -> Vec<Part> {
    let jobs = [("read", "the read alone"), ("write", "the write alone"), ("both", "beside each other")];
    let spins = [
        ("idle", "an idle host"),
        ("one", "one process spins"),
        ("eight", "eight spin"),
        ("first", "one spins before all others"),
    ];
    let all = [
        (LOAD, "bulk load (Table 2)", "LOAD DATA of the whole table.", wheres(WHERES.len())),
        (SELECT, "complex selects (Table 3)", "Five selects of the whole table.", wheres(WHERES.len())),
        (
            BESIDE,
            "read beside write (Table 4)",
            "The selects in guest a, a load in guest b. Whoever is done first goes on until the other one is done too.",
            Factor::named("jobs", jobs),
        ),
        (
            STARVE,
            "a host that starves its guests",
            "Both guests query rows in memory while processes of the host spin on their CPU.",
            Factor::named("host", spins),
        ),
        (
            CPUS,
            "several CPUs (a wish of the published study)",
            "The selects in two guests at once, which share one CPU or two.",
            Factor::numeric("cpus", [1, 2]),
        ),
    ];
    let part = |(name, title, about, factor): (&str, &str, &str, Factor)| {
        Part::new(name, title, about, vec![factor], repeats)
    };
    let around = around(repeats).into_iter();
    let mut all: Vec<Part> =
        around.chain(all.map(part)).filter(|part| is_full || part.name != CPUS).collect();
    // What takes seconds is repeated in a short study too.
    for part in all.iter_mut().filter(|part| [NET, FLUSH, STARVE].contains(&part.name.as_str())) {
        part.repeats = repeats.max(SHORT_REPEATS);
    }
    all
}

/// What the places give without any database.
fn around(repeats: u32) -> [Part; 3] {
    let pairs = Factor::named("pair", PAIRS.iter().map(|(name, words, _)| (*name, *words)));
    let sizes = [Factor::numeric("record", RECORDS), Factor::numeric("file", FILES)];
    let net = "One TCP connection for each pair, all at once; the server is named first. The client machine has a line of 100 Mbit/s.";
    let disk = "A file (MiB) in records (KiB), one I/O at a time, through the page cache.";
    [
        Part::new(NET, "network (Table 1)", net, vec![pairs], repeats),
        Part::new(
            DISK,
            "disk (Figures 1 to 6)",
            disk,
            [wheres(WHERES.len())].into_iter().chain(sizes).collect(),
            repeats,
        ),
        Part::new(
            FLUSH,
            "flushes",
            "Appends of 512 bytes, each brought to the disk.",
            vec![wheres(2)],
            repeats,
        ),
    ]
}
