//! Whether starts of one server differ.

use super::observation::Observation;
use super::threshold::{LITTLE, SHARE_MIN};
use super::verdict::{Figure, Ruling, Suspect, Verdict};
use super::words::number;
use crate::variance::{Component, Components, Level, Observation as Run, Position};

/// What starts do, by the runs of two targets that were made side by side: what the machine did meanwhile is in both and falls out of their
/// differences, and the starts of both are in these. Of a single target by its runs alone, and the machine is in that.
pub(super) fn start(runs: &[Observation], slow: usize, fast: usize, tau_ms: f64) -> Verdict {
    let undecided = |evidence: String| Verdict {
        suspect: Suspect::Start,
        ruling: Ruling::Undecided,
        evidence,
        figure: None,
    };
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
            "Not known: it takes two starts with two runs each, and servers that can be started anew."
                .to_owned(),
        ),
    }
}

fn told(start: &Component, run: &Component, sides: f64, tau_ms: f64) -> Verdict {
    let all = start.variance + run.variance;
    let share = |variance: f64| if all > 0.0 { (100.0 * variance / all).min(100.0) } else { 0.0 };
    let (low, value, high) = (share(start.low), share(start.variance), share(start.high));
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
    let figure = Some(Figure { name: "start_share_percent", value, interval: Some((low, high)) });
    Verdict { suspect: Suspect::Start, ruling, evidence, figure }
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
