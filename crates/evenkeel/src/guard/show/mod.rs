//! What `evenkeel guard demo` shows: acts of one-second samples, as a chart, as lines, as a summary.
//!
//! No clock, no terminal: samples in, text out.

mod chart;
mod text;

pub use text::{line, summary};

use crate::format;
use crate::view::picture::Frame;

/// About a second of load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Its length in seconds.
    pub seconds: f64,
    /// Transactions that were committed in it.
    pub commits: u64,
    /// Deadlocks that the server broke in it.
    pub deadlocks: u64,
    /// Mean response time in seconds of what was committed; `None` where nothing was.
    pub response_s: Option<f64>,
    /// What the guard said at its end; `None` without one.
    pub guard: Option<Guarded>,
}

/// What a guard reports of itself in a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guarded {
    /// Most transactions that may run.
    pub limit: usize,
    /// Transactions that run.
    pub running: usize,
    /// Sessions that wait.
    pub waiting: usize,
    /// What the controller decided, and why.
    pub decision: String,
}

/// A stretch of the show under one load.
#[derive(Clone, Debug, Default)]
pub struct Act {
    /// As `direct, 8 clients`.
    pub name: String,
    /// A word or two for the axis of the chart.
    pub mark: String,
    /// Samples at its begin that its figures leave out: the load, or the guard, is not there yet.
    pub settle: usize,
    /// The samples in their order.
    pub samples: Vec<Sample>,
}

/// What an act comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Commits per second over all its samples.
    pub mean: f64,
    /// The slowest and the fastest of its samples, in commits per second.
    pub range: (f64, f64),
    /// Number of samples.
    pub samples: usize,
    /// `None` where nothing was committed.
    pub deadlocks_per_commit: Option<f64>,
}

/// All acts of the demo.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// The server, as `MariaDB 10.11.19`.
    pub server: String,
    /// Samples of all acts, when they are over.
    pub planned: usize,
    /// Where the guard serves its metrics; `None` before it runs.
    pub metrics: Option<String>,
    /// Those that have begun.
    pub acts: Vec<Act>,
}

impl Sample {
    /// Commits per second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.commits as f64 / self.seconds } else { 0.0 }
    }
}

impl Act {
    /// What it comes to so far; `None` before its first sample that counts.
    pub fn figures(&self) -> Option<Figures> {
        let counted = self.samples.get(self.settle..).filter(|counted| !counted.is_empty())?;
        let commits: u64 = counted.iter().map(|sample| sample.commits).sum();
        let seconds: f64 = counted.iter().map(|sample| sample.seconds).sum();
        let deadlocks: u64 = counted.iter().map(|sample| sample.deadlocks).sum();
        let rates = || counted.iter().map(Sample::rate);
        Some(Figures {
            mean: commits as f64 / seconds,
            range: (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max)),
            samples: counted.len(),
            deadlocks_per_commit: (commits > 0).then(|| deadlocks as f64 / commits as f64),
        })
    }
}

impl Show {
    /// A new act begins.
    pub fn begin(&mut self, act: Act) {
        self.acts.push(act);
    }

    /// A second is over.
    pub fn push(&mut self, sample: Sample) {
        if let Some(act) = self.acts.last_mut() {
            act.samples.push(sample);
        }
    }

    /// Samples so far.
    pub fn len(&self) -> usize {
        self.acts.iter().map(|act| act.samples.len()).sum()
    }

    /// The picture, of at most the frame's size.
    pub fn draw(&self, frame: Frame) -> String {
        let below = self.below();
        let mut lines = self.above(frame, below.len());
        lines.extend(below);
        lines.truncate(frame.height.max(1));
        let cut = |line: String| line.chars().take(frame.width).collect::<String>();
        lines.into_iter().map(cut).collect::<Vec<_>>().join("\n")
    }

    /// Only the chart, to stay in the terminal above the summary; each line with its end.
    pub fn chart(&self, frame: Frame) -> String {
        chart::draw(self, frame.width, rows(frame, SUMMARY)).iter().map(|line| format!("{line}\n")).collect()
    }

    fn above(&self, frame: Frame, below: usize) -> Vec<String> {
        let mut lines = vec![
            format!("A flash sale on {}: second {} of {}", self.server, self.len(), self.planned),
            "each transaction: a read, five updates of 200 hot items in any order, an insert".to_owned(),
            String::new(),
        ];
        lines.extend(chart::draw(self, frame.width, rows(frame, lines.len() + below)));
        lines
    }

    /// Figures and the guard's words below the chart.
    fn below(&self) -> Vec<String> {
        let mut lines = vec![String::new()];
        lines.extend(self.acts.iter().map(text::figures));
        lines.push(String::new());
        let last = self.acts.last().and_then(|act| act.samples.last());
        let response =
            last.and_then(|sample| sample.response_s).map_or("-".into(), |s| format::time(s * 1e3));
        lines.push(match last.and_then(|sample| sample.guard.as_ref()) {
            Some(guard) => format!("{}  response {response}", text::guarded(guard)),
            None => format!("no guard  response {response}"),
        });
        lines.extend(last.and_then(|sample| Some(sample.guard.as_ref()?.decision.clone())));
        lines.push("q or Ctrl-C ends it; no server and no file stays behind".to_owned());
        let top = |metrics| format!("more of it in another terminal: evenkeel guard top {metrics}");
        lines.extend(self.metrics.as_ref().map(top));
        lines
    }
}

/// Rows of the chart beside so many other lines, its axis not counted.
fn rows(frame: Frame, others: usize) -> usize {
    frame.height.saturating_sub(others + 1).clamp(3, 16)
}

/// Lines of the summary, and of the command line before and after it.
const SUMMARY: usize = 13;

#[cfg(test)]
mod tests;
