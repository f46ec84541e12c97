//! What `evenkeel guard demo` shows: a line for each second, and a summary.

use crate::format;
use crate::view::http;
use anyhow::Result;
use serde::Deserialize;
use std::path::Path;

/// Columns of an act's name.
const NAME: usize = 20;

/// About a second of load.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub seconds: f64,
    pub commits: u64,
    pub deadlocks: u64,
    /// Whether load and limit have settled.
    pub counts: bool,
    /// What the guard said at its end; `None` without one.
    pub guard: Option<String>,
}

impl Sample {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.commits as f64 / self.seconds } else { 0.0 }
    }
}

/// What was seen of one load, in all of its turns.
#[derive(Clone, Debug, Default)]
pub struct Act {
    /// As `direct, 8 clients`.
    pub name: String,
    pub samples: Vec<Sample>,
}

impl Act {
    /// Its last sample as a line; the number is that of the second since the show began.
    pub fn line(&self, second: usize) -> String {
        let Some(sample) = self.samples.last() else { return String::new() };
        let (rate, met) = (per_second(sample.rate()), met(sample.commits, sample.deadlocks));
        let guard = sample.guard.as_ref().map_or_else(String::new, |told| format!("  {told}"));
        format!("{second:>4} s  {:<NAME$}  {rate:>8}  {met}{guard}", self.name)
    }

    fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.counts)
    }

    /// Commits in a second.
    fn mean(&self) -> Option<f64> {
        let seconds: f64 = self.counted().map(|sample| sample.seconds).sum();
        (seconds > 0.0).then(|| self.counted().map(|sample| sample.commits as f64).sum::<f64>() / seconds)
    }

    /// What it comes to: mean, deadlocks, slowest and fastest sample.
    fn figures(&self) -> String {
        let Some(mean) = self.mean() else { return format!("{:<NAME$}  {:>8}\n", self.name, "-") };
        let commits: u64 = self.counted().map(|sample| sample.commits).sum();
        let deadlocks: u64 = self.counted().map(|sample| sample.deadlocks).sum();
        let rates = || self.counted().map(Sample::rate);
        format!(
            "{:<NAME$}  {:>8}  {}  ({} to {}, {} s)\n",
            self.name,
            per_second(mean),
            met(commits, deadlocks),
            format::fixed(rates().fold(f64::INFINITY, f64::min), 0),
            per_second(rates().fold(0.0, f64::max)),
            self.counted().count(),
        )
    }
}

/// The end of the show: a line of figures for each act, which way to take, and where to go from here. `plugin`: the file of
/// the guard inside the server, or why that was not shown.
pub fn summary(acts: &[Act], plugin: Result<&Path, &str>) -> String {
    let figures: String = acts.iter().map(Act::figures).collect();
    let (verdict, install) = match plugin {
        Ok(file) => (
            verdict(acts),
            format!(
                "  evenkeel guard install mysql://root@127.0.0.1 --file {} --mode auto\nor ",
                file.display()
            ),
        ),
        Err(why) => (format!("The guard inside the server was not shown: {why}.\n\n"), String::new()),
    };
    format!(
        "{figures}In brackets the slowest and the fastest second, and how many there are; those in which the load or\n\
         the limit settles are left out. Server, guard and clients shared this machine, and took its CPUs from\n\
         each other.\n\n{verdict}\
         Try it on yours{}with clients at port 3307 instead of 3306:\n  \
         evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 \\\n    \
         --metrics 127.0.0.1:9307\n  \
         evenkeel guard top 127.0.0.1:9307\n",
        if install.is_empty() { ", ".to_owned() } else { format!(", inside the server:\n{install}") },
    )
}

/// So much more is worth taking one way and not the other.
const BETTER: f64 = 1.1;

/// Which way to take, and by how much.
fn verdict(acts: &[Act]) -> String {
    let mean = |word: &str| acts.iter().rev().find(|act| act.name.starts_with(word)).and_then(Act::mean);
    let (Some(direct), Some(plugin), Some(proxy)) = (mean("direct"), mean("plugin"), mean("proxy")) else {
        return String::new();
    };
    let (word, best, other) = match proxy > BETTER * plugin {
        true => ("proxy", proxy, format!("{} inside the server", times(proxy, plugin))),
        false => ("plugin", plugin, format!("{} through the proxy", times(plugin, proxy))),
    };
    if best < BETTER * direct {
        return "Take neither for such a load on such a machine: the server alone commits as much.\n\n"
            .to_owned();
    }
    let mut text =
        format!("Take the {word}: it lets the server commit {} alone, and {other}.\n", times(best, direct));
    if word == "plugin" && proxy >= BETTER * direct {
        text += &format!(
            "Where a plugin may not be installed, take the proxy: {} alone.\n",
            times(proxy, direct)
        );
    }
    text + "\n"
}

/// As `7.2 times as much as`.
fn times(more: f64, less: f64) -> String {
    match more / less {
        ratio if ratio < 1.05 && ratio > 0.95 => "as much as".to_owned(),
        ratio if ratio < 100.0 => format!("{ratio:.1} times as much as"),
        _ => "over 100 times as much as".to_owned(),
    }
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
    /// The same of the long lane.
    pub long_decision: String,
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
    /// Times aside_max was reached.
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
    use super::*;

    fn sample(commits: u64, deadlocks: u64) -> Sample {
        Sample { seconds: 1.0, commits, deadlocks, counts: true, guard: None }
    }

    fn act(name: &str, samples: Vec<Sample>) -> Act {
        Act { name: format!("{name} clients"), samples }
    }

    #[test]
    fn a_second_is_a_line_with_what_the_guard_said() {
        let told = "limit 4  running 4  waiting 1: limit 4, because it is fixed".to_owned();
        let guarded = Sample { guard: Some(told), ..sample(600, 6) };
        assert_eq!(
            act("proxy, 256", vec![guarded]).line(7),
            "   7 s  proxy, 256 clients       600/s   0.01 deadlocks per commit  limit 4  running 4  waiting 1: \
             limit 4, because it is fixed"
        );
    }

    #[test]
    fn the_summary_leaves_out_what_has_not_settled() {
        let unsettled = Sample { counts: false, ..sample(2_400, 24) };
        let acts = [
            act("direct, 8", vec![sample(2_400, 24), sample(0, 90)]),
            act("direct, 8", vec![unsettled.clone(), sample(0, 90)]),
            act("direct, 8", vec![unsettled]),
        ];
        let text = summary(&acts, Err("there is none"));
        let lines: Vec<&str> = text.lines().take(3).collect();
        assert_eq!(
            lines,
            [
                "direct, 8 clients      1,200/s   0.05 deadlocks per commit  (0 to 2,400/s, 2 s)",
                "direct, 8 clients          0/s      - deadlocks per commit  (0 to 0/s, 1 s)",
                "direct, 8 clients            -",
            ]
        );
        assert!(text.contains("was not shown: there is none.") && !text.contains("Take "), "{text}");
    }

    #[test]
    fn the_summary_says_which_way_to_take_and_by_how_much() {
        let told = |[few, direct, plugin, proxy]: [u64; 4]| {
            let loads =
                [("direct, 8", few), ("direct, 256", direct), ("plugin, 256", plugin), ("proxy, 256", proxy)];
            let acts = loads.map(|(name, rate)| act(name, vec![sample(rate, 0)]));
            summary(&acts, Ok(Path::new("/p/evenkeel_guard.so")))
        };
        for (rates, said) in [
            (
                [900, 100, 720, 400],
                "commit 7.2 times as much as alone, and 1.8 times as much as through the proxy.\nWhere",
            ),
            (
                [900, 0, 400, 720],
                "Take the proxy: it lets the server commit over 100 times as much as alone, and 1.8",
            ),
            ([900, 700, 720, 400], "Take neither for such a load"),
        ] {
            let text = told(rates);
            assert!(text.contains(said) && text.contains("--file /p/evenkeel_guard.so"), "{text}");
        }
    }
}
