//! What can be done in a domain: each job has an amount of work that is done in a second, so that it can be compared.

use super::tables::{BLOCK_ROWS, Block, LOADED, SELECTS, TAG, WRITTEN};
use crate::published::Result;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError};

#[derive(Debug, PartialEq, Eq)]
pub struct Job {
    pub name: &'static str,
    /// The table that it works on; empty of one without a server.
    pub table: &'static str,
}

pub const JOBS: [Job; 9] = [
    Job { name: "load", table: LOADED },
    Job { name: "select", table: TAG },
    Job { name: "read", table: TAG },
    Job { name: "write", table: WRITTEN },
    Job { name: CPU, table: "" },
    Job { name: DISK, table: "" },
    Job { name: NET, table: "" },
    Job { name: CLONE, table: "" },
    Job { name: IDLE, table: "" },
];

pub const CPU: &str = "cpu";
pub const DISK: &str = "disk";
pub const NET: &str = "net";
pub const CLONE: &str = "clone";
pub const IDLE: &str = "idle";
/// The level of a domain in which no job is done.
pub const ALONE: &str = "alone";

impl Job {
    pub fn named(name: &str) -> Option<&'static Self> {
        JOBS.iter().find(|job| job.name == name)
    }

    /// What it runs, and not every machine has.
    pub fn program(&self) -> Option<&'static str> {
        match self.name {
            DISK => Some("fio"),
            "net" => Some("iperf3"),
            _ => None,
        }
    }

    /// Whether it asks a server.
    pub fn is_client(&self) -> bool {
        !self.table.is_empty()
    }

    /// Whether it leaves its table as it was.
    pub fn only_reads(&self) -> bool {
        self.table == TAG
    }

    pub fn is_busy(&self) -> bool {
        self.name != IDLE
    }

    /// Whether it needs a domain of ours, beside a server of the user's there is none.
    pub fn is_private(&self) -> bool {
        self.is_busy() && !self.is_client()
    }
}

/// How many of the selects are a round.
const ROUND: usize = 3;

/// One who asks a server for its job, again and again.
pub struct Client {
    job: &'static Job,
    control: Control,
    random: Random,
    block: Block,
    rows: u64,
    /// Rows that were inserted and committed, as the server said.
    acknowledged: u64,
}

impl Client {
    pub fn connect(
        job: &'static Job,
        target: &Target,
        block: Block,
        rows: u64,
        seed: Seed,
        stop: &Stop,
    ) -> Result<Self> {
        let control = Control::connect_until(target, stop)?;
        Ok(Self { job, control, random: Random::new(seed), block, rows, acknowledged: 0 })
    }

    /// Does the next piece; how much that was.
    pub fn step(&mut self) -> Result<u64, TargetError> {
        match self.job.name {
            "load" => self.load(),
            "select" => {
                for sql in &SELECTS[..ROUND] {
                    self.control.exec(sql)?;
                }
                Ok(ROUND as u64)
            }
            "read" => {
                let (run, event) = self.block.key(self.random.uniform(0, self.rows - 1));
                let sql = format!("SELECT * FROM {TAG} WHERE run = {run} AND event = {event}");
                self.control.exec(&sql).map(|_| 1)
            }
            _ => self.write(),
        }
    }

    fn load(&mut self) -> Result<u64, TargetError> {
        let sql = self.block.load_into(LOADED, 1 + self.acknowledged / BLOCK_ROWS);
        let rows = self.control.load_data_local(&sql, self.block.text())?;
        self.acknowledged += rows;
        Ok(rows)
    }

    /// One transaction: a new row, and another value for one of those before.
    fn write(&mut self) -> Result<u64, TargetError> {
        let (value, other) = (self.random.uniform(0, 999), self.random.uniform(0, self.acknowledged));
        for sql in [
            "START TRANSACTION",
            &format!("INSERT INTO {WRITTEN} (run, value) VALUES ({value}, {value})"),
            &format!("UPDATE {WRITTEN} SET value = value + 1 WHERE id = {other}"),
            "COMMIT",
        ] {
            if let Err(error) = self.control.exec(sql) {
                let _ = self.control.exec("ROLLBACK");
                return Err(error);
            }
        }
        self.acknowledged += 1;
        Ok(1)
    }
}

/// Does the next piece of a job; how much that was.
pub type Worker = Box<dyn FnMut() -> Result<u64> + Send>;
