//! Which run tells most: about the bounds, or about the curve of response times below them.

use super::{Answer, Fate, Rate, RunAt};
use crate::caveat::threshold::RUNS_MIN_COUNT as RUNS_MIN;

/// An undecided rate is given so many runs at most before others are tried around it.
const RUNS_UNDECIDED: usize = 5;

/// By how much to go on where nothing was carried yet, or nothing refused.
const STRIDE: f64 = 1.3;
const STRIDE_MOST: f64 = 4.0;
/// The same above a rate of which it is open whether it is carried: overload for sure.
const STRIDE_OPEN: f64 = 1.5;
/// A new rate of overload is at most this multiple of the highest one that was sent: others may use the server.
const STRIDE_UP: f64 = 2.0;

/// Rates closer than this count as one: a step to it would tell nothing.
const CLOSE: f64 = 1.015;

pub const RATES_FIRST: usize = 2;

/// Shares of the saturation that a search found, to begin with: one that is carried for sure, although the search is rough, and one
/// of overload.
const FIRST: [f64; RATES_FIRST] = [0.65, 1.3];
/// The lower one where the search was gentle: its runs are so short that they settle above what the server carries.
const FIRST_GENTLE: f64 = 0.45;

/// Overload is so many times the highest rate that was carried, with what neighbours took handed back.
const ABOVE: f64 = 1.25;

/// Rates beside the limit as shares of what was completed in overload; and how far away the bounds are where they are tried.
const BESIDE: (f64, f64) = (0.9, 1.12);
const FAR: (f64, f64) = (0.88, 1.17);

/// Bounds as narrow as this are never asked for.
const WIDTH_MIN: f64 = 1e-6;

/// Shares of what is carried at which the curve of response times is measured, and how far from them a rate may lie.
const CURVE: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
const CURVE_NEAR: f64 = 0.1;

/// So many runs go to the bounds first: those of the opening and of a rate beside the limit. The curve comes then, since bounds of a
/// server that wanders, or whose neighbours do, never get as narrow as is wanted, and a slow one has no time for more.
const RUNS_BOUNDS: usize = 9;

/// So many runs more than the curve needs are left to it where the time is short: disturbed runs are made again.
const SPARE: usize = 1;

/// A gap above the highest rate that was carried is far by this factor: another rate inside it has its runs before the curve.
const GAP_FAR: f64 = 1.5;

/// The highest rate that meets an objective and the lowest above that misses it are at most so far apart. What misses it at this share of
/// what is carried is not tried at lower ones.
const OBJECTIVE: f64 = 1.15;
const OBJECTIVE_LOWEST: f64 = 0.1;

/// Runs of a rate at most, whose runs differ by too much for its response time or for the objective; and from how many runs on bounds farther apart than this leave
/// time for them.
pub const RUNS_CURVE: usize = 6;
const RUNS_WIDE: usize = 30;
const WIDE: f64 = 1.4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Width of the bounds beside their middle; 0.05 is 5 %, and 0 is as narrow as the time allows.
    pub width: f64,
}

/// What response times ask for beside the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Responses<'a> {
    /// Rates whose runs differ by more than their response times are trusted with.
    pub unsure: &'a [f64],
    pub objective: Option<Objective>,
}

/// What the measured rates say of an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The highest rate that meets it; zero if none does.
    pub met: f64,
    /// The highest above that meets it in the mean of its runs, which are fewer than [`RUNS_CURVE`] and not sure of it.
    pub unsure: Option<f64>,
    /// The lowest above that misses it, or is not sure of it after so many runs; infinite if there is none.
    pub missed: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Another run at this rate per second, which may be a new one.
    Run(f64),
    /// The bounds are as tight as was wanted, and the curve is measured.
    Enough,
    /// No run of this length tightens them further.
    Exhausted,
    /// Nothing was carried, and at a lower rate a run would have too few arrivals to tell.
    TooFewArrivals,
}

/// Chooses runs one by one. It holds no state: the same runs give the same step, so that a study goes on after a kill
/// where it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequence {
    pub wanted: Wanted,
    pub rate_min: f64,
    pub rate_max: f64,
    /// Runs that there is time for. The last of them are the curve's.
    pub runs_left: usize,
}

impl Sequence {
    pub fn first(&self, saturation: f64, is_gentle: bool) -> Vec<f64> {
        let shares = if is_gentle { [FIRST_GENTLE, FIRST[1]] } else { FIRST };
        shares.iter().map(|share| round(share * saturation).clamp(self.rate_min, self.rate_max)).collect()
    }

    /// The rate of the next run of the opening, of the rates to begin with: so many runs of each as make it certain, by turns, so
    /// that what drifts with time meets them alike. They alone give every bound where the time is short. `made` says how many
    /// runs a rate has. `None` when it is over.
    pub fn opening(rates: &[f64], made: impl Fn(f64) -> usize) -> Option<f64> {
        let least = rates.iter().copied().min_by_key(|rate| made(*rate));
        least.filter(|rate| made(*rate) < RUNS_MIN)
    }

    /// A higher rate to begin with that is nearer to what its first run completed, where that fell far behind. A neighbour that came with
    /// that run would make it one that is carried.
    pub fn nearer(runs: &[RunAt]) -> Option<f64> {
        let rates = || runs.iter().map(|run| run.rate);
        let (lowest, highest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        let first = runs.iter().find(|run| run.rate == highest && run.valid)?;
        let rate = round(FAR.1 * first.throughput());
        (first.fell_behind() && rate > lowest * STRIDE && rate < highest / FAR.1).then_some(rate)
    }

    /// The next step after these runs. `None` where no run is valid: a further one of the same kind would be no better.
    pub fn next(&self, runs: &[RunAt], responses: &Responses<'_>) -> Option<Step> {
        let answer = Answer::of(runs);
        let rates = &answer.carried.rates;
        let (lowest, highest) = (rates.first()?, rates.last()?);
        let carried = rates.iter().rev().find(|rate| rate.fate == Fate::Carried);
        let failed = rates.iter().find(|rate| {
            rate.fate == Fate::NotCarried && carried.is_none_or(|carried| rate.rate > carried.rate)
        });
        let made: usize = rates.iter().map(|rate| rate.runs).sum();
        let objective = responses.objective.and_then(|ends| self.of_objective(&answer, ends));
        let first = if responses.objective.is_some() { RATES_FIRST * RUNS_MIN } else { RUNS_BOUNDS };
        let above = |carried: &&Rate| rates.iter().find(|rate| rate.rate > carried.rate);
        let gap = carried.and_then(|carried| Some(above(&carried)?.rate / carried.rate));
        // Where no rate was refused, or far above what was carried, those of a further one.
        let is_closed = failed.is_some() && gap.is_none_or(|gap| gap <= GAP_FAR);
        let first = if is_closed { first } else { first + RUNS_MIN };
        // An undecided rate comes before the curve, whose rates are shares of a bound that it may raise.
        let is_open = |rate: &Rate| {
            rate.fate == Fate::Undecided
                && carried.is_some_and(|carried| rate.rate > carried.rate && deserves_a_run(rate, carried))
                && failed.is_some_and(|failed| rate.rate < failed.rate)
        };
        let is_due = carried.is_some() && made >= first && objective.is_none();
        let last = self.curve(&answer).filter(|(_, lacks)| is_due && self.runs_left <= lacks + SPARE);
        if let Some((rate, _)) = last {
            let begun = begun(rates, carried, failed);
            return Some(Step::Run(begun.map_or(rate, |begun| begun.rate)));
        }
        // All of them begin before one is repeated, and the one with the fewest runs comes next: what drifts with time meets the rates
        // alike, and runs of a rate that lie apart show it.
        if let Some(missing) = self.missing(&answer).filter(|_| is_due) {
            let open = rates.iter().find(|rate| is_open(rate));
            return Some(Step::Run(open.map_or(missing, |open| open.rate)));
        }
        // One above a rate that was refused says no more.
        let below = rates.iter().filter(|rate| failed.is_none_or(|failed| rate.rate <= failed.rate));
        if let Some(few) = below.min_by_key(|rate| rate.runs).filter(|rate| rate.runs < RUNS_MIN) {
            return Some(Step::Run(few.rate));
        }
        if let Some(rate) = objective {
            return Some(Step::Run(rate));
        }
        let wide =
            |(carried, failed): (&Rate, &Rate)| failed.rate > WIDE * carried.throughput_low.unwrap_or(0.0);
        let is_wide = carried.zip(failed).is_none_or(wide) && made < RUNS_WIDE;
        let unsure = unsure(&answer, if is_wide { &[] } else { responses.unsure }).map(Step::Run);
        if let Some(step) = unsure.filter(|_| is_due) {
            return Some(step);
        }
        Some(match (carried, failed) {
            (Some(_), _) if highest.rate < self.overload(&answer) / CLOSE => {
                Step::Run(self.overload(&answer))
            }
            (_, None) => self.upwards(highest),
            (None, Some(_)) if lowest.is_mostly_kept_up() && lowest.runs < RUNS_UNDECIDED => {
                Step::Run(lowest.rate)
            }
            (None, Some(_)) if lowest.rate <= self.rate_min => Step::TooFewArrivals,
            (None, Some(_)) => Step::Run(self.downwards(&answer, lowest)),
            (Some(carried), Some(failed)) => match self.between(&answer, carried, failed) {
                Step::Run(rate) => Step::Run(rate),
                end => self.missing(&answer).map(Step::Run).or(unsure).unwrap_or(end),
            },
        })
    }

    /// Rates of the curve, with the runs that they have.
    fn curve_rates(&self, answer: &Answer) -> Vec<(f64, usize)> {
        let Some(least) = answer.carried.at_least else { return Vec::new() };
        let shares = CURVE.iter().filter(|share| **share * least >= self.rate_min);
        let rate = |share: &f64| {
            let near = |rate: &&Rate| (rate.rate / least - share).abs() <= CURVE_NEAR;
            let known = answer.carried.rates.iter().filter(near).max_by_key(|rate| rate.runs);
            known.map_or((round(share * least), 0), |known| (known.rate, known.runs))
        };
        shares.map(rate).collect()
    }

    fn missing(&self, answer: &Answer) -> Option<f64> {
        self.curve_rates(answer).iter().find(|(_, runs)| *runs == 0).map(|(rate, _)| *rate)
    }

    /// The rate of the curve that has the fewest runs, and how many runs the curve lacks; `None` where it lacks none.
    fn curve(&self, answer: &Answer) -> Option<(f64, usize)> {
        let rates = self.curve_rates(answer);
        let lacks = rates.iter().map(|(_, runs)| RUNS_MIN.saturating_sub(*runs)).sum();
        let fewest = rates.iter().min_by_key(|(_, runs)| *runs)?;
        (lacks > 0).then_some((fewest.0, lacks))
    }

    /// A rate that is not sure of an objective, one between those that meet and miss it, or below all that miss it; `None` where these
    /// are near enough.
    fn of_objective(&self, answer: &Answer, Objective { met, unsure, missed }: Objective) -> Option<f64> {
        let least = answer.carried.at_least.map_or(self.rate_min, |least| OBJECTIVE_LOWEST * least);
        let lowest = answer.carried.rates.first()?.rate;
        // Where no rate is sure to meet it, a lower one is soonest.
        let rate = if met > 0.0 { (met * missed).sqrt() } else { missed.min(lowest) / STRIDE_UP };
        let is_asked = missed.is_finite() || (unsure.is_some() && met == 0.0);
        let is_open = is_asked && missed > OBJECTIVE * met && rate >= least.max(self.rate_min);
        let lower = is_open.then(|| round(rate));
        if met > 0.0 { unsure.or(lower) } else { lower.or(unsure) }
    }

    /// The lowest rate that keeps the server busy throughout, which may be a new one.
    fn overload(&self, answer: &Answer) -> f64 {
        let mut known = answer.carried.rates.iter().map(|rate| rate.rate);
        let highest = answer.carried.rates.last().map_or(0.0, |rate| rate.rate);
        let new =
            || round((answer.carried.highest_alone() * ABOVE).min(STRIDE_UP * highest)).min(self.rate_max);
        known.find(|rate| answer.carried.is_overload(*rate)).unwrap_or_else(new)
    }

    fn upwards(&self, highest: &Rate) -> Step {
        // Where most fell behind, a further run may decide; else a higher rate tells in fewer runs.
        let is_behind = !highest.is_mostly_kept_up();
        let enough = if is_behind { RUNS_UNDECIDED } else { RUNS_MIN };
        match highest.fate {
            Fate::Undecided if highest.runs < enough => Step::Run(highest.rate),
            _ if highest.rate >= self.rate_max => Step::Exhausted,
            Fate::Undecided => Step::Run(round(highest.rate * STRIDE_OPEN).min(self.rate_max)),
            _ => Step::Run(round(highest.rate * STRIDE).min(self.rate_max)),
        }
    }

    /// Below what was completed in overload, which is about what is carried.
    fn downwards(&self, answer: &Answer, lowest: &Rate) -> f64 {
        let completed = answer.carried.in_overload.unwrap_or(f64::INFINITY).max(lowest.rate / STRIDE_MOST);
        round((BESIDE.0 * completed).min(lowest.rate / STRIDE)).max(self.rate_min)
    }

    /// The widest of three comes first: the gap between the rate that was carried and the one that was not, the
    /// uncertainty of the throughput that was carried, and that of what the server would carry by itself.
    fn between(&self, answer: &Answer, carried: &Rate, failed: &Rate) -> Step {
        // Where none is wanted they are weighed against one another all the same.
        let width = self.wanted.width.max(WIDTH_MIN);
        let half = width / 2.0;
        let low = carried.throughput_low.unwrap_or(0.0).min(carried.rate);
        let gap = (failed.rate / carried.rate).ln();
        let chance = (carried.rate / low.max(1e-9)).ln();
        let alone = self.alone_width(answer);
        let wide = |value: f64, wanted: f64| value / wanted;
        let steps = [
            (wide(gap, half), self.inside_gap(answer, carried, failed)),
            (wide(chance, half), Some(Step::Run(carried.rate))),
            (wide(alone, width), Some(Step::Run(self.overload(answer)))),
        ];
        let open = steps.iter().filter(|(excess, step)| *excess > 1.0 && step.is_some());
        match open.max_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((_, Some(step))) => *step,
            _ if steps.iter().all(|(excess, _)| *excess <= 1.0) => Step::Enough,
            _ => Step::Exhausted,
        }
    }

    /// Width of what runs at saturation say of what the server would carry by itself; infinite before it is known, and zero where runs do not tell it: nobody
    /// sees its CPUs, or many runs of overload have brought nothing.
    fn alone_width(&self, answer: &Answer) -> f64 {
        if let Some(alone) = answer.alone {
            return alone.measured.relative_width();
        }
        let overload = self.overload(answer);
        let made = answer.carried.rates.iter().find(|rate| rate.rate == overload).map_or(0, |rate| rate.runs);
        let is_hopeless = answer.taken_percent.is_none() || made >= RUNS_UNDECIDED;
        if is_hopeless { 0.0 } else { f64::INFINITY }
    }

    /// A rate between the two: an undecided one that is there already, or a new one.
    fn inside_gap(&self, answer: &Answer, carried: &Rate, failed: &Rate) -> Option<Step> {
        let inside: Vec<&Rate> = answer
            .carried
            .rates
            .iter()
            .filter(|rate| rate.rate > carried.rate && rate.rate < failed.rate)
            .collect();
        if let Some(undecided) = inside.iter().find(|rate| deserves_a_run(rate, carried)) {
            return Some(Step::Run(undecided.rate));
        }
        if let Some(far) = inside.first().filter(|rate| rate.rate > GAP_FAR * carried.rate) {
            return Some(Step::Run(middle(carried.rate, far.rate)));
        }
        if let Some(rate) = near_the_limit(answer, carried, failed) {
            return Some(Step::Run(rate));
        }
        let mut ends = vec![carried.rate];
        ends.extend(inside.iter().map(|rate| rate.rate));
        ends.push(failed.rate);
        let widest =
            ends.windows(2).max_by(|one, other| (one[1] / one[0]).total_cmp(&(other[1] / other[0])))?;
        (widest[1] / widest[0] > CLOSE * CLOSE).then(|| Step::Run(middle(widest[0], widest[1])))
    }
}

/// A rate between these that has begun and lacks runs.
fn begun<'a>(rates: &'a [Rate], carried: Option<&Rate>, failed: Option<&Rate>) -> Option<&'a Rate> {
    let is_between = |rate: &Rate| {
        carried.is_some_and(|carried| rate.rate > carried.rate)
            && failed.is_none_or(|failed| rate.rate < failed.rate)
    };
    rates.iter().find(|rate| rate.runs < RUNS_MIN && is_between(rate))
}

/// Whether an undecided rate does. Far above what was carried a lower rate tells more, unless most of its runs kept up.
fn deserves_a_run(undecided: &Rate, carried: &Rate) -> bool {
    let is_far = undecided.rate > GAP_FAR * carried.rate && !undecided.is_mostly_kept_up();
    undecided.runs < if is_far { RUNS_MIN } else { RUNS_UNDECIDED }
}

/// The rate with the fewest runs of those that deserve another one.
fn unsure(answer: &Answer, unsure: &[f64]) -> Option<f64> {
    let wanting = |rate: &&Rate| unsure.contains(&rate.rate) && rate.runs < RUNS_CURVE;
    answer.carried.rates.iter().filter(wanting).min_by_key(|rate| rate.runs).map(|rate| rate.rate)
}

/// A new rate a little below or above what was completed in overload, where the bounds lie farther away: at that rate itself a run
/// says neither that it is carried nor that it is not.
fn near_the_limit(answer: &Answer, carried: &Rate, failed: &Rate) -> Option<f64> {
    let limit = answer.carried.in_overload?;
    let is_new = |rate: &f64| {
        let known = answer.carried.rates.iter().map(|known| known.rate / rate);
        *rate > carried.rate * CLOSE
            && *rate < failed.rate / CLOSE
            && known.map(|ratio| ratio.max(1.0 / ratio)).all(|ratio| ratio > CLOSE)
    };
    let below = Some(round(BESIDE.0 * limit)).filter(|rate| carried.rate < FAR.0 * limit && is_new(rate));
    let above = || Some(round(BESIDE.1 * limit)).filter(|rate| failed.rate > FAR.1 * limit && is_new(rate));
    below.or_else(above)
}

pub fn middle(lower: f64, higher: f64) -> f64 {
    round((lower * higher).sqrt())
}

/// To three significant digits, as a person would choose a rate.
fn round(rate: f64) -> f64 {
    let digits = 2 - rate.abs().max(1e-300).log10().floor() as i32;
    // A power of ten is exact from 1 on, and a quotient is rounded once: 98.6 and not 98.60000000000001.
    let unit = 10_f64.powi(digits.abs());
    if digits >= 0 { (rate * unit).round() / unit } else { (rate / unit).round() * unit }
}
