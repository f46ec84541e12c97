//! Processes, CPUs and control groups of this machine.

use evenkeel_core::Nanos;
use evenkeel_sense::clock::Clock;
use evenkeel_sense::cpu::StatFile;
use evenkeel_sense::disk::ProcessIo;
use evenkeel_sense::mounts::Mount;
use evenkeel_sense::own::OwnReading;
use evenkeel_sense::switches::{Switches, SwitchesReading};
use evenkeel_sense::{Cgroup, CpuUse, Domain};
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

    /// One that takes all it can get of one CPU.
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
    let spent = || OwnReading::thread().map(|own| own.busy).expect("own usage");
    let end = spent() + time;
    while spent() < end {
        std::hint::black_box((0..10_000_u64).sum::<u64>());
    }
}

fn measure(domain: &Domain, during: impl FnOnce()) -> (CpuUse, Nanos) {
    let clock = Clock::start();
    let (start, before) = (clock.now(), domain.read().expect("a reading"));
    during();
    let (end, after) = (clock.now(), domain.read().expect("a reading"));
    (CpuUse::between(&before, &after, end - start).expect("a use"), end - start)
}

/// Time that a process of one thread ran, and that it waited for a CPU beside others, by the scheduler's
/// own statistics: a second opinion. `None` where the kernel keeps none.
fn schedule_of(pid: u32) -> Option<(Nanos, Nanos)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut numbers = text.split(' ').map_while(|word| word.trim().parse().ok()).map(Nanos);
    Some((numbers.next()?, numbers.next()?))
}

#[test]
fn a_busy_child_uses_about_one_cpu_and_a_sleeping_one_none() {
    const SLACK: Nanos = Nanos::from_millis(60);
    let (busy, idle) = (Busy::loops(), Busy::shell("exec sleep 60"));
    thread::sleep(Duration::from_millis(100));
    let before = schedule_of(busy.pid());
    let during = || thread::sleep(Duration::from_millis(800));
    let (used, elapsed) = measure(&Domain::Process(busy.pid()), during);
    let parts = used.user.expect("known") + used.system.expect("known");
    assert!((parts - used.total).abs() * used.capacity < 10.0, "{used:?}");
    assert!(used.busy > Nanos::ZERO && used.busy <= elapsed + SLACK, "{used:?} in {elapsed:?}");
    if let Some((before, after)) = before.zip(schedule_of(busy.pid())) {
        let (ran, waited) = (after.0 - before.0, after.1 - before.1);
        assert!(used.busy <= ran + SLACK && ran <= used.busy + SLACK, "{used:?}, ran {ran:?}");
        // A hypervisor takes time that no account of the guest has.
        assert!(2 * (used.busy + waited).0 >= elapsed.0, "{used:?}, waited {waited:?}, {elapsed:?}");
    }
    let (used, _) = measure(&Domain::Process(idle.pid()), || thread::sleep(Duration::from_millis(200)));
    assert!(used.total * used.capacity < 5.0, "{used:?}");
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
    let clock = Clock::start();
    while Domain::Process(child.pid()).read().is_some() {
        assert!(clock.now() < Nanos::from_secs(10), "a killed child is still read");
        thread::sleep(Duration::from_millis(1));
    }
    child.end();
    assert_eq!(SwitchesReading::read(child.pid()), None);
    assert_eq!(ProcessIo::read(child.pid()), None);
}

#[test]
fn the_host_is_at_least_as_busy_as_one_thread_on_it() {
    const SPENT: Nanos = Nanos::from_millis(300);
    let (used, elapsed) = measure(&Domain::Host, || burn(SPENT));
    let stat = StatFile::read().expect("/proc/stat");
    // Half is allowed for, because ticks see what runs at an instant.
    assert!(used.busy.0 >= SPENT.0 / 2, "{used:?}");
    let all = used.total + used.idle.expect("known") + used.iowait.unwrap_or(0.0) + used.steal.unwrap_or(0.0);
    assert!((all - 100.0).abs() < 25.0, "{used:?} over {elapsed:?} of {} CPUs", stat.cpus.len());
    let set = stat.cpus.iter().map(|(cpu, _)| *cpu).collect();
    let (again, _) = measure(&Domain::Cpus(set), || burn(Nanos::from_millis(50)));
    assert_eq!(again.capacity, used.capacity);
}

#[test]
fn the_group_of_this_process_counts_what_it_uses_where_groups_are_mounted() {
    const SPENT: Nanos = Nanos::from_millis(100);
    let mounted = Mount::all().iter().any(|mount| mount.file_system.starts_with("cgroup"));
    let Some(group) = Cgroup::of_process(std::process::id()) else {
        assert!(!mounted, "control groups are mounted, yet the own one is not found");
        return;
    };
    let (used, _) = measure(&Domain::Cgroup(group), || burn(SPENT));
    // The kernel may owe the group one tick of the scheduler at each end.
    assert!(used.busy.0 >= SPENT.0 * 8 / 10 && used.capacity > 0.0, "{used:?}");
}

#[test]
fn waiting_is_voluntary() {
    let read = || SwitchesReading::read(std::process::id()).expect("own threads");
    let before = read();
    for _ in 0..50 {
        thread::sleep(Duration::from_micros(50));
    }
    let switches = Switches::between(&before, &read());
    assert!(switches.voluntary >= 50, "{switches:?}");
}
