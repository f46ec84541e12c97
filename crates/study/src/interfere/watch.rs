//! What there is to see of domains while jobs run.

use super::jobs::{CPU, DISK, Job, NET};
use super::process::Processes;
use super::side::Side;
use crate::harness::Run;
use crate::published::{Result, Watch};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_os::clock::monotonic;
use evenkeel_sense::disk::{DeviceIo, ProcessIo};
use evenkeel_sense::kernel_log::{KernelLog, is_of_memory};
use evenkeel_sense::sampler::{SenseRecord, SenseSample};
use evenkeel_sense::waits::ThreadWaits;
use std::path::Path;

/// What a domain had used until an instant: its server, and the processes of a job.
struct Reading {
    waited_ns: Option<u64>,
    disk_bytes: Option<u64>,
    /// Over its network, either way.
    net_bytes: Option<u64>,
    disk: Option<DeviceIo>,
}

impl Reading {
    fn of(side: &Side, pids: &[u32], processes: &Processes) -> Self {
        let waited = pids.iter().filter_map(|pid| Some(ThreadWaits::of_process(*pid)?.0));
        let bytes = |pid: &u32| ProcessIo::read(*pid).map(|io| io.read_bytes + io.write_bytes);
        Self {
            waited_ns: waited.reduce(|sum, waited| sum + waited),
            disk_bytes: pids.iter().map(bytes).sum::<Option<u64>>().filter(|_| !pids.is_empty()),
            net_bytes: match &side.place.network {
                Some((namespace, _)) => namespace.file_name().and_then(|name| carried(Path::new(name))),
                None => processes.sent(),
            },
            disk: side.disk.as_ref().and_then(|disk| DeviceIo::read(disk.whole())),
        }
    }

    /// What was used since then, for a run.
    fn note(&self, before: &Self, over: Nanos, mut set: impl FnMut(&str, Option<f64>)) {
        let over_s = over.as_secs_f64();
        let per_s = |of: fn(&Self) -> Option<u64>| Some(of(self)?.checked_sub(of(before)?)? as f64 / over_s);
        set("waiting", per_s(|read| read.waited_ns).map(|ns| ns * 1e-9));
        set("disk_mb_per_s", per_s(|read| read.disk_bytes).map(|bytes| bytes * 1e-6));
        set("net_mbit", per_s(|read| read.net_bytes).map(|bytes| bytes * 8e-6));
        let disk = before.disk.zip(self.disk).and_then(|(before, after)| after.since(&before));
        disk.into_iter().for_each(|io| note_disk(&io, over_s, &mut set));
    }
}

fn note_disk(io: &DeviceIo, over_s: f64, set: &mut impl FnMut(&str, Option<f64>)) {
    let count = (io.reads + io.writes) as f64;
    set("disk_ms", Some((io.read_time + io.write_time).as_secs_f64() * 1e3 / count));
    set("disk_percent", Some(100.0 * io.busy.as_secs_f64() / over_s));
}

/// Bytes that an interface has carried.
fn carried(interface: &Path) -> Option<u64> {
    let folder = Path::new("/sys/class/net").join(interface).join("statistics");
    let count = |file| std::fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    Some(count("rx_bytes")? + count("tx_bytes")?)
}

/// Of a machine that is seen from afar.
fn note_far(seen: &SenseSample, mut set: impl FnMut(&str, Option<f64>)) {
    let over_s = seen.duration.as_secs_f64();
    let (server, machine) = (seen.server.as_ref(), seen.domain.as_ref());
    set("cpus", server.or(machine).map(|used| used.total * used.capacity / 100.0));
    // What its hypervisor gave to others while it could have run.
    set("waiting", machine.and_then(|machine| Some(machine.steal? * machine.capacity / 100.0)));
    set("disk_mb_per_s", seen.process_io.map(|io| (io.read_bytes + io.write_bytes) as f64 / 1e6 / over_s));
    seen.device_io.iter().for_each(|io| note_disk(io, over_s, &mut set));
}

/// Reads what there is to see before and after something.
pub fn watched(
    sides: &[Side],
    processes: &[Processes],
    run: &mut Run,
    something: impl FnOnce(),
) -> Result<()> {
    let mut pids: Vec<Vec<u32>> = Vec::new();
    for (side, processes) in sides.iter().zip(processes) {
        pids.push(side.pid()?.into_iter().chain(processes.pids()).collect());
    }
    let read = || {
        let all = sides.iter().zip(processes).zip(&pids);
        all.map(|((side, processes), pids)| Reading::of(side, pids, processes)).collect::<Vec<_>>()
    };
    let mut log = KernelLog::begin();
    let began = monotonic();
    let far: Vec<_> = sides.iter().map(|side| Some(side.far()?.watch(began, began))).collect();
    let watch = Watch::begin(pids.iter().flatten().copied());
    let (began, before) = (monotonic(), read());
    something();
    let (after, over) = (read(), monotonic() - began);
    let used = watch.end();
    used.note(run);
    let mut each = used.each_percent.into_iter();
    for (((side, far), pids), (before, after)) in
        sides.iter().zip(far).zip(&pids).zip(before.iter().zip(&after))
    {
        let mut set = |figure: &str, value: Option<f64>| run.set(&format!("{figure}@{}", side.name), value);
        // Nothing is known of a server without a process here.
        let percent = each.by_ref().take(pids.len()).sum::<Option<f64>>().filter(|_| !pids.is_empty());
        set("cpus", percent.map(|percent| percent / 100.0));
        after.note(before, over, &mut set);
        if let Some(far) = far {
            let whole = SenseSample { at: over, duration: over, ..SenseSample::default() };
            let mut record = SenseRecord { whole: Some(whole), ..SenseRecord::default() };
            far.finish(Some(&mut record));
            record.whole.iter().for_each(|seen| note_far(seen, &mut set));
        }
    }
    let lines = log.as_mut().map(KernelLog::trouble);
    if let Ok(Ok(lines)) = lines {
        note_log(lines, sides, &pids, run);
    }
    Ok(())
}

/// What the kernel's log said of trouble meanwhile. Where memory ran out for others, that is no trouble of ours.
fn note_log(mut lines: Vec<String>, sides: &[Side], pids: &[Vec<u32>], run: &mut Run) {
    let meant = |line: &str| {
        let both = sides.iter().zip(pids).find(|(side, pids)| side.is_meant(line, pids));
        both.map(|(side, _)| side.name.as_str())
    };
    lines.retain(|line| !is_of_memory(line) || meant(line).is_some());
    run.set("kernel_lines", lines.len() as f64);
    let Some(first) = lines.first() else { return };
    let of = meant(first).map_or_else(String::new, |name| format!(" of {name}"));
    let text = format!("The kernel's log has trouble{of}: {first}");
    run.caveats.push(Caveat::new("kernel-log", Severity::Doubt, text));
}

/// A job of no server does as much as it got.
pub fn rate(run: &Run, job: &Job, side: &Side) -> Option<f64> {
    let figure = match job.name {
        CPU => "cpus",
        DISK => "disk_mb_per_s",
        NET => "net_mbit",
        _ => return None,
    };
    run.figure(&format!("{figure}@{}", side.name))
}
