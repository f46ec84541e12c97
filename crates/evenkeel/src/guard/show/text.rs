//! The same as lines of text.

use super::acts::{Act, Guarded, Sample, Show};
use crate::format;

const NAME: usize = 20;

/// A second as a line, for where no terminal is.
pub fn line(second: usize, act: &Act, sample: &Sample) -> String {
    let per_commit = (sample.commits > 0).then(|| sample.deadlocks as f64 / sample.commits as f64);
    let mut line =
        format!("{second:>4} s  {:<NAME$}  {:>8}  {}", act.name, per_second(sample.rate()), met(per_commit));
    if let Some(guard) = &sample.guard {
        line.push_str(&format!("  {}: {}", guarded(guard), guard.decision));
    }
    line
}

pub fn figures(act: &Act) -> String {
    let Some(figures) = act.figures() else { return format!("{:<NAME$}  {:>8}", act.name, "-") };
    let (slowest, fastest) = figures.range;
    format!(
        "{:<NAME$}  {:>8}  {}  ({} to {}, {} s)",
        act.name,
        per_second(figures.mean),
        met(figures.deadlocks_per_commit),
        format::fixed(slowest, 0),
        per_second(fastest),
        figures.samples,
    )
}

pub fn guarded(guard: &Guarded) -> String {
    format!("limit {}  running {}  waiting {}", guard.limit, guard.running, guard.waiting)
}

/// The end of the show: three lines of figures, what they are worth, and where to go from here.
pub fn summary(show: &Show) -> String {
    let mut text = String::new();
    for act in &show.acts {
        text.push_str(&figures(act));
        text.push('\n');
    }
    let left_out: Vec<String> = show.acts.iter().map(|act| act.settle.to_string()).collect();
    text.push_str(&format!(
        "In brackets the slowest and the fastest second, and how many there are; the first\n\
         {} are left out, while the load or the limit settles.\n",
        left_out.join(", ")
    ));
    text.push_str(
        "One run; server, guard and clients shared this machine, and took its CPUs from\neach other.\n\n\
         Try it on yours, with clients at port 3307 instead of 3306:\n  \
         evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 \\\n    \
         --metrics 127.0.0.1:9307\n  \
         evenkeel guard top 127.0.0.1:9307\n",
    );
    text
}

fn per_second(rate: f64) -> String {
    format!("{}/s", format::fixed(rate, 0))
}

fn met(deadlocks_per_commit: Option<f64>) -> String {
    let figure = deadlocks_per_commit.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    format!("{figure:>5} deadlocks per commit")
}
