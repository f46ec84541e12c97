//! What `evenkeel guard demo` shows: a line for each second, and a summary.

use crate::format;
use crate::view::http;
use anyhow::Result;
use serde::Deserialize;

/// Columns of an act's name.
const NAME: usize = 20;

/// About a second of load.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub seconds: f64,
    pub commits: u64,
    pub deadlocks: u64,
    /// What the guard said at its end; `None` without one.
    pub guard: Option<Status>,
}

impl Sample {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.commits as f64 / self.seconds } else { 0.0 }
    }
}

/// A stretch of the show under one load.
#[derive(Clone, Debug, Default)]
pub struct Act {
    /// As `direct, 8 clients`.
    pub name: String,
    /// Samples at its begin that its figures leave out: the load, or the guard, is not there yet.
    pub settle: usize,
    pub samples: Vec<Sample>,
}

impl Act {
    /// Its last sample as a line; the number is that of the second since the show began.
    pub fn line(&self, second: usize) -> String {
        let Some(sample) = self.samples.last() else { return String::new() };
        let (rate, met) = (per_second(sample.rate()), met(sample.commits, sample.deadlocks));
        let guard = sample.guard.as_ref().map_or_else(
            String::new,
            |Status { limit, running, waiting, decision, .. }| {
                format!("  limit {limit}  running {running}  waiting {waiting}: {decision}")
            },
        );
        format!("{second:>4} s  {:<NAME$}  {rate:>8}  {met}{guard}", self.name)
    }

    /// What it comes to: mean, deadlocks, slowest and fastest sample.
    fn figures(&self) -> String {
        let counted = self.samples.get(self.settle..).unwrap_or_default();
        if counted.is_empty() {
            return format!("{:<NAME$}  {:>8}\n", self.name, "-");
        }
        let commits: u64 = counted.iter().map(|sample| sample.commits).sum();
        let deadlocks: u64 = counted.iter().map(|sample| sample.deadlocks).sum();
        let seconds: f64 = counted.iter().map(|sample| sample.seconds).sum();
        let rates = || counted.iter().map(Sample::rate);
        format!(
            "{:<NAME$}  {:>8}  {}  ({} to {}, {} s)\n",
            self.name,
            per_second(commits as f64 / seconds),
            met(commits, deadlocks),
            format::fixed(rates().fold(f64::INFINITY, f64::min), 0),
            per_second(rates().fold(0.0, f64::max)),
            counted.len(),
        )
    }
}

/// The end of the show: a line of figures for each act, what they are worth, and where to go from here.
pub fn summary(acts: &[Act]) -> String {
    let figures: String = acts.iter().map(Act::figures).collect();
    let left_out: Vec<String> = acts.iter().map(|act| act.settle.to_string()).collect();
    format!(
        "{figures}In brackets the slowest and the fastest second, and how many there are; the first\n\
         {} are left out, while the load or the limit settles.\n\
         One run; server, guard and clients shared this machine, and took its CPUs from\neach other.\n\n\
         Try it on yours, with clients at port 3307 instead of 3306:\n  \
         evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 \\\n    \
         --metrics 127.0.0.1:9307\n  \
         evenkeel guard top 127.0.0.1:9307\n",
        left_out.join(", ")
    )
}

fn per_second(rate: f64) -> String {
    format!("{}/s", format::fixed(rate, 0))
}

fn met(commits: u64, deadlocks: u64) -> String {
    let figure = match commits {
        0 => "-".to_owned(),
        commits => format!("{:.2}", deadlocks as f64 / commits as f64),
    };
    format!("{figure:>5} deadlocks per commit")
}

#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    pub at_s: f64,
    pub controller: String,
    /// What it decided and why.
    pub decision: String,
    /// Whether the last proven limit is kept for want of a decision.
    pub held: bool,
    pub dry_run: bool,
    /// What `/healthz` says where it is not 200.
    pub trouble: Option<String>,
    pub limit: usize,
    pub running: usize,
    pub waiting: usize,
    pub long_limit: usize,
    pub long_running: usize,
    pub long_waiting: usize,
    /// Seconds from which on a transaction is long.
    pub long_from_s: f64,
    /// How many moved to the long lane while they ran.
    pub moved: u64,
    pub aside: usize,
    pub aside_max: usize,
    /// Times this bound kept one in its place.
    pub aside_refused: u64,
    pub unqueued: u64,
    pub liveness: u64,
    pub reason: String,
    pub completions: u64,
    /// Seconds of response time of these.
    pub response_s: f64,
    pub rolled_back: u64,
    pub overloads: u64,
    pub rejected: u64,
    /// 99th percentile of recent response times in seconds.
    pub response_p99_s: Option<f64>,
    /// Share of time that reading the sensors took.
    pub sensing_share: f64,
    pub signals: Vec<Signal>,
    /// By tenant, most waiting first.
    pub tenants: Vec<Tenant>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Signal {
    pub name: String,
    /// Its value; `None`: not available.
    pub value: Option<f64>,
    /// The value over its baseline near the peak.
    pub ratio: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tenant {
    pub name: String,
    pub weight: u32,
    pub waiting: usize,
    /// How long the first of them has, in seconds.
    pub longest_waiting_s: f64,
    pub in_flight: usize,
    pub admitted: u64,
    /// Wait that half of them and 99 % of them stayed below, in seconds.
    pub wait_p50_s: Option<f64>,
    pub wait_p99_s: Option<f64>,
}

/// Asks the guard that serves its metrics at `address`.
/// Errors: nobody answers there, it is no guard, it has not begun yet, or it is of another version.
pub fn read(address: &str) -> Result<Status> {
    http::get_json(address, "/status", "start the guard with --metrics, and give its address here")
}

#[cfg(test)]
impl From<&evenkeel_guard::snapshot::Snapshot> for Status {
    fn from(snapshot: &evenkeel_guard::snapshot::Snapshot) -> Self {
        serde_json::from_value(super::metrics::status(snapshot)).expect("all that is read is written")
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    fn sample(commits: u64, deadlocks: u64) -> Sample {
        Sample { seconds: 1.0, commits, deadlocks, guard: None }
    }

    #[test]
    fn a_second_is_a_line_with_what_the_guard_said() {
        let guarded = Sample { guard: Some(Status::from(&snapshot())), ..sample(600, 6) };
        let act = Act { name: "guarded, 256 clients".into(), settle: 0, samples: vec![guarded] };
        assert_eq!(
            act.line(7),
            "   7 s  guarded, 256 clients     600/s   0.01 deadlocks per commit  limit 4  running 4  waiting 1: \
         limit 4, because it is fixed"
        );
    }

    #[test]
    fn the_summary_leaves_out_what_has_not_settled() {
        let act = |settle, samples| Act { name: "direct, 8 clients".into(), settle, samples };
        let two = || vec![sample(2_400, 24), sample(0, 90)];
        let text = summary(&[act(0, two()), act(1, two()), act(9, two())]);
        let lines: Vec<&str> = text.lines().take(3).collect();
        assert_eq!(
            lines,
            [
                "direct, 8 clients      1,200/s   0.05 deadlocks per commit  (0 to 2,400/s, 2 s)",
                "direct, 8 clients          0/s      - deadlocks per commit  (0 to 0/s, 1 s)",
                "direct, 8 clients            -",
            ]
        );
        assert!(text.contains("the first\n0, 1, 9 are left out"), "{text}");
    }
}
