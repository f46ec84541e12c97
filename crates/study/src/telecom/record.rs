//! What the study needs to know beside parts and repeats, as it stands in its plan; and the ways of the published study.

use crate::format::count;
use crate::harness::{Factor, Part};
use crate::published::MachineRecord;
use evenkeel_haul::table::Engine;
use serde::{Deserialize, Serialize};

/// Records that the published study had a day: 210 million in three days.
pub const PUBLISHED_RECORDS: u64 = 70_000_000;
/// A row with its indexes takes about so many bytes.
const ROW_BYTES: u64 = 300;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Of a day.
    pub records: u64,
    pub days: u32,
    /// Of records and statements.
    pub seed: u64,
    /// Buffer pool and key buffer of a server that is tuned, MiB.
    pub pool_mib: u64,
    /// Where all this ran.
    pub place: MachineRecord,
}

impl Setting {
    /// On this machine. The pool holds a day with its indexes, as that of the published study about did, between 64 MiB and a
    /// quarter of the memory.
    pub fn here((records, days): (u64, u32), seed: u64, memory_bytes: Option<u64>) -> Self {
        let most = memory_bytes.map_or(1 << 30, |memory| memory / 4) >> 20;
        let pool_mib = ((records * ROW_BYTES) >> 20).min(most).max(64);
        Self { records, days, seed, pool_mib, place: MachineRecord::here(None) }
    }

    /// Records of all days.
    pub fn all(&self) -> u64 {
        self.records.saturating_mul(self.days.into())
    }

    /// Bytes of disk that the study needs at most: the files of all days, their lines, and a source beside the day tables.
    pub fn disk_bytes(&self) -> u64 {
        self.all().saturating_mul(200 + 170 + 3 * ROW_BYTES) + (1 << 30)
    }

    /// Settings of the server: those of MySQL 5.1 without a configuration, or tuned for loads. Which ones the published study changed
    /// is not told in it; these are the usual ones of its time that servers still have.
    pub fn server(&self, is_tuned: bool) -> [(String, String); 9] {
        let pool: &str = &format!("{}M", self.pool_mib);
        [
            ("innodb_buffer_pool_size", "8M", pool),
            ("innodb_log_file_size", "8M", "256M"),
            ("innodb_log_buffer_size", "2M", "16M"),
            ("innodb_flush_log_at_trx_commit", "1", "2"),
            ("innodb_doublewrite", "ON", "OFF"),
            ("innodb_sort_buffer_size", "1M", "16M"),
            ("key_buffer_size", "8M", pool),
            ("bulk_insert_buffer_size", "8M", "64M"),
            ("myisam_sort_buffer_size", "8M", "128M"),
        ]
        .map(|(name, untuned, tuned)| (name.to_owned(), if is_tuned { tuned } else { untuned }.to_owned()))
    }
}

/// How records are stored.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub name: &'static str,
    pub words: &'static str,
    pub engine: Engine,
    pub is_tuned: bool,
}

pub const WAYS: [Way; 4] = [
    Way { name: "untuned", words: "InnoDB untuned", engine: Engine::InnoDb, is_tuned: false },
    TUNED,
    MYISAM,
    Way { name: "aria", words: "Aria", engine: Engine::Aria, is_tuned: true },
];
pub const TUNED: Way = Way { name: "tuned", words: "InnoDB tuned", engine: Engine::InnoDb, is_tuned: true };
pub const MYISAM: Way = Way { name: "myisam", words: "MyISAM", engine: Engine::MyIsam, is_tuned: true };

/// Names of the parts, in their order.
pub const EXPORT: &str = "export";
pub const LOAD: &str = "load";
/// A server that is killed in the middle of a load.
pub const CRASH: &str = "crash";
/// From one table to a table for each day.
pub const DISPATCH: &str = "dispatch";
pub const DAYS: &str = "days";
/// A log that clients send, each the whole of it.
pub const REPLAY: &str = "replay";
/// Large and small statements side by side.
pub const MIXED: &str = "mixed";
/// The log, while the server is watched or not.
pub const WATCHED: &str = "watched";
/// Large and small statements, while temporary files lie with the data or on a disk of their own.
pub const CHANNELS: &str = "channels";
pub const WITH_DATA: &str = "with-data";
pub const APART: &str = "apart";
/// In the order of the log.
pub const LOGGED: &str = "logged";
/// With large results as far apart as can be.
pub const SPREAD: &str = "spread";

/// MB per second that the disk of the data gives in the part `channels`, and its size in GB.
const CHANNEL: (u64, u64) = (20, 4);

/// Where the server of that part runs: its data on a disk of their own with a limit, and memory that leaves no room for temporary files.
pub fn channel_domain(setting: &Setting) -> String {
    let (rate, size) = CHANNEL;
    format!("file-disk={size}G,disk-rate={rate}M,memory={}M", setting.pool_mib + 320)
}

/// Those in which clients send a log.
fn replays(repeats: u32) -> [Part; 4] {
    let part = |(name, title), about, factors| Part::new(name, title, about, factors, repeats);
    [
        part(
            (REPLAY, "a log, replayed"),
            "5,112 statements, 63 of them with large results; each client sends them all, one after the other.".to_owned(),
            vec![
                Factor::named("clients", [("1", "1 client"), ("4", "4 clients"), ("8", "8 clients"), ("12", "12 clients")]),
                Factor::named("order", [(LOGGED, "as logged"), (SPREAD, "large results apart")]),
            ],
        ),
        part(
            (MIXED, "large and small statements side by side"),
            "Half of the clients send 100 statements with large results, the others 100 with small ones.".to_owned(),
            vec![Factor::named("clients", [("12", "12 clients"), ("20", "20 clients"), ("28", "28 clients")])],
        ),
        part(
            (WATCHED, "what watching costs"),
            "The log, sent by eight clients, while nobody or Evenkeel watches the server, as in a profile.".to_owned(),
            vec![Factor::named("watch", [("alone", "nobody watches"), (WATCHED, "watched")])],
        ),
        part(
            (CHANNELS, "one storage channel, or two"),
            "Mixed statements by 28 clients at a server whose disk is limited; with temporary files there, or on the machine's own disk.".to_owned(),
            vec![Factor::named("tmpdir", [(WITH_DATA, "tmpdir with the data"), (APART, "tmpdir on a disk of its own")])],
        ),
    ]
}

/// All of them; each of its combinations is measured so often.
pub fn parts(setting: &Setting, repeats: u32) -> Vec<Part> {
    let (records, days) = (count(setting.records), setting.days);
    let part = |(name, title), about, factors| Part::new(name, title, about, factors, repeats);
    let ways = |of: &[Way]| Factor::named("way", of.iter().map(|way| (way.name, way.words)));
    let sources = [
        ("widths", "separators added, by a file between"),
        ("direct", "separators added on the way into the table"),
        ("delimited", "separators from the source"),
    ];
    vec![
        part(
            (EXPORT, "export of one day"),
            format!("{records} rows of InnoDB as delimited files, by one connection."),
            vec![Factor::named("connections", [("one", "one connection")])],
        ),
        part(
            (LOAD, "load of one day"),
            format!(
                "{records} records of fixed width; a primary key and three indexes, made before or after."
            ),
            vec![
                ways(&WAYS),
                Factor::named("indexes", [("before", "indexes before"), ("after", "indexes after")]),
            ],
        ),
        part(
            (CRASH, "a server that is killed in the middle of a load"),
            "With half of a day in, it is killed (SIGKILL) and started again; the load goes on.".to_owned(),
            vec![ways(&[TUNED, MYISAM])],
        ),
        part(
            (DISPATCH, "from one table to a table for each day"),
            format!("{} rows of {days} days, InnoDB tuned.", count(setting.all())),
            vec![Factor::named("way", [("procedure", "stored procedure"), ("insert", "INSERT ... SELECT")])],
        ),
        part(
            (DAYS, "the chain, day by day"),
            format!("{days} days of {records} records, InnoDB tuned: convert, load, dispatch, audit."),
            vec![Factor::named("source", sources)],
        ),
    ]
    .into_iter()
    .chain(replays(repeats))
    .collect()
}
