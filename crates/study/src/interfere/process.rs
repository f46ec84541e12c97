//! Jobs that ask no server: processes in a domain.

use super::jobs::{CPU, DISK, Job, NET};
use crate::probe::enter;
use crate::published::{PublishedError, Result, While};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_os::process::has_ended;
use evenkeel_sense::cpu::CpuSet;
use evenkeel_sense::disk::ProcessIo;
use evenkeel_site::sandbox::Cgroup;
use std::fs::read_to_string;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Where processes of a domain run.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub groups: Vec<Cgroup>,
    pub cpus: CpuSet,
    /// A folder on the file system of its data.
    pub folder: PathBuf,
    /// Its network namespace, and the machine's address seen from there.
    pub network: Option<(PathBuf, Ipv4Addr)>,
}

/// The processes of a job. They end when this is dropped, and with the thread that made it at the latest.
#[derive(Default)]
pub struct Processes {
    all: Vec<Child>,
    /// The one that sends over a network.
    sender: Option<u32>,
}

impl Processes {
    pub fn start(job: &Job, place: &Place) -> Result<Self> {
        let mut processes = Self::default();
        match job.name {
            CPU => {
                for _ in place.cpus.iter() {
                    let mut spin = Command::new("/bin/sh");
                    processes.add(spin.args(["-c", "while :; do :; done"]), place)?;
                }
            }
            DISK => {
                processes.add(Command::new("fio").args(FIO).current_dir(&place.folder), place)?;
                let reads = |pid| ProcessIo::read(pid).is_some_and(|io| io.read_bytes > 0);
                processes.wait(
                    |all| all.pids().all(reads),
                    || {
                        let folder = place.folder.display();
                        (
                            format!("fio cannot read and write directly in {folder}"),
                            "leave the job disk out, or take a --home on a disk",
                        )
                    },
                )?;
            }
            NET => processes.send(place)?,
            _ => {}
        }
        Ok(processes)
    }

    /// From the domain to the machine, by the way that the domain has.
    fn send(&mut self, place: &Place) -> Result<()> {
        let address = place.network.as_ref().map_or(Ipv4Addr::LOCALHOST, |(_, machine)| *machine);
        let free = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
        let port = free.doing(|| "looking for a free port for iperf3")?.port();
        let (to, number) = (address.to_string(), port.to_string());
        let failed = || {
            let what = format!("iperf3 cannot send to {address}, port {port}");
            (what, "leave the job net out, or let a firewall pass what comes from the bridge evk0")
        };
        let outside = Place { cpus: place.cpus.clone(), ..Place::default() };
        self.add(Command::new("iperf3").args(["-s", "-B", &to, "-p", &number]), &outside)?;
        let listens = format!(":{port:04X} 00000000:0000 0A");
        self.wait(|_| read_to_string("/proc/net/tcp").is_ok_and(|all| all.contains(&listens)), failed)?;
        self.add(Command::new("iperf3").args(["-c", &to, "-p", &number, "-t", "86400"]), place)?;
        self.sender = self.pids().last();
        self.wait(|all| all.sent().is_some_and(|bytes| bytes >= SENT_MIN), failed)
    }

    /// In its control groups, on its CPUs, in its network.
    fn add(&mut self, command: &mut Command, place: &Place) -> Result<()> {
        let network = place.network.as_ref().map(|(namespace, _)| namespace.as_path());
        enter(command, &place.groups, network, Some(&place.cpus))?;
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        self.all.push(command.spawn().doing(|| format!("starting {program}, which a job needs"))?);
        Ok(())
    }

    /// fio writes its file the first time, and iperf3 needs a moment for its connections.
    fn wait(
        &self,
        is_ready: impl Fn(&Self) -> bool,
        failed: impl Fn() -> (String, &'static str),
    ) -> Result<()> {
        let until = monotonic() + READY_WITHIN;
        while !is_ready(self) {
            if monotonic() > until || self.all.iter().any(|child| has_ended(child.id())) {
                let (what, hint) = failed();
                return Err(PublishedError::with_hint(what, hint));
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().map(Child::id)
    }

    /// Bytes that were sent over a network until now.
    pub fn sent(&self) -> Option<u64> {
        ProcessIo::written(self.sender?)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.all {
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
const READY_WITHIN: Nanos = Nanos::from_secs(20);
/// More than iperf3 says before it sends.
const SENT_MIN: u64 = 64 << 10;
