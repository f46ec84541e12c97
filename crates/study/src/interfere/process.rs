//! Jobs that ask no server: processes in a domain.

use super::jobs::{CPU, DISK, Job, NET};
use crate::probe::Place;
use crate::probe::network::serve;
use crate::probe::place::Started;
use crate::published::{PublishedError, Result};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::CpuOf;
use evenkeel_sense::disk::ProcessIo;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The processes of a job. They end when this is dropped, and with the thread that made it at the latest.
#[derive(Default)]
pub struct Processes {
    all: Vec<Started>,
    /// The one that sends over a network.
    sender: Option<u32>,
}

impl Processes {
    pub fn start(job: &Job, place: &Place) -> Result<Self> {
        let mut processes = Self::default();
        match job.name {
            CPU => {
                let all = place.cpus.clone().or_else(|| CpuOf::Host.cpus()).unwrap_or_default();
                for _ in all.iter() {
                    let mut spin = Command::new("/bin/sh");
                    processes.all.push(place.start(spin.args(["-c", "while :; do :; done"]))?);
                }
            }
            DISK => {
                let mut fio = Command::new("fio");
                processes.all.push(place.start(fio.args(FIO).current_dir(&place.folder))?);
                let reads = |pid| ProcessIo::read(pid).is_some_and(|io| io.read_bytes > 0);
                let what = format!("fio cannot read and write directly in {}", place.folder.display());
                let hint = "leave the job disk out, or take a --home on a disk";
                processes.wait(|all| all.pids().all(reads), what, hint)?;
            }
            NET => processes.send(place)?,
            _ => {}
        }
        Ok(processes)
    }

    /// From the domain to the machine, by the way that the domain has.
    fn send(&mut self, place: &Place) -> Result<()> {
        let outside = place.outside();
        let address = outside.address_from(place);
        let (server, port) = serve(&outside, address)?;
        let (to, number) = (address.to_string(), port.to_string());
        let client =
            place.start(Command::new("iperf3").args(["-c", &to, "-p", &number, "-t", "86400", "-i", "0"]))?;
        self.sender = Some(client.pid());
        self.all = vec![server, client];
        let what = format!("iperf3 cannot send to {address}, port {port}");
        let hint = "leave the job net out, or let a firewall pass what comes from the bridge evk0";
        self.wait(|all| all.sent().is_some_and(|bytes| bytes >= SENT_MIN), what, hint)
    }

    /// fio writes its file the first time, and iperf3 needs a moment for its connections.
    fn wait(&mut self, is_ready: impl Fn(&Self) -> bool, what: String, hint: &str) -> Result<()> {
        let until = monotonic() + READY_WITHIN;
        while !is_ready(self) {
            if monotonic() > until || !self.all.iter_mut().all(Started::runs) {
                return Err(PublishedError::with_hint(what, hint));
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().map(Started::pid)
    }

    /// Bytes that were sent over a network until now.
    pub fn sent(&self) -> Option<u64> {
        ProcessIo::written(self.sender?)
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
