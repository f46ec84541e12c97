//! What `evenkeel guard demo` shows: a line for each second, and a summary.

use super::status::Status;
use crate::format;

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
            "   7 s  guarded, 256 clients     600/s   0.01 deadlocks per commit  limit 4  running 4  waiting 2: \
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
