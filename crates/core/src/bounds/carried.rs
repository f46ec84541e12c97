use crate::caveat::threshold::{LOST_MAX, RUNS_MIN_COUNT as RUNS_MIN};
use crate::stability::Stability;
use crate::statistics::Sample;
use crate::statistics::pooled::Error;

/// Share of the arrivals by which completions have to stay behind at a rate that counts as not carried. A queue that
/// starts empty and fills up to its mean backlog stays behind a little too.
const SHORTFALL_MIN: f64 = 0.01;

/// A rate this many times the highest one carried keeps the server busy throughout. Nearer to the limit, a server has
/// nothing to do at times, and its completions say less than it could.
const OVERLOAD: f64 = 1.08;

/// No more than this is believed to have been taken, where a rate is chosen by it.
const TAKEN_MOST: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Most runs settled.
    Carried,
    /// Most runs did not, and completions stayed behind arrivals by more than chance brings.
    NotCarried,
    Undecided,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    pub rate: f64,
    pub runs: usize,
    /// Runs that settled and lost nothing.
    pub kept_up: usize,
    pub fate: Fate,
    /// Lower bound of the throughput over the runs that settled, per second; `None` unless it is carried.
    pub throughput_low: Option<f64>,
}

/// What the server carries by all runs: the rates one by one, and the bounds that follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    pub rates: Vec<Rate>,
    /// Share of the CPUs' time that others took over all runs; zero where it cannot be seen.
    pub taken: f64,
    pub at_least: Option<f64>,
    pub seen_at: Option<f64>,
    /// The lowest rate above that was not carried, per second.
    pub refused: Option<f64>,
    /// The server carries at most this, per second: that rate, or the upper bound of what was completed in overload
    /// where it is higher, since among several rates near the limit one is refused by chance.
    pub at_most: Option<f64>,
    /// What was completed in overload, per second: about what is carried, where more than that does no harm. `None` before a rate
    /// was refused.
    pub in_overload: Option<f64>,
}

impl Carried {
    /// From valid runs, in any order.
    ///
    /// Where rates contradict one another, as one was carried above one that was not, both bounds give way: *at
    /// least* lies below both, *at most* above both.
    pub fn of(runs: &[&RunAt]) -> Self {
        let mut by_rate: Vec<(f64, Vec<&RunAt>)> = Vec::new();
        for run in runs {
            match by_rate.iter_mut().find(|(rate, _)| *rate == run.rate) {
                Some((_, own)) => own.push(run),
                None => by_rate.push((run.rate, vec![run])),
            }
        }
        by_rate.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let rates: Vec<Rate> = by_rate.iter().map(|(rate, runs)| Rate::of(*rate, runs)).collect();
        let those = |fate: Fate| rates.iter().filter(move |rate| rate.fate == fate);
        let lowest_failed = those(Fate::NotCarried).map(|rate| rate.rate).next().unwrap_or(f64::INFINITY);
        let highest = those(Fate::Carried).next_back().map(|rate| rate.rate);
        let seen = those(Fate::Carried)
            .filter(|rate| rate.rate < lowest_failed)
            .filter_map(|rate| Some((rate.throughput_low?, rate.rate)))
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let above = |rate: &&Rate| highest.is_none_or(|highest| rate.rate > highest);
        let refused = those(Fate::NotCarried).find(above).map(|rate| rate.rate);
        let mut found = Self {
            at_least: seen.map(|seen| seen.0),
            seen_at: seen.map(|seen| seen.1),
            refused,
            at_most: refused,
            taken: taken(runs).unwrap_or(0.0),
            in_overload: None,
            rates,
        };
        let busy: Vec<(f64, f64)> =
            found.saturated(runs).iter().map(|run| (run.completed as f64, run.seconds)).collect();
        let most = ratio(&busy).map(|range| range.high);
        let (completed, seconds) = busy.iter().fold((0.0, 0.0), |(n, t), run| (n + run.0, t + run.1));
        found.in_overload = (seconds > 0.0).then(|| completed / seconds);
        found.at_most = refused.map(|refused| most.map_or(refused, |most| refused.max(most)));
        found
    }

    /// The runs that kept the server busy throughout: at rates that were not carried and lie well above what was.
    ///
    /// Where there are not enough of these yet, those of the highest rate that was refused, if none above it was carried.
    pub fn saturated<'a>(&self, runs: &[&'a RunAt]) -> Vec<&'a RunAt> {
        let behind = || runs.iter().copied().filter(|run| run.fell_behind());
        let busy: Vec<&RunAt> = behind().filter(|run| self.is_overload(run.rate)).collect();
        if busy.len() >= RUNS_MIN {
            return busy;
        }
        let at = |rate: f64| behind().filter(|run| run.rate == rate).collect::<Vec<_>>();
        let mut certain = self.rates.iter().rev().filter(|known| known.fate != Fate::Undecided);
        match certain.next() {
            Some(known) if known.fate == Fate::NotCarried => at(known.rate),
            _ => Vec::new(),
        }
    }

    /// Whether a rate was refused and keeps the server busy throughout.
    pub fn is_overload(&self, rate: f64) -> bool {
        let failed = |known: &Rate| known.rate == rate && known.fate == Fate::NotCarried;
        self.rates.iter().any(failed) && OVERLOAD * self.highest_alone() <= rate
    }

    /// The highest rate that was carried, with the CPU that was taken handed back: what a server carries while nobody
    /// takes any is more than what it carries in the mean.
    pub fn highest_alone(&self) -> f64 {
        let highest = self.rates.iter().filter(|known| known.fate == Fate::Carried).map(|known| known.rate);
        highest.fold(0.0, f64::max) / (1.0 - self.taken.min(TAKEN_MOST))
    }
}

impl Rate {
    pub(super) fn is_mostly_kept_up(&self) -> bool {
        2 * self.kept_up > self.runs
    }

    fn of(rate: f64, runs: &[&RunAt]) -> Self {
        let kept: Vec<&RunAt> = runs.iter().copied().filter(|run| run.kept_up()).collect();
        let behind: Vec<&RunAt> = runs.iter().copied().filter(|run| run.fell_behind()).collect();
        let most = |some: &[&RunAt]| some.len() >= RUNS_MIN && 2 * some.len() > runs.len();
        let throughput_low = if most(&kept) { throughput_low(runs) } else { None };
        let fate = match () {
            () if throughput_low.is_some() => Fate::Carried,
            () if most(&behind) && stays_behind(runs) => Fate::NotCarried,
            () => Fate::Undecided,
        };
        Self { rate, runs: runs.len(), kept_up: kept.len(), fate, throughput_low }
    }
}

/// Lower bound of the mean throughput, per second.
///
/// With `x_i` the throughput of run `i` of `R` and `T_i` its length: the mean less `t se`, with `t` the quantile of
/// Student's distribution at 97.5 % and `se^2` from the variance between the runs and that of Poisson arrivals, `x / sum T` (see
/// [`Error`]). A rate above the one asked for is chance.
fn throughput_low(runs: &[&RunAt]) -> Option<f64> {
    let sample: Sample = runs.iter().map(|run| run.throughput()).collect();
    let mean = sample.mean()?;
    let between = sample.variance()? / runs.len() as f64;
    let poisson = mean / runs.iter().map(|run| run.seconds).sum::<f64>();
    let low = mean - Error::of(between, poisson, runs.len() as f64 - 1.0).half();
    let asked = runs.first()?.rate;
    (low > 0.0).then_some(low.min(asked))
}

/// Whether completions stayed behind arrivals by more than chance brings, at a confidence of 97.5 %: as above, with the
/// share of arrivals that found no end, be it an error. Arrivals and completions are counts, so that their difference in a run has a
/// variance of some `arrivals + completions`.
fn stays_behind(runs: &[&RunAt]) -> bool {
    let share = |run: &&RunAt| 1.0 - run.failed - run.completed as f64 / run.arrivals.max(1) as f64;
    let sample: Sample = runs.iter().map(share).collect();
    let (Some(mean), Some(variance)) = (sample.mean(), sample.variance()) else { return false };
    let arrivals: f64 = runs.iter().map(|run| run.arrivals as f64).sum();
    let counts = (2.0 - mean).max(0.0) / arrivals.max(1.0);
    let half = Error::of(variance / runs.len() as f64, counts, runs.len() as f64 - 1.0).half();
    mean - half > 0.0 && mean > SHORTFALL_MIN
}

/// Share of its CPUs that server and neighbours together use where CPU is what limits the server.
pub const FULL_MIN: f64 = 0.9;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunAt {
    pub rate: f64,
    pub seconds: f64,
    pub arrivals: u64,
    pub completed: u64,
    /// Share of the arrivals that failed, timed out or were never sent.
    pub lost: f64,
    /// Share of the arrivals that failed by errors that no load brings about, as far as is known. It is part of `lost`: such a rate is
    /// not carried, and it was not refused either.
    pub failed: f64,
    /// Whether the response came to rest; `None` of a run too short to tell.
    pub settled: Option<bool>,
    pub valid: bool,
    /// CPU seconds of the server per second; `None` where they cannot be seen.
    pub cpu: Option<f64>,
    /// CPUs that the server may use; `None` where they cannot be seen.
    pub cpus: Option<f64>,
    /// CPU seconds per second that others and the hypervisor took of these CPUs; `None` where they cannot be seen.
    pub taken: Option<f64>,
    /// What was done while nobody disturbed; `None` where that cannot be seen.
    pub clear: Option<Clear>,
}

/// What a run brought in the stretches that nobody disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clear {
    /// Length of these stretches together, seconds.
    pub seconds: f64,
    pub completed: u64,
    /// Share of the CPUs' time that others took in them all the same, since a stretch tells no less.
    pub taken: f64,
}

impl RunAt {
    /// Completions per second; zero of a run without length.
    pub fn throughput(&self) -> f64 {
        if self.seconds > 0.0 { self.completed as f64 / self.seconds } else { 0.0 }
    }

    /// Arrivals per second that chance made of the rate.
    pub fn offered(&self) -> f64 {
        if self.seconds > 0.0 { self.arrivals as f64 / self.seconds } else { 0.0 }
    }

    /// Whether server and neighbours together used nearly all of the CPUs, so that CPU is what limits the server.
    pub(super) fn cpu_is_full(&self) -> bool {
        let full = |cpu: f64, taken: f64, cpus: f64| cpu > 0.0 && cpu + taken >= FULL_MIN * cpus;
        matches!((self.cpu, self.taken, self.cpus), (Some(cpu), Some(taken), Some(cpus)) if full(cpu, taken, cpus))
    }

    pub fn is_failing(&self) -> bool {
        100.0 * self.failed > LOST_MAX
    }

    pub(super) fn kept_up(&self) -> bool {
        self.settled == Some(true) && 100.0 * self.lost <= LOST_MAX
    }

    pub(super) fn fell_behind(&self) -> bool {
        self.settled == Some(false) || 100.0 * (self.lost - self.failed) > LOST_MAX
    }
}

/// What [`RunAt::settled`] is for this judgement; a run that was too short to tell is neither.
pub fn settled(stability: &Stability) -> Option<bool> {
    match stability {
        Stability::Settled => Some(true),
        Stability::Unstable(_) => Some(false),
        Stability::TooShort { .. } => None,
    }
}

/// Share of the CPUs' time that others took over all runs; `None` where it cannot be seen.
pub(super) fn taken(runs: &[&RunAt]) -> Option<f64> {
    let (mut taken, mut all) = (0.0, 0.0);
    for run in runs {
        if let (Some(seconds), Some(cpus)) = (run.taken, run.cpus) {
            taken += seconds * run.seconds;
            all += cpus * run.seconds;
        }
    }
    (all > 0.0).then(|| (taken / all).clamp(0.0, 1.0))
}

/// An interval of rates or of work; the lower end is never negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// Width beside the middle; infinite around zero.
    pub fn relative_width(&self) -> f64 {
        let middle = f64::midpoint(self.low, self.high);
        if middle > 0.0 { (self.high - self.low) / middle } else { f64::INFINITY }
    }
}

/// The 95 % interval of `sum n / sum T` over runs with `n` completions in `T` seconds; `None` of fewer than two.
///
/// A ratio estimate (Cochran, Sampling Techniques, 3rd ed., chapter 6) on the logarithmic scale, with the variance between
/// runs or that of a Poisson process, `1 / sum n` (see [`Error`]).
pub(super) fn ratio(runs: &[(f64, f64)]) -> Option<Range> {
    let (count, seconds) = runs.iter().fold((0.0, 0.0), |(n, t), run| (n + run.0, t + run.1));
    if runs.len() < RUNS_MIN || count <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let mean = count / seconds;
    let length = seconds / runs.len() as f64;
    let residuals: Sample = runs.iter().map(|(n, t)| (n - mean * t) / length / mean).collect();
    let between = residuals.variance()? / runs.len() as f64;
    let half = Error::of(between, 1.0 / count, runs.len() as f64 - 1.0).half();
    Some(Range { low: mean * (-half).exp(), high: mean * half.exp() })
}
