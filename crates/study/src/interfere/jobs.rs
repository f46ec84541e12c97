//! What can be done in a domain: each job has an amount of work that is done in a second, so that it can be compared.

use super::tables::{Block, LOADED, SELECTS, TAG, WRITTEN};
use crate::published::{PublishedError, Result, While};
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::process::{Birth, has_ended};
use evenkeel_sense::cpu::CpuSet;
use evenkeel_sense::disk::ProcessIo;
use evenkeel_site::sandbox::Cgroup;
use evenkeel_site::server::{Control, Target, TargetError};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[derive(Debug, PartialEq, Eq)]
pub struct Job {
    pub name: &'static str,
    pub about: &'static str,
    /// What its rate counts.
    pub unit: &'static str,
    /// The table that it works on; empty of one without a server.
    pub table: &'static str,
}

pub const JOBS: [Job; 7] = [
    Job { name: "load", about: "bulk load by LOAD DATA", unit: "rows", table: LOADED },
    Job { name: "select", about: "ranges, groups and sorts of a whole table", unit: "queries", table: TAG },
    Job { name: "read", about: "point reads by primary key", unit: "reads", table: TAG },
    Job { name: "write", about: "an insert and an update, committed", unit: "commits", table: WRITTEN },
    Job { name: CPU, about: "a process that spins on each CPU", unit: "CPU seconds", table: "" },
    Job { name: DISK, about: "direct reads and writes of 64 KiB, 32 at once, by fio", unit: "MB", table: "" },
    Job { name: IDLE, about: "nothing, as a control", unit: "", table: "" },
];

pub const CPU: &str = "cpu";
pub const DISK: &str = "disk";
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
    pub acknowledged: u64,
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
        let sql = self.block.load_into(LOADED, 1 + self.acknowledged / self.block.rows());
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

/// The job of a domain that asks no server: processes in it. They end when this is dropped, and with the thread that made it at the latest.
#[derive(Default)]
pub struct Processes(Vec<Child>);

impl Processes {
    /// In these control groups, on these CPUs; a file of the job goes to `folder`.
    pub fn start(job: &Job, groups: &[Cgroup], cpus: &CpuSet, folder: &Path) -> Result<Self> {
        let mut processes = Self::default();
        match job.name {
            CPU => {
                for _ in cpus.iter() {
                    let mut spin = Command::new("/bin/sh");
                    processes.add(spin.args(["-c", "while :; do :; done"]), groups, cpus)?;
                }
            }
            DISK => {
                let mut fio = Command::new("fio");
                fio.args(FIO).current_dir(folder);
                processes.add(&mut fio, groups, cpus)?;
                processes.wait_for_io(folder)?;
            }
            _ => {}
        }
        Ok(processes)
    }

    fn add(&mut self, command: &mut Command, groups: &[Cgroup], cpus: &CpuSet) -> Result<()> {
        let door = |group: &Cgroup| File::options().write(true).open(group.path.join("cgroup.procs"));
        let groups = groups.iter().map(door).collect::<std::io::Result<_>>();
        let birth = Birth {
            dies_with_us: true,
            groups: groups.doing(|| "opening the control groups of a domain")?,
            affinity: Some(Affinity::of(cpus.iter())),
            ..Birth::default()
        };
        birth.of(command);
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        self.0.push(command.spawn().doing(|| format!("starting {program}, which a job needs"))?);
        Ok(())
    }

    /// fio needs a moment before its first I/O, and the first time it writes its file.
    fn wait_for_io(&mut self, folder: &Path) -> Result<()> {
        let until = monotonic() + IO_WITHIN;
        while self.io().is_none_or(|io| io.read_bytes == 0) {
            if monotonic() > until || self.0.iter().any(|child| has_ended(child.id())) {
                return Err(PublishedError::with_hint(
                    format!("fio cannot read and write directly in {}", folder.display()),
                    "leave the job disk out, or take a --home on a disk",
                ));
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn io(&self) -> Option<ProcessIo> {
        ProcessIo::read(self.0.first()?.id())
    }

    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(Child::id)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// As many I/Os at once as a backup or a copy has.
const FIO: [&str; 11] = [
    "--name=disk",
    "--filename=interfere.disk",
    "--size=64M",
    "--rw=randrw",
    "--bs=64k",
    "--direct=1",
    "--ioengine=libaio",
    "--iodepth=32",
    // In the process itself, whose I/O is read.
    "--thread",
    "--time_based=1",
    "--runtime=86400",
];
const IO_WITHIN: Nanos = Nanos::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_sense::CpuOf;

    #[test]
    fn a_process_that_spins_for_each_cpu_ends_with_its_value() {
        let cpus = CpuOf::Host.cpus().unwrap();
        let processes = Processes::start(Job::named(CPU).unwrap(), &[], &cpus, Path::new("/")).unwrap();
        let pids: Vec<u32> = processes.pids().collect();
        assert!(pids.len() == cpus.len() && pids.iter().all(|pid| !has_ended(*pid)));
        drop(processes);
        assert!(pids.iter().all(|pid| CpuOf::Process(*pid).read().is_none()));
    }

    #[test]
    fn jobs_are_found_by_name_and_those_that_read_have_the_common_table() {
        assert!(Job::named("select").is_some_and(|job| job.is_client() && job.only_reads()));
        assert!(Job::named(CPU).is_some_and(|job| !job.is_client() && job.is_busy()));
        assert!(Job::named(ALONE).is_none(), "no job may have the name of none");
    }
}
