//! What is known of the part `rates`: how much each level varies, and why targets differ.

use super::figures;
use super::parts::{LOAD, RATE, RATES};
use super::record::Setting;
use super::seen::{self, OnTarget};
use crate::harness::{Cell, Number, Share};
use evenkeel_core::trust::{Point, Settling, Tolerance, TrustLimit};
use evenkeel_core::variance::{Components, Costs};
use evenkeel_core::why::{Gap, Why};

pub(super) struct AtRate<'a> {
    /// Arrivals per second, as the runs have them.
    pub rate: f64,
    pub runs: Vec<OnTarget<'a>>,
    pub point: Option<Point>,
    /// Names no cause where the rate is not trusted.
    pub why: Option<Why>,
    /// Why the rate is not trusted, where it is not.
    pub untrusted: Option<String>,
}

/// What is known of the part `rates`.
pub(super) struct Found<'a> {
    pub rates: Vec<AtRate<'a>>,
    /// Place of the rate that suspects are judged at: the highest one that all targets kept up with, in runs that did not fail.
    pub judged: Option<usize>,
    /// Whether all targets kept up with that rate, in a measurement that did not fail.
    pub is_settled: bool,
    pub limit: TrustLimit,
    pub components: Option<Components>,
}

impl<'a> Found<'a> {
    pub fn of(setting: &Setting, all: &[Cell<'a>]) -> Self {
        let rates = rates(setting, all);
        let settled = |at: &AtRate<'_>| {
            at.point
                .as_ref()
                .is_some_and(|point| point.settling == Settling::Settled && point.invalid.is_none())
        };
        let judged = rates.iter().rposition(settled).or_else(|| rates.iter().position(|at| at.why.is_some()));
        let points: Vec<Point> = rates.iter().filter_map(|at| at.point.clone()).collect();
        let limit = TrustLimit::of(&points, Tolerance::default());
        let components = judged.and_then(|at| components(setting, &rates[at]));
        let is_settled = judged.is_some_and(|at| settled(&rates[at]));
        Self { rates, judged, is_settled, limit, components }
    }

    pub fn judged(&self) -> Option<&AtRate<'a>> {
        self.rates.get(self.judged?)
    }
}

/// What levels make at a rate. Servers of a duet have the machine, the arrivals and the numbers of their starts in common, so that they are no
/// level of a nested model: there it is what the slowest one varies by alone.
fn components(setting: &Setting, at: &AtRate<'_>) -> Option<Components> {
    if !setting.duet {
        return seen::components(setting, &at.runs).ok();
    }
    let slow = at.why.as_ref()?.slow;
    let own: Vec<OnTarget<'_>> = at.runs.iter().filter(|run| run.target == slow).copied().collect();
    seen::components(setting, &own).ok()
}

/// A difference of two servers whose 95 % interval reaches at most this share below it is clear.
const CLEAR: f64 = 0.3;

fn rates<'a>(setting: &Setting, all: &[Cell<'a>]) -> Vec<AtRate<'a>> {
    let of_part: Vec<&Cell<'a>> = all.iter().filter(|cell| cell.part.name == RATES).collect();
    let level = |cell: &Cell<'_>| cell.number(RATE).or_else(|| cell.number(LOAD)).unwrap_or_default();
    let mut levels: Vec<f64> = of_part.iter().map(|cell| level(cell)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let at = |wanted: f64| {
        let own: Vec<&Cell<'a>> = of_part.iter().copied().filter(|cell| level(cell) == wanted).collect();
        let runs = seen::valid(seen::on_targets(setting, &own));
        let rate = own.iter().find_map(|cell| cell.mean(figures::RATE)).unwrap_or(wanted);
        let names: Vec<String> = setting.targets.iter().map(|target| target.name.clone()).collect();
        let observations = seen::observations(setting, &runs);
        // Which two are compared is known only when they are judged; their facts do not change that.
        let why = Why::of(&observations, &seen::facts(setting, &runs, 0, 0), &names)
            .and_then(|why| Why::of(&observations, &seen::facts(setting, &runs, why.slow, why.fast), &names));
        let point = seen::point(setting, &runs, rate);
        let gap = why.as_ref().and_then(|why| why.gap);
        let untrusted = point.as_ref().and_then(|point| untrusted(point, gap));
        let why = why.map(|mut why| {
            untrusted.iter().for_each(|reason| why.acquit(reason));
            why
        });
        AtRate { rate, point, runs, why, untrusted }
    };
    levels.into_iter().map(at).collect()
}

/// Why response times of a rate are not trusted on one server. How far servers lie apart is what is asked, and no reason; nor is how
/// much runs differ, where their difference is much larger.
fn untrusted(point: &Point, gap: Option<Gap>) -> Option<String> {
    let is_clear = gap.is_some_and(|gap| gap.mean - gap.low <= CLEAR * gap.mean);
    let standard_error = if is_clear { f64::INFINITY } else { Tolerance::default().standard_error };
    let tolerance = Tolerance { spread: f64::INFINITY, standard_error };
    TrustLimit::of(std::slice::from_ref(point), tolerance).end.map(|end| end.reason.to_string())
}

/// Each level by the standard deviation that it gives to a run's mean.
pub(super) fn shares(components: &Components) -> Vec<Share> {
    let part = |variance: f64, in_run: f64| (variance * in_run).max(0.0);
    let all: f64 = components.all.iter().map(|one| part(one.variance, one.in_run)).sum();
    let share = |one: &evenkeel_core::variance::Component| Share {
        level: one.level.word(),
        deviation: Number {
            name: "deviation_ms".to_owned(),
            value: part(one.variance, one.in_run).sqrt(),
            interval: Some((part(one.low, one.in_run).sqrt(), part(one.high, one.in_run).sqrt())),
        },
        percent: if all > 0.0 { 100.0 * part(one.variance, one.in_run) / all } else { 0.0 },
        units: one.units,
    };
    components.all.iter().map(share).collect()
}

/// What one more unit of each level costs, in seconds.
pub(super) fn costs(setting: &Setting) -> Costs {
    let run_s = setting.warm_up_s + setting.duration_s;
    Costs([0.0, 0.0, 4.0 + setting.warm_up_s, run_s, 0.0])
}
