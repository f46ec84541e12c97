//! Watching the server during a run, from a connection of its own that is no part of the load: its status at both
//! ends of the measured phase; in between its gauges, and how long a small probe is on its way.
//!
//! A look takes the server about 0.6 ms of CPU, once a second in a long run: 0.06 % of one CPU.

use super::figures::estimate;
use crate::store::format::{EstimateRecord, GaugeRecord};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::{Clock, monotonic};
use evenkeel_sense::cpu::{Affinity, CpuSet};
use evenkeel_sense::sampler::Schedule;
use evenkeel_sense::status::{StatusReading, StatusUse, gauges_looked_at};
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_site::server::{Control, Flavor, StatusOf};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// Looks at the stop switch this often while it waits.
const PATIENCE: Duration = Duration::from_millis(50);
/// Time between two looks in a long run.
const SPACING: Nanos = Nanos::from_secs(1);
/// Readings of the status at one end, at most.
const READINGS: usize = 3;
/// What a probe asks: nothing that takes time, so that its response time is nearly all delay.
const PROBE: &str = "SELECT 1";

#[derive(Debug, Default)]
pub(super) struct Watched {
    /// From one end of the measured phase to the other, with what it is of; `None` where the server did not answer at one
    /// of them.
    pub status: Option<(StatusUse, StatusStretch)>,
    pub gauges: BTreeMap<String, GaugeRecord>,
    /// Delay of the probes, ms; `None` where the server does not tell how long a statement took it.
    pub mu_ms: Option<EstimateRecord>,
    /// What of it their thread, and the server's as far as it is known, waited for a CPU, ms; `None` where the kernel does not
    /// tell.
    pub probe_wait_ms: Option<EstimateRecord>,
}

/// From one reading of the status to another. A server that is busy takes its time to answer, and reads at some moment of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusStretch {
    /// From the start of the measured phase.
    pub from: Nanos,
    /// End of it, from the start of the measured phase.
    pub to: Nanos,
    /// How much longer or shorter it may have been.
    pub slack: Nanos,
}

/// When and where to watch.
pub(super) struct Watch {
    /// Runs since the start of the warm-up.
    pub clock: Clock,
    pub stop: Stop,
    pub warm_up: Nanos,
    pub measure: Nanos,
    /// CPUs of the generator: a probe must not take those of the server.
    pub cpus: CpuSet,
    /// Process of the server, where it runs here.
    pub server_pid: Option<u32>,
}

/// Status of the server and of the session that asks.
struct Ends {
    server: StatusReading,
    own: Option<StatusReading>,
    asked: Nanos,
    answered: Nanos,
}

impl Ends {
    /// In the middle between question and answer.
    fn at(&self) -> Nanos {
        Nanos(self.asked.0.midpoint(self.answered.0))
    }

    fn slack(&self) -> Nanos {
        Nanos((self.answered - self.asked).0 / 2)
    }
}

impl Watch {
    /// Watches to the end of the measured phase.
    pub(super) fn run(&self, mut control: Control) -> Watched {
        // Where the kernel refuses, the probes compete with the server for its CPUs: little noise, no wrong figure.
        let _ = Affinity::of(&self.cpus).apply();
        let profiled = control.exec("SET profiling_history_size = 1, profiling = 1").is_ok();
        let server = self.server_pid.and_then(|pid| Some((pid, server_thread(&mut control)?)));
        self.wait(self.warm_up);
        let before = self.ends(&mut control);
        let mut gauges = BTreeMap::new();
        let mut delays = Vec::new();
        let spacing = spacing(&Schedule::new(self.measure));
        for at in looks(self.measure).map(|at| self.warm_up + at) {
            self.wait(at);
            if self.stop.is_set() {
                break;
            }
            // One that comes too late, behind a slow answer, would follow on the heels of the last.
            if self.clock.now() > at + spacing {
                continue;
            }
            if profiled {
                delays.extend(probe(&mut control, server));
            }
            if let Ok(rows) = control.status_of(StatusOf::Server, gauges_looked_at()) {
                StatusReading::from(&rows)
                    .gauges()
                    .for_each(|(name, value)| add(gauges.entry(name.to_owned()).or_default(), value));
            }
        }
        self.wait(self.warm_up + self.measure);
        let after = self.ends(&mut control);
        Watched {
            status: before.zip(after).map(|(before, after)| {
                let (from, to) = (before.at() - self.warm_up, after.at() - self.warm_up);
                let slack = before.slack() + after.slack();
                (between(&before, &after), StatusStretch { from, to, slack })
            }),
            gauges,
            mu_ms: mean(delays.iter().map(|delay| Some(delay.whole_ms))),
            probe_wait_ms: mean(delays.iter().map(|delay| delay.waited_ms)),
        }
    }

    /// A server under load may take its time; of a few readings the quickest stands.
    fn ends(&self, control: &mut Control) -> Option<Ends> {
        let begun = self.clock.now();
        let mut quickest: Option<Ends> = None;
        for _ in 0..READINGS {
            let ends = self.read_ends(control)?;
            if quickest.as_ref().is_none_or(|other| ends.slack() < other.slack()) {
                quickest = Some(ends);
            }
            let is_quick = quickest.as_ref().is_some_and(|ends| ends.slack() <= Nanos(self.measure.0 / 200));
            if is_quick || self.clock.now() - begun > Nanos(self.measure.0 / 10) {
                break;
            }
        }
        quickest
    }

    fn read_ends(&self, control: &mut Control) -> Option<Ends> {
        let own = control.status_of(StatusOf::Session, &[]).ok().map(|rows| StatusReading::from(&rows));
        let asked = self.clock.now();
        let server = StatusReading::from(&control.status_of(StatusOf::Server, &[]).ok()?);
        Some(Ends { server, own, asked, answered: self.clock.now() })
    }

    fn wait(&self, until: Nanos) {
        while self.clock.now() < until && !self.stop.is_set() {
            thread::sleep(PATIENCE.min((until - self.clock.now()).into()));
        }
    }
}

/// What others did between the ends. Both ends read the session first, so that what one reading leaves out of the
/// session's part at the beginning, the other adds at the end.
fn between(before: &Ends, after: &Ends) -> StatusUse {
    let elapsed = after.at() - before.at();
    let server = StatusUse::between(&before.server, &after.server, elapsed);
    match (&before.own, &after.own) {
        (Some(before), Some(after)) => server.without_session(&StatusUse::between(before, after, elapsed)),
        _ => server,
    }
}

/// Instants of the looks, from the start of the measured phase: one in each stretch between samples of the machine,
/// or of a second, and never at the same place of it, so that no periodic load is met always at the same moment.
fn looks(measure: Nanos) -> impl Iterator<Item = Nanos> {
    /// Multiples of the golden ratio are spread most evenly over a stretch.
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let schedule = Schedule::new(measure);
    let spacing = spacing(&schedule);
    let first = schedule.first.unwrap_or_default();
    let end = schedule.samples.last().copied().unwrap_or_default();
    let count = (end - first).0.checked_div(spacing.0).unwrap_or(0);
    (0..count).map(move |number| {
        let aside = ((number + 1) as f64 * GOLDEN).fract();
        first + Nanos(spacing.0 * number) + Nanos((spacing.0 as f64 * aside) as u64)
    })
}

fn spacing(schedule: &Schedule) -> Nanos {
    schedule.spacing().min(SPACING)
}

/// What a probe took besides its execution.
#[derive(Clone, Copy, Debug)]
struct Delay {
    whole_ms: f64,
    /// What of it our own thread, or the server's, could have run and waited for a CPU.
    waited_ms: Option<f64>,
}

/// The thread of the server that answers this connection, where the server tells its number at the kernel.
fn server_thread(control: &mut Control) -> Option<u32> {
    let sql = match control.version().flavor {
        Flavor::MariaDb => "SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()",
        Flavor::MySql => {
            "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()"
        }
    };
    control.query_value(sql).ok()??.parse().ok()
}

/// What our thread has waited for a CPU until now, with that of the server where its process and number are known.
fn waited(server: Option<(u32, u32)>) -> Option<Nanos> {
    let own = ThreadWaits::own()?.waited;
    let of_server = server.and_then(|(pid, thread)| ThreadWaits::of(pid, thread));
    Some(own + of_server.map_or(Nanos::ZERO, |waits| waits.waited))
}

/// Response time of a probe less its execution time at the server. The server goes on counting while it cleans
/// up behind the answer, a few microseconds, so that it may be that much too small.
fn probe(control: &mut Control, server: Option<(u32, u32)>) -> Option<Delay> {
    let before = waited(server);
    let sent = monotonic();
    control.exec(PROBE).ok()?;
    let response = monotonic() - sent;
    let waited = before.zip(waited(server)).map(|(before, after)| after - before);
    // The one statement that is not profiled itself.
    let rows = control.query("SHOW PROFILES").ok()?;
    let (duration, query) = (rows.column("Duration")?, rows.column("Query")?);
    let row = rows.rows.last()?;
    let executed_s: f64 = row[duration].as_deref()?.parse().ok()?;
    // Behind a proxy the answer may come from another session.
    let whole_ms = response.as_millis_f64() - 1e3 * executed_s;
    // What the server's thread waited in the middle of the execution is no part of the delay.
    let waited_ms = waited.map(|waited| waited.as_millis_f64().min(whole_ms.max(0.0)));
    (row[query].as_deref() == Some(PROBE)).then_some(Delay { whole_ms, waited_ms })
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<EstimateRecord> {
    let values: Vec<f64> = values.flatten().collect();
    (!values.is_empty()).then(|| estimate(&values))
}

fn add(gauge: &mut GaugeRecord, value: u64) {
    let value = value as f64;
    gauge.samples += 1;
    gauge.mean += (value - gauge.mean) / f64::from(gauge.samples);
    gauge.max = gauge.max.max(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_looked_at_every_second_and_a_short_one_ten_times() {
        for (seconds, count) in [(180, 120), (15, 10), (4, 10), (0, 0)] {
            assert_eq!(looks(Nanos::from_secs(seconds)).count(), count, "{seconds} s");
        }
    }

    #[test]
    fn looks_rise_inside_the_run_and_meet_no_period_always_at_the_same_place() {
        let looks: Vec<Nanos> = looks(Nanos::from_secs(180)).collect();
        assert!(looks.is_sorted() && looks[0] >= Nanos::from_secs(30));
        assert!(looks.last() <= Some(&Nanos::from_secs(150)));
        let mut tenths = [0; 10];
        looks.iter().for_each(|at| tenths[(at.0 % 1_000_000_000 / 100_000_000) as usize] += 1);
        assert!(tenths.iter().all(|count| (10..=14).contains(count)), "{tenths:?}");
    }
}
