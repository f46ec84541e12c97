//! Sense on the machine that runs the tests: no root, no control group, no counter is taken for granted.

#[path = "../../../../tests/left_out.rs"]
mod left_out;
mod sampler;

use crate::left_out::left_out;
use evenkeel_core::Nanos;
use evenkeel_os::clock::{Clock, thread_cpu};
use evenkeel_sense::cpu::{CpuSet, ProcessStat, StatFile};
use evenkeel_sense::disk::ProcessIo;
use evenkeel_sense::throttle::{ThrottleReading, Throttling};
use evenkeel_sense::waits::SwitchesReading;
use evenkeel_sense::{CpuOf, CpuUse};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A child that ends with the test, whatever happens to that.
struct Busy(Child);

impl Busy {
    /// A shell that turns in circles, or sleeps.
    fn shell(script: &str) -> Self {
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn();
        Self(child.expect("a shell"))
    }

    fn loops() -> Self {
        Self::shell("while :; do :; done")
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Kills it and waits for it: afterwards nothing is left of it in /proc.
    fn end(&mut self) {
        // Both fail where it is gone already, which is what is wanted.
        let _ = (self.0.kill(), self.0.wait());
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end();
    }
}

/// Uses this much CPU time in the calling thread, however long that takes beside others.
fn burn(time: Nanos) {
    let end = thread_cpu() + time;
    while thread_cpu() < end {
        std::hint::black_box((0..10_000_u64).sum::<u64>());
    }
}

/// Longer than any machine stands still.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// What is found in the end.
fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = Clock::start();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.now() < PATIENCE, "{what}: not within a minute");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for what has to come.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    found(what, || condition().then_some(()));
}

/// The use of a domain, and the time between the readings.
fn measure(domain: &CpuOf, during: impl FnOnce()) -> (CpuUse, Nanos) {
    let clock = Clock::start();
    let (start, before) = (clock.now(), domain.read().expect("a reading"));
    during();
    let (end, after) = (clock.now(), domain.read().expect("a reading"));
    (CpuUse::between(&before, &after, end - start).expect("a use"), end - start)
}

/// Measures over and over until the use is as it should be: a thread that has to wait between reading a clock
/// and reading the use has another duration than its use, and a tick sees only what runs when it comes.
fn measure_until(what: &str, domain: &CpuOf, during: impl Fn(), holds: impl Fn(&CpuUse) -> bool) -> CpuUse {
    found(what, || Some(measure(domain, &during).0).filter(&holds))
}

/// Time that a process of one thread ran, and that it waited for a CPU beside others, by the scheduler's
/// own statistics: a second opinion. `None` where the kernel keeps none.
fn schedule_of(pid: u32) -> Option<(Nanos, Nanos)> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut numbers = text.split(' ').map_while(|word| word.trim().parse().ok()).map(Nanos);
    Some((numbers.next()?, numbers.next()?))
}

/// Stops a process, so that what it has used stays as it is, or lets it go on.
fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

fn stop(pid: u32) {
    signal(pid, "-STOP");
    eventually("a process that is stopped", || ProcessStat::read(pid).is_some_and(|stat| stat.state == 'T'));
}

#[test]
fn a_busy_child_uses_one_cpu_at_most_and_all_that_the_scheduler_gives_it() {
    // Two ticks at each end.
    const SLACK: Nanos = Nanos::from_millis(60);
    let busy = Busy::loops();
    let domain = CpuOf::Process(busy.pid());
    let so_far = || domain.read().expect("a reading").busy;
    stop(busy.pid());
    let before = schedule_of(busy.pid());
    let outside = Clock::start();
    let (used, elapsed) = measure(&domain, || {
        let end = so_far() + Nanos::from_millis(800);
        signal(busy.pid(), "-CONT");
        eventually("a loop that takes its share", || so_far() >= end);
        stop(busy.pid());
    });
    let longest = outside.now();
    let parts = used.user.expect("known") + used.system.expect("known");
    let apart = (parts - used.total).abs() / 100.0 * used.capacity * elapsed.as_secs_f64();
    assert!(apart < SLACK.as_secs_f64(), "{used:?} in {elapsed:?}");
    assert!(used.busy <= longest + SLACK, "one thread: {used:?} in {longest:?}");
    if let Some((before, after)) = before.zip(schedule_of(busy.pid())) {
        let (ran, _) = (after.0 - before.0, after.1 - before.1);
        assert!(used.busy <= ran + SLACK && ran <= used.busy + SLACK, "{used:?}, ran {ran:?}");
    }
}

#[test]
fn a_sleeping_child_uses_no_cpu() {
    let idle = Busy::shell("exec sleep 600");
    let name = || fs::read_to_string(format!("/proc/{}/comm", idle.pid())).unwrap_or_default();
    eventually("a process that sleeps", || {
        name().trim() == "sleep" && ProcessStat::read(idle.pid()).is_some_and(|stat| stat.state == 'S')
    });
    let (used, _) = measure(&CpuOf::Process(idle.pid()), || thread::sleep(Duration::from_millis(200)));
    assert!(used.busy < Nanos::from_millis(5), "{used:?}");
}

#[test]
fn threads_that_have_ended_still_count() {
    const EACH: Nanos = Nanos::from_millis(120);
    let (used, _) = measure(&CpuOf::Process(std::process::id()), || {
        let threads = [(); 2].map(|()| thread::spawn(|| burn(EACH)));
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    });
    assert!(used.busy >= EACH + EACH, "{used:?}");
}

#[test]
fn a_process_that_was_killed_is_gone_even_before_it_is_waited_for() {
    let mut child = Busy::shell("exec sleep 60");
    assert!(CpuOf::Process(child.pid()).read().is_some());
    child.0.kill().expect("killed");
    eventually("a killed child that is no longer read", || CpuOf::Process(child.pid()).read().is_none());
    child.end();
    assert_eq!(SwitchesReading::read(child.pid()), None);
    assert_eq!(ProcessIo::read(child.pid()), None);
}

#[test]
fn the_host_is_at_least_as_busy_as_one_thread_on_it() {
    const SPENT: Nanos = Nanos::from_millis(300);
    let stat = StatFile::read().expect("/proc/stat");
    let used = measure_until(
        "a host that is busy for half of what one thread uses, and whose parts add up",
        &CpuOf::Host,
        || burn(SPENT),
        |used| {
            let idle = used.idle.expect("known") + used.iowait.unwrap_or(0.0);
            let all = used.total + idle + used.steal.unwrap_or(0.0);
            used.busy.0 >= SPENT.0 / 2 && (all - 100.0).abs() < 25.0
        },
    );
    let set = stat.cpus.iter().map(|(cpu, _)| *cpu).collect();
    let (again, _) = measure(&CpuOf::Cpus(set), || burn(Nanos::from_millis(50)));
    assert_eq!(again.capacity, used.capacity);
}

#[test]
fn every_wait_is_a_switch() {
    let read = || SwitchesReading::read(std::process::id()).expect("own threads");
    let before = read();
    let mut waits = 0;
    // A wait that is over before it has begun, because the thread was kept from it, is none.
    eventually("as many switches as waits", || {
        thread::sleep(Duration::from_micros(50));
        waits += 1;
        waits >= 50 && read().since(&before) >= waits
    });
}

/// A quota that holds a process back is seen where no other figure tells of it: a busy process in a group of its own that grants it a fifth of a CPU.
struct HeldBack {
    group: PathBuf,
    process: Busy,
}

impl HeldBack {
    fn start() -> io::Result<Self> {
        let root = PathBuf::from("/sys/fs/cgroup");
        let old = root.join("cpu/cpu.cfs_quota_us").parent().map(PathBuf::from).filter(|path| path.is_dir());
        let group = old.clone().unwrap_or(root).join(format!("evenkeel-test-{}", std::process::id()));
        fs::create_dir(&group)?;
        let held = Self { group, process: Busy::loops() };
        match old {
            Some(_) => {
                fs::write(held.group.join("cpu.cfs_period_us"), "100000")?;
                fs::write(held.group.join("cpu.cfs_quota_us"), "20000")?;
            }
            None => fs::write(held.group.join("cpu.max"), "20000 100000")?,
        }
        fs::write(held.group.join("cgroup.procs"), held.process.pid().to_string())?;
        Ok(held)
    }

    fn reading(&self) -> ThrottleReading {
        ThrottleReading::of(self.process.pid(), &CpuSet::default())
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        self.process.end();
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
        Err(error) => return left_out(format!("no control group with a quota can be made here: {error}")),
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
