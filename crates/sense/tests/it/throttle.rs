//! A quota that holds a process back is seen where no other figure tells of it.

use crate::left_out::left_out;
use evenkeel_core::Nanos;
use evenkeel_sense::cpu::CpuSet;
use evenkeel_sense::throttle::{ThrottleReading, Throttling};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

/// A busy process in a group of its own that grants it a fifth of a CPU.
struct HeldBack {
    group: PathBuf,
    process: Child,
}

impl HeldBack {
    fn start() -> io::Result<Self> {
        let root = PathBuf::from("/sys/fs/cgroup");
        let old = root.join("cpu/cpu.cfs_quota_us").parent().map(PathBuf::from).filter(|path| path.is_dir());
        let group = old.clone().unwrap_or(root).join(format!("evenkeel-test-{}", std::process::id()));
        fs::create_dir(&group)?;
        let process = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let process = process.inspect_err(|_| drop(fs::remove_dir(&group)))?;
        let held = Self { group, process };
        match old {
            Some(_) => {
                fs::write(held.group.join("cpu.cfs_period_us"), "100000")?;
                fs::write(held.group.join("cpu.cfs_quota_us"), "20000")?;
            }
            None => fs::write(held.group.join("cpu.max"), "20000 100000")?,
        }
        fs::write(held.group.join("cgroup.procs"), held.process.id().to_string())?;
        Ok(held)
    }

    fn reading(&self) -> ThrottleReading {
        ThrottleReading::of(self.process.id(), &CpuSet::default())
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // The kernel takes the process out of its group a moment after it was awaited.
        for _ in 0..200 {
            if fs::remove_dir(&self.group).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_process_held_back_by_its_quota_is_seen_with_the_quota() {
    let held = match HeldBack::start() {
        Ok(held) => held,
        Err(error) => {
            left_out(format!("no control group with a quota can be made here: {error}"));
            return;
        }
    };
    let before = held.reading();
    let mut seen = Throttling::default();
    // A machine that stands still holds nobody back by quota, so it is looked until it moves.
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(200));
        seen = Throttling::between(&before, &held.reading(), Nanos::from_secs(1), 1.0);
        if seen.held > Some(0.05) {
            break;
        }
    }
    assert!(seen.held > Some(0.05), "{seen:?}");
    assert!(seen.quota_cpus.is_some_and(|quota| (quota - 0.2).abs() < 1e-9), "{seen:?}");
}
