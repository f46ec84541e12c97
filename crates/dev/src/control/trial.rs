//! How a controller is judged on a plant, as decision 3 of docs/decisions.md lays down; and what a sudden change of the number of clients costs it on the
//! measured curves.

use super::Contender;
use super::simulation::{Load, Phase, Scenario, simulate};
use crate::plant::{Distribution, MEASURED, SHIFT_HALVES, TICK_S, random_plant};
use evenkeel_core::Nanos;
use evenkeel_core::control::Controller;
use evenkeel_core::random::Seed;

/// Clients of a trial, which is also the highest initial limit.
pub const CLIENTS: u32 = 1_024;
pub const INITIAL_LIMITS: [u32; 3] = [1, 8, CLIENTS];
const HALVES: usize = 300;
/// Halves within which a controller has to settle.
const SETTLE: usize = 60;
/// Throughput is averaged over so many halves before it is held against a bound.
const SMOOTH: usize = 5;
/// Share of the best throughput from which on a controller counts as settled.
const NEAR: f64 = 0.9;
/// Least swing of a limit cycle, as a share of the best throughput.
const SWING: f64 = 0.15;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Halves until it was settled, at the start and after the peak has moved; `None` where it was not within 60.
    pub settled: [Option<usize>; 2],
    /// Of each six halves in succession while it should be settled the best one counts; this is the smallest of these.
    pub worst: f64,
    /// Whether it ended in a limit cycle of more than 15 %.
    pub cycles: bool,
    /// Mean throughput over the last 100 halves, as a share of the best.
    pub steady: f64,
}

impl Verdict {
    pub fn is_settled(&self) -> bool {
        self.settled.iter().all(Option::is_some)
    }
}

/// Runs a controller on plant `number` of a seed, with this limit in force in the first tick.
pub fn run(
    distribution: &Distribution,
    seed: Seed,
    number: u64,
    initial_limit: u32,
    controller: &mut dyn Controller,
) -> Verdict {
    let plant = random_plant(distribution, seed, number);
    let half = Nanos::from_secs_f64(distribution.half_s(&plant));
    let moved = plant.shift.map(|_| SHIFT_HALVES as usize);
    let scenario = Scenario {
        plants: vec![plant],
        load: Load::constant(CLIENTS),
        tick: Nanos::from_secs_f64(TICK_S),
        duration: Nanos(half.0 * (HALVES as u64 + 1)),
        initial_limit,
        seed: seed.child("trial").numbered(number).numbered(u64::from(initial_limit)),
    };
    let trace = simulate(&scenario, controller);
    let shares: Vec<f64> = trace.shares(half).into_iter().take(HALVES).collect();
    judge(&shares, moved)
}

/// Judges throughput as a share of the best, half by half; `moved` is the half at which the peak moved.
fn judge(shares: &[f64], moved: Option<usize>) -> Verdict {
    let end = moved.unwrap_or(shares.len()).min(shares.len());
    let first = stretch(&shares[..end]);
    let second = if end < shares.len() { stretch(&shares[end..]) } else { (Some(0), 1.0) };
    let tail = &shares[shares.len().saturating_sub(100)..];
    Verdict {
        settled: [first.0, second.0],
        worst: first.1.min(second.1),
        cycles: swings(tail) >= 4,
        steady: tail.iter().sum::<f64>() / tail.len().max(1) as f64,
    }
}

/// When it settled, and the worst from there on. Where it never did, the worst counts from the half by which it should have.
fn stretch(shares: &[f64]) -> (Option<usize>, f64) {
    let means: Vec<f64> =
        shares.windows(SMOOTH).map(|window| window.iter().sum::<f64>() / SMOOTH as f64).collect();
    let settled = means.iter().take(SETTLE - SMOOTH + 1).position(|&mean| mean >= NEAR);
    let from = settled.map_or(SETTLE, |at| at + SMOOTH).min(shares.len());
    let best_of = |window: &[f64]| window.iter().copied().fold(0.0, f64::max);
    let worst = shares[from..].windows(SMOOTH + 1).map(best_of).fold(1.0, f64::min);
    (settled.map(|at| at + SMOOTH), worst)
}

/// How often the means of five halves turned after a swing of at least [`SWING`]; a cycle has two turns.
fn swings(shares: &[f64]) -> usize {
    let means = shares.windows(SMOOTH).map(|window| window.iter().sum::<f64>() / SMOOTH as f64);
    let (mut low, mut high, mut rising, mut turns) = (f64::MAX, f64::MIN, None, 0);
    for mean in means {
        low = low.min(mean);
        high = high.max(mean);
        let (up, down) = (mean - low >= SWING, high - mean >= SWING);
        if (up && rising != Some(true)) || (down && rising != Some(false)) {
            turns += 1;
            rising = Some(up);
            (low, high) = (mean, mean);
        } else if (rising == Some(true) && mean >= high) || (rising == Some(false) && mean <= low) {
            (low, high) = (mean, mean);
        }
    }
    turns
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    pub runs: usize,
    /// Runs that settled each time.
    pub settled: usize,
    /// Smallest worst fraction of all runs, also of those that never settled.
    pub worst: f64,
    /// Runs, settled or not, that were held below 70 % for longer than five halves when they had to be settled.
    pub below: usize,
    pub cycles: usize,
    pub steady: f64,
    /// Median and 98th percentile of the halves until settled at the start; not settled counts as never.
    pub halves: [Option<usize>; 2],
}

impl Summary {
    pub fn of(verdicts: &[Verdict]) -> Self {
        let mut halves: Vec<usize> =
            verdicts.iter().map(|verdict| verdict.settled[0].unwrap_or(usize::MAX)).collect();
        halves.sort_unstable();
        let quantile = |share: f64| {
            let at = (halves.len() as f64 * share).ceil() as usize;
            halves.get(at.saturating_sub(1)).copied().filter(|&halves| halves != usize::MAX)
        };
        Self {
            runs: verdicts.len(),
            settled: verdicts.iter().filter(|verdict| verdict.is_settled()).count(),
            worst: verdicts.iter().map(|verdict| verdict.worst).fold(1.0, f64::min),
            below: verdicts.iter().filter(|verdict| verdict.worst < 0.7).count(),
            cycles: verdicts.iter().filter(|verdict| verdict.cycles).count(),
            steady: verdicts.iter().map(|verdict| verdict.steady).sum::<f64>() / verdicts.len().max(1) as f64,
            halves: [quantile(0.5), quantile(0.98)],
        }
    }

    pub fn settled_share(&self) -> f64 {
        self.share(self.settled)
    }

    pub fn share(&self, runs: usize) -> f64 {
        runs as f64 / self.runs.max(1) as f64
    }
}

/// Seconds that are simulated before the step and after it.
const BEFORE_S: u64 = 30;
const AFTER_S: u64 = 60;
/// Limit that adaptive controllers begin with.
const INITIAL_LIMIT: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regret {
    pub curve: &'static str,
    pub clients: (u32, u32),
    /// Share lost against the best fixed limit. It can be slightly negative, where a drain passes a limit that is better.
    pub regret: f64,
}

/// Steps from 4 to 512 clients and back to 4 on the seven measured curves, from an initial limit of 8.
pub fn regrets(contender: &Contender, seed: Seed) -> Vec<Regret> {
    // A fixed limit stays the one that was asked for.
    let contender = if contender.is_fixed() { *contender } else { contender.starting_at(INITIAL_LIMIT) };
    let mut regrets = Vec::new();
    for measured in &MEASURED {
        for clients in [(4, 512), (512, 4)] {
            let step = Phase { at: Nanos::from_secs(BEFORE_S), ..Phase::of(clients.1) };
            let scenario = Scenario {
                plants: vec![measured.plant()],
                load: Load::new(vec![Phase::of(clients.0), step]),
                tick: Nanos::from_millis(50),
                duration: Nanos::from_secs(BEFORE_S + AFTER_S),
                initial_limit: contender.bounds().initial,
                seed: seed.child(measured.name).numbered(u64::from(clients.0)),
            };
            let trace = simulate(&scenario, contender.build().as_mut());
            let regret = trace.regret(Nanos::from_secs(BEFORE_S), scenario.duration);
            regrets.push(Regret { curve: measured.name, clients, regret });
        }
    }
    regrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_at_the_best_limit_settles_at_once_and_one_at_a_shelf_never() {
        let good = judge(&[1.0; HALVES], None);
        assert_eq!((good.settled, good.worst, good.cycles), ([Some(5), Some(0)], 1.0, false));
        let bad = judge(&[0.4; HALVES], None);
        assert!(!bad.is_settled() && bad.worst == 0.4 && !bad.cycles);
        let summary = Summary::of(&[good, bad]);
        assert_eq!(
            (summary.settled, summary.settled_share(), summary.worst, summary.below),
            (1, 0.5, 0.4, 1)
        );
    }

    #[test]
    fn a_moved_peak_has_60_halves_of_its_own() {
        let mut shares = [1.0; HALVES];
        shares[120..170].fill(0.5);
        let verdict = judge(&shares, Some(120));
        assert_eq!((verdict.settled, verdict.worst), ([Some(5), Some(54)], 1.0));
        shares[120..190].fill(0.5);
        assert_eq!(judge(&shares, Some(120)).settled[1], None);
        assert!(judge(&shares, None).worst < 0.7);
    }

    #[test]
    fn swings_of_20_percent_are_a_cycle_and_single_dips_are_not() {
        let wave = |length: usize| -> Vec<f64> {
            (0..HALVES).map(|half| if (half / length).is_multiple_of(2) { 1.0 } else { 0.8 }).collect()
        };
        assert!(judge(&wave(10), None).cycles);
        assert!(!judge(&wave(400), None).cycles);
        let mut dip = vec![1.0; HALVES];
        dip[220..230].fill(0.5);
        assert!(!judge(&dip, None).cycles);
        // Halves that alternate are a price, which means of five show as a level, not as a cycle.
        assert!(!judge(&wave(1), None).cycles);
    }
}
