//! What the study needs to know beside parts and repeats, as it stands in its plan; and the ways of the published study.

pub use crate::published::MachineRecord;
use crate::published::{Number, Numbers};
use evenkeel_haul::table::Engine;
use serde::{Deserialize, Serialize};

/// Records that the published study had a day: 210 million in three days.
pub const PUBLISHED_RECORDS: u64 = 70_000_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub records: u64,
    pub days: u32,
    /// Buffer pool and key buffer of a server that is tuned, MiB.
    pub pool_mib: u64,
    /// Where all this ran.
    pub place: MachineRecord,
}

/// A row with its indexes takes about so many bytes.
const ROW_BYTES: u64 = 300;

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![
            Number::new("records", self.records as f64, 1.0, 1e10),
            Number::new("days", self.days.into(), 1.0, 10_000.0),
            Number::new("pool_mib", self.pool_mib as f64, 1.0, 1e9),
        ]
    }
}

impl Setting {
    /// The pool that holds a day with its indexes, as that of the published study about did, between 64 MiB and a quarter of the
    /// machine's memory.
    pub fn pool_for(records: u64, memory_bytes: Option<u64>) -> u64 {
        let most = memory_bytes.map_or(1 << 30, |memory| memory / 4) >> 20;
        ((records * ROW_BYTES) >> 20).min(most).max(64)
    }

    /// Bytes of disk that the study needs at most: the files of all days, their lines, and a source beside the day tables.
    pub fn disk_bytes(&self) -> u64 {
        let row = 200 + 170 + 3 * ROW_BYTES;
        self.records.saturating_mul(u64::from(self.days)).saturating_mul(row) + (1 << 30)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// As MySQL 5.1 was without a configuration, as far as those settings still exist.
    Untuned,
    /// InnoDB with settings for loads.
    Tuned,
}

impl Tuning {
    /// Its settings, all by name; which ones the published study changed is not told in it, so that these are the usual ones of
    /// its time that servers still have.
    pub fn settings(self, pool_mib: u64) -> Vec<(String, String)> {
        let pool = format!("{pool_mib}M");
        let of: [(&str, &str, &str); 9] = [
            ("innodb_buffer_pool_size", "8M", &pool),
            ("innodb_log_file_size", "8M", "256M"),
            ("innodb_log_buffer_size", "2M", "16M"),
            ("innodb_flush_log_at_trx_commit", "1", "2"),
            ("innodb_doublewrite", "ON", "OFF"),
            ("innodb_sort_buffer_size", "1M", "16M"),
            ("key_buffer_size", "8M", &pool),
            ("bulk_insert_buffer_size", "8M", "64M"),
            ("myisam_sort_buffer_size", "8M", "128M"),
        ];
        let value = |(name, untuned, tuned): (&str, &str, &str)| {
            (name.to_owned(), if self == Self::Untuned { untuned } else { tuned }.to_owned())
        };
        of.into_iter().map(value).collect()
    }

    /// The same in words.
    pub fn words(self, pool_mib: u64) -> String {
        let settings = self.settings(pool_mib).into_iter();
        settings.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// InnoDB on a server without a configuration.
    Untuned,
    /// InnoDB on one that is tuned.
    Tuned,
    /// MyISAM, which has no transactions.
    MyIsam,
    /// Aria without transactions.
    Aria,
}

impl Method {
    pub const ALL: [Self; 4] = [Self::Untuned, Self::Tuned, Self::MyIsam, Self::Aria];

    pub fn name(self) -> &'static str {
        match self {
            Self::Untuned => "untuned",
            Self::Tuned => "tuned",
            Self::MyIsam => "myisam",
            Self::Aria => "aria",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Untuned => "InnoDB untuned",
            Self::Tuned => "InnoDB tuned",
            Self::MyIsam => "MyISAM",
            Self::Aria => "Aria",
        }
    }

    /// Where rows are stored.
    pub fn engine(self) -> Engine {
        match self {
            Self::Untuned | Self::Tuned => Engine::InnoDb,
            Self::MyIsam => Engine::MyIsam,
            Self::Aria => Engine::Aria,
        }
    }

    pub fn tuning(self) -> Tuning {
        if self == Self::Untuned { Tuning::Untuned } else { Tuning::Tuned }
    }
}

/// Records of a day unless told otherwise: all is done within twenty minutes on two cores.
pub const DEFAULT_RECORDS: u64 = 100_000;
/// Records of a day of a rough look: all is done within three minutes.
pub const QUICK_RECORDS: u64 = 10_000;
