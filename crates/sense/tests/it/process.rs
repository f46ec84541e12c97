//! Processes and CPUs of this machine.

use evenkeel_core::Nanos;
use evenkeel_os::clock::{Clock, thread_cpu};
use evenkeel_sense::cpu::{ProcessStat, StatFile};
use evenkeel_sense::disk::ProcessIo;
use evenkeel_sense::switches::SwitchesReading;
use evenkeel_sense::{CpuUse, Domain};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A child that ends with the test, whatever happens to that.
pub struct Busy(pub Child);

impl Busy {
    /// A shell that turns in circles, or sleeps.
    pub fn shell(script: &str) -> Self {
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn();
        Self(child.expect("a shell"))
    }

    pub fn loops() -> Self {
        Self::shell("while :; do :; done")
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Kills it and waits for it: afterwards nothing is left of it in /proc.
    pub fn end(&mut self) {
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
pub fn burn(time: Nanos) {
    let end = thread_cpu() + time;
    while thread_cpu() < end {
        std::hint::black_box((0..10_000_u64).sum::<u64>());
    }
}

/// Longer than any machine stands still.
pub const PATIENCE: Nanos = Nanos::from_secs(60);

/// What is found in the end.
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
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
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    found(what, || condition().then_some(()));
}

/// The use of a domain, and the time between the readings.
fn measure(domain: &Domain, during: impl FnOnce()) -> (CpuUse, Nanos) {
    let clock = Clock::start();
    let (start, before) = (clock.now(), domain.read().expect("a reading"));
    during();
    let (end, after) = (clock.now(), domain.read().expect("a reading"));
    (CpuUse::between(&before, &after, end - start).expect("a use"), end - start)
}

/// Measures over and over until the use is as it should be: a thread that has to wait between reading a clock
/// and reading the use has another duration than its use, and a tick sees only what runs when it comes.
fn measure_until(what: &str, domain: &Domain, during: impl Fn(), holds: impl Fn(&CpuUse) -> bool) -> CpuUse {
    found(what, || Some(measure(domain, &during).0).filter(&holds))
}

/// Time that a process of one thread ran, and that it waited for a CPU beside others, by the scheduler's
/// own statistics: a second opinion. `None` where the kernel keeps none.
fn schedule_of(pid: u32) -> Option<(Nanos, Nanos)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
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
    let domain = Domain::Process(busy.pid());
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
    let name = || std::fs::read_to_string(format!("/proc/{}/comm", idle.pid())).unwrap_or_default();
    eventually("a process that sleeps", || {
        name().trim() == "sleep" && ProcessStat::read(idle.pid()).is_some_and(|stat| stat.state == 'S')
    });
    let (used, _) = measure(&Domain::Process(idle.pid()), || thread::sleep(Duration::from_millis(200)));
    assert!(used.busy < Nanos::from_millis(5), "{used:?}");
}

#[test]
fn threads_that_have_ended_still_count() {
    const EACH: Nanos = Nanos::from_millis(120);
    let (used, _) = measure(&Domain::Process(std::process::id()), || {
        let threads = [(); 2].map(|()| thread::spawn(|| burn(EACH)));
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    });
    assert!(used.busy >= EACH + EACH, "{used:?}");
}

#[test]
fn a_process_that_was_killed_is_gone_even_before_it_is_waited_for() {
    let mut child = Busy::shell("exec sleep 60");
    assert!(Domain::Process(child.pid()).read().is_some());
    child.0.kill().expect("killed");
    eventually("a killed child that is no longer read", || Domain::Process(child.pid()).read().is_none());
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
        &Domain::Host,
        || burn(SPENT),
        |used| {
            let idle = used.idle.expect("known") + used.iowait.unwrap_or(0.0);
            let all = used.total + idle + used.steal.unwrap_or(0.0);
            used.busy.0 >= SPENT.0 / 2 && (all - 100.0).abs() < 25.0
        },
    );
    let set = stat.cpus.iter().map(|(cpu, _)| *cpu).collect();
    let (again, _) = measure(&Domain::Cpus(set), || burn(Nanos::from_millis(50)));
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
