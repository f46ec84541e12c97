//! Why a profile varies: each suspect is the cause of what differs, is not, or cannot be told.
//!
//! Two targets are compared, the slowest and the fastest, block by block (a start of every target and the runs on it), so that
//! what the machine did over time falls out. What a suspect does to a request is a time wherever that is known. It is the
//! cause where that time differs with 95 % confidence and makes a good part of what the response times differ by, and is not
//! where the whole interval is less than that. A plan is compared by its shape and by rows touched, stolen CPU time and
//! neighbours by their share of the CPUs, syncs of data files by how many are met; these are believed only where nothing else explains the difference.
//! Starts of one server are told from its runs by variance components of the same differences.

mod case;
mod cpu;
mod data_syncs;
mod judge;
mod plans;
mod reads;
mod timed;
mod verdict;

use crate::statistics::{CONFIDENCE, fisher_quantile};
use crate::variance::{Component, Components, Level, Observation as Run, Position};
pub use verdict::{
    Clue, Compared, Facts, Gap, HELD_MIN, LITTLE, NEIGHBOURS_MIN, OWN_MAX, Observation, ROWS_MIN, Ruling,
    SHARE_MIN, STOLEN_MIN, Seen, Suspect, Verdict, Why,
};

/// What starts do, by the runs of two targets that were made side by side: what the machine did meanwhile is in both and falls out of their
/// differences, and the starts of both are in these. Of a single target by its runs alone, and the machine is in that.
fn start(runs: &[Observation], slow: usize, fast: usize, tau_ms: f64) -> Verdict {
    let undecided = |evidence: String| Verdict::undecided(Suspect::Start, evidence);
    let sides = if slow == fast { 1.0 } else { 2.0 };
    let found = Components::of(&differences(runs, slow, fast));
    let all = match &found {
        Ok(found) => &found.all,
        Err(error) => return undecided(format!("Not known: {error}.")),
    };
    let of = |level| all.iter().find(|component| component.level == level);
    match (of(Level::Start), of(Level::Run)) {
        (Some(start), Some(run)) => told(start, run, sides, tau_ms),
        _ => undecided(
            "Not known: this needs two starts with two runs each, and servers that can be restarted."
                .to_owned(),
        ),
    }
}

fn told(start: &Component, run: &Component, sides: f64, tau_ms: f64) -> Verdict {
    let (low, value, high) = share_percent(start, run);
    let deviation = |variance: f64| (variance / sides).sqrt();
    let little = LITTLE * tau_ms;
    let ruling = match () {
        () if deviation(start.high) < little || high < 100.0 * SHARE_MIN => Ruling::NotTheCause,
        () if start.low > 0.0 && deviation(start.variance) >= little && value >= 100.0 * SHARE_MIN => {
            Ruling::Cause
        }
        () => Ruling::Undecided,
    };
    let evidence = format!(
        "Starts of a server make response times differ by {} ms (standard deviation; {} to {}) of {} ms, which is {} % of \
         the variance of a run.",
        number(deviation(start.variance)),
        number(deviation(start.low)),
        number(deviation(start.high)),
        number(tau_ms),
        number(value)
    );
    let figure = Some(Clue { name: "start_share_percent", value, interval: Some((low, high)) });
    Verdict { suspect: Suspect::Start, ruling, evidence, figure }
}

/// What starts make of the variance of a run, percent, with its 95 % interval: the intraclass correlation of a one-way model (Shrout and Fleiss,
/// Psychological Bulletin 86 (1979) 420; Searle, Linear Models, 1971, section 9.9). With `F` the mean square between starts over that within
/// them, `n` runs of each and `F'` that ratio over a quantile of its distribution, an end is `(F' - 1) / (F' + n - 1)`.
fn share_percent(start: &Component, run: &Component) -> (f64, f64, f64) {
    let (starts, runs) = (start.units, run.units);
    let each = runs / starts;
    if !(run.variance > 0.0 && starts > 1.0 && runs > starts) {
        let all = if start.variance > 0.0 { 100.0 } else { 0.0 };
        return (0.0, all, 100.0);
    }
    let ratio = 1.0 + each * start.variance / run.variance;
    let (between, within) = (starts - 1.0, runs - starts);
    let beyond = (1.0 - CONFIDENCE) / 2.0;
    let of = |ratio: f64| 100.0 * ((ratio - 1.0) / (ratio + each - 1.0)).clamp(0.0, 1.0);
    let low = of(ratio / fisher_quantile(1.0 - beyond, between, within));
    let high = of(ratio / fisher_quantile(beyond, between, within));
    (low, of(ratio), high)
}

/// Differences between runs of the same numbers, raised until all are above zero, as means of runs have to be.
fn differences(runs: &[Observation], slow: usize, fast: usize) -> Vec<Run> {
    let other = |run: &Observation| {
        let is_it =
            |other: &&Observation| (other.target, other.start, other.run) == (fast, run.start, run.run);
        if slow == fast { Some(0.0) } else { runs.iter().find(is_it).map(|other| other.tau_ms) }
    };
    let of_slow = runs.iter().filter(|run| run.target == slow);
    let found: Vec<(Position, f64)> = of_slow
        .filter_map(|run| {
            let place = Position { start: run.start, run: run.run, ..Position::default() };
            Some((place, run.tau_ms - other(run)?))
        })
        .collect();
    let least = found.iter().map(|(_, difference)| *difference).fold(f64::INFINITY, f64::min);
    let raised = |(place, difference): (Position, f64)| Run {
        place,
        mean: difference - least + 1.0,
        batches: Vec::new(),
    };
    found.into_iter().map(raised).collect()
}

/// A number with three digits, or all of those before its point.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        large if large >= 10.0 => 1,
        large if large >= 1.0 => 2,
        large if large >= 0.1 => 3,
        _ => 4,
    };
    let shown = format!("{value:.digits$}");
    // What is no more than a rounded nothing has no sign.
    if shown.bytes().all(|byte| b"-0.".contains(&byte)) { "0".to_owned() } else { shown }
}

/// A difference with its interval: `5.10 ms (4.95 to 5.25)`.
fn with_interval(gap: &Gap, unit: &str) -> String {
    format!("{}{unit} ({} to {})", number(gap.mean), number(gap.low), number(gap.high))
}

#[cfg(test)]
mod tests;
