pub use super::carried::FULL_MIN;
use super::carried::{Carried, Clear, Range, RunAt, ratio};

/// Share of a run that has to be free of disturbance for the free part to speak for it.
pub const CLEAR_MIN: f64 = 0.1;

/// No more than this is believed to have been taken in stretches that count as free.
const TAKEN_UNSEEN_MAX: f64 = 0.3;

/// The rate that a server would carry without neighbours, per second, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    /// Where it lies, with 95 % confidence: what was measured, as wide as the bounds beside neighbours where these say more.
    pub range: Range,
    /// What the runs at saturation say by themselves: more of them make it narrower.
    pub measured: Range,
    pub runs: usize,
}

impl Alone {
    /// From valid runs; `None` where fewer than two runs at saturation tell.
    ///
    /// At saturation the server is never idle for want of requests, so completions per second are its capacity. In a
    /// run `i` with `n_i` completions in `T_i` seconds that nobody disturbed, the capacity is `sum n / sum T` (a ratio;
    /// its variance over runs as in [`carried`](super::carried), on the logarithmic scale). Where too little of the time was free, and CPU was the limit (server and neighbours together used nearly
    /// all of it), `x (u + v) / u` is, with `u` the CPU that the server had and `v` what was taken of it.
    pub fn of(runs: &[&RunAt], carried: &Carried) -> Option<Self> {
        let saturated = carried.saturated(runs);
        let found = clear(&saturated).or_else(|| handed_back(&saturated));
        // Alone it carries no less than it was seen to carry beside others, and perhaps as much as it was not seen to refuse: a
        // server that is given more than it carries may do less than its best.
        found.map(|found| {
            let least = carried.at_least.unwrap_or(0.0);
            let most = carried.at_most.unwrap_or(0.0).max(least);
            let range = Range { low: found.measured.low.max(least), high: found.measured.high.max(most) };
            Self { range, ..found }
        })
    }
}

fn clear(saturated: &[&RunAt]) -> Option<Alone> {
    let own: Vec<(f64, f64)> = saturated
        .iter()
        .filter_map(|run| run.clear.map(|clear| (completed_alone(run, clear), clear.seconds)))
        .filter(|(completed, seconds)| *completed > 0.0 && *seconds > 0.0)
        .collect();
    let all: f64 = saturated.iter().filter(|run| run.clear.is_some()).map(|run| run.seconds).sum();
    let free: f64 = own.iter().map(|(_, seconds)| seconds).sum();
    let coverage = if all > 0.0 { free / all } else { 0.0 };
    if coverage < CLEAR_MIN {
        return None;
    }
    ratio(&own).map(|range| Alone { range, measured: range, runs: own.len() })
}

/// Completions of free stretches, with what a stretch does not tell handed back where CPU is the limit.
fn completed_alone(run: &RunAt, clear: Clear) -> f64 {
    let left = if run.cpu_is_full() { 1.0 - clear.taken.clamp(0.0, TAKEN_UNSEEN_MAX) } else { 1.0 };
    clear.completed as f64 / left
}

fn handed_back(saturated: &[&RunAt]) -> Option<Alone> {
    let own: Vec<(f64, f64)> = saturated
        .iter()
        .filter_map(|run| {
            let (used, taken) = (run.cpu?, run.taken?);
            run.cpu_is_full().then(|| (run.completed as f64 * (used + taken) / used, run.seconds))
        })
        .collect();
    let all_full = own.len() == saturated.len();
    let range = if all_full { ratio(&own) } else { None };
    range.map(|range| Alone { range, measured: range, runs: own.len() })
}
