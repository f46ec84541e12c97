//! The sensors of a server on this machine, read at each tick and related to what completed in it.

use super::process;
use super::process::{ServerAddress, ServerStatus};
use evenkeel_core::Nanos;
use evenkeel_core::admission::Interval;
use evenkeel_core::control::Signals;
use evenkeel_sense::counters::{Counters, CountersReading, CountersUse};
use evenkeel_sense::cpu::{CpuReading, CpuUse};
use evenkeel_sense::memory::MemoryBounds;
use evenkeel_sense::pressure::Stalled;
use evenkeel_sense::{Cgroup, CpuOf, memory, pressure};

/// The server's process is looked for this often while it is not found.
const SEARCH_EVERY: Nanos = Nanos::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Available {
    pub process: Option<u32>,
    pub counters: bool,
    pub pressure: bool,
    /// Whether the server's own status is known.
    pub status: bool,
}

#[derive(Debug)]
pub struct Sensors {
    address: Option<ServerAddress>,
    server: Option<Server>,
    /// Whether hardware counters are used. They count whole CPUs, so that the operator must say that the server has them alone.
    count: bool,
    searched: Option<Nanos>,
    status: Option<ServerStatus>,
}

#[derive(Debug)]
struct Server {
    pid: u32,
    counters: Option<Counters>,
    group: Option<Cgroup>,
    memory: MemoryBounds,
    last: Reading,
}

#[derive(Debug, Default)]
struct Reading {
    at: Nanos,
    cpu: Option<CpuReading>,
    counters: Option<CountersReading>,
    pressure: Stalled,
}

impl Sensors {
    /// The sensors of the server that listens at `address`; `None` for one on another host, of which only its own status
    /// is known. `count` opens hardware counters on the CPUs of the server.
    pub fn new(address: Option<ServerAddress>, count: bool, status: Option<ServerStatus>) -> Self {
        Self { address, server: None, count, searched: None, status }
    }

    /// Senses another server from now on.
    pub fn follow(&mut self, address: Option<ServerAddress>) {
        (self.address, self.server, self.searched) = (address, None, None);
    }

    pub fn available(&self) -> Available {
        let server = self.server.as_ref();
        Available {
            process: server.map(|server| server.pid),
            counters: server.is_some_and(|server| server.counters.is_some()),
            pressure: server.is_some_and(|server| memory_pressure(&server.last.pressure)),
            status: self.status.as_ref().is_some_and(ServerStatus::is_fresh),
        }
    }

    /// The readings of the interval that ends now.
    pub fn read(&mut self, now: Nanos, interval: &Interval) -> Signals {
        let mut signals = Signals::default();
        if interval.completions > 0 {
            signals.deadlocks_per_commit = Some(interval.rolled_back as f64 / interval.completions as f64);
        }
        signals.lock_wait_share =
            self.status.as_mut().and_then(|status| status.lock_wait_share(now, interval));
        self.search(now);
        if let Some(server) = &mut self.server
            && !server.read(now, interval, &mut signals)
        {
            self.server = None;
        }
        signals
    }

    fn search(&mut self, now: Nanos) {
        let due = self.searched.is_none_or(|last| now - last >= SEARCH_EVERY);
        if self.server.is_none() && due {
            self.searched = Some(now);
            self.server =
                self.address.as_ref().and_then(process::find).map(|pid| Server::open(pid, self.count));
        }
    }
}

impl Server {
    fn open(pid: u32, count: bool) -> Self {
        let cpus = CpuOf::Process(pid).cpus().filter(|_| count);
        Self {
            pid,
            counters: cpus.and_then(|cpus| Counters::open(&cpus).ok()),
            group: Cgroup::of_process(pid),
            memory: MemoryBounds::of_process(pid),
            last: Reading::default(),
        }
    }

    /// False where the process is gone.
    fn read(&mut self, now: Nanos, interval: &Interval, signals: &mut Signals) -> bool {
        let group = self.group.as_ref().and_then(pressure::of_group);
        let reading = Reading {
            at: now,
            cpu: CpuOf::Process(self.pid).read(),
            counters: self.counters.as_ref().map(Counters::read),
            pressure: group.filter(memory_pressure).unwrap_or_else(pressure::host),
        };
        let alive = reading.cpu.is_some();
        let before = std::mem::replace(&mut self.last, reading);
        self.relate(&before, interval.completions, signals);
        signals.memory_used = memory::resident(self.pid).map(|bytes| bytes as f64);
        signals.memory_free = self.memory.free().map(|bytes| bytes as f64);
        alive
    }

    fn relate(&self, before: &Reading, completions: u64, signals: &mut Signals) {
        let duration = self.last.at - before.at;
        let per_commit = |value: f64| (completions > 0).then(|| value / completions as f64);
        if let (Some(then), Some(now)) = (&before.cpu, &self.last.cpu)
            && let Some(used) = CpuUse::between(then, now, duration)
        {
            signals.cpu_per_commit = per_commit(used.busy.as_secs_f64());
            signals.user_cpu_share = used.user.map(|percent| percent / 100.0);
        }
        if let (Some(then), Some(now)) = (&before.counters, &self.last.counters) {
            let used = CountersUse::between(then, now);
            signals.cycles_per_commit = used.cycles.and_then(|count| per_commit(count.events));
            signals.dtlb_misses = used.dtlb_load_misses.and_then(|count| per_commit(count.events));
            signals.cache_misses = used.cache_misses.and_then(|count| per_commit(count.events));
        }
        let pressure = pressure::between(&before.pressure, &self.last.pressure, duration);
        signals.memory_pressure = pressure.get("memory_full").map(|percent| percent / 100.0);
    }
}

fn memory_pressure(reading: &Stalled) -> bool {
    reading.contains_key("memory_full")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn interval(completions: u64) -> Interval {
        Interval { completions, rolled_back: completions / 4, in_flight_mean: 2.0, ..Interval::default() }
    }

    #[test]
    fn a_local_server_shows_its_cpu_per_commit_and_a_tick_without_commits_shows_none() {
        // This process plays the server.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = ServerAddress::Tcp(listener.local_addr().expect("an address"));
        let mut sensors = Sensors::new(Some(address), false, None);
        let clock = evenkeel_os::clock::Clock::start();
        let own = evenkeel_os::clock::process_cpu;
        let begun = own();
        sensors.read(clock.now(), &interval(0));
        assert_eq!(sensors.available().process, Some(std::process::id()));
        let before = own();
        while own() - before < Nanos::from_millis(30) {}
        let signals = sensors.read(clock.now(), &interval(10));
        let cpu = signals.cpu_per_commit.expect("this process can be read");
        // Of ten commits. Other tests work in this process meanwhile; a tick of its account may be before or
        // after.
        let most = (own() - begun).as_secs_f64() / 10.0 + 0.002;
        assert!((0.002..=most).contains(&cpu), "{cpu} of {most}");
        assert!(signals.user_cpu_share.is_some());
        assert!(signals.memory_free.expect("this machine tells") > 1e6);
        assert!(signals.memory_used.expect("this process can be read") > 1e6);
        assert_eq!(signals.deadlocks_per_commit, Some(0.2));
        assert_eq!(signals.cycles_per_commit, None, "not asked for");
        assert_eq!(sensors.read(clock.now(), &interval(0)).cpu_per_commit, None);
    }

    #[test]
    fn a_server_on_another_host_has_no_sensors_and_no_zeros() {
        let address = ServerAddress::Tcp("192.0.2.1:3306".parse().expect("an address"));
        let mut sensors = Sensors::new(Some(address), true, None);
        sensors.read(Nanos::ZERO, &interval(10));
        let signals = sensors.read(Nanos::from_secs(2), &interval(0));
        assert_eq!(signals, Signals::default());
        assert_eq!(sensors.available(), Available::default());
    }
}
