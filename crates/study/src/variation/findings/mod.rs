//! The published findings beside ours.

mod statements;
mod storage;

use super::figures::{NETWORK, TAU};
use super::parts::{COMPLEX_STATEMENT, LOAD, RATE, RATES};
use super::record::{Setting, TargetRecord};
use super::seen::OnTarget;
use super::{figures, seen};
use crate::format;
use crate::harness::{Cell, Finding, Number, Share};
use evenkeel_core::statistics::{Estimate, difference};
use evenkeel_core::trust::{Point, Settling, Tolerance, TrustLimit};
use evenkeel_core::variance::{Components, Costs};
use evenkeel_core::why::{Gap, LITTLE, Ruling, SHARE_MIN, Suspect, Why};
use statements::{all as all_hold, breaks, untested};

/// Utilisation up to which script-filled servers of the study agreed, percent.
const PUBLISHED_LIMIT: f64 = 50.0;

pub(super) fn all(setting: &Setting, cells: &[Cell<'_>], found: &Found<'_>) -> Vec<Finding> {
    vec![
        limit(setting, found),
        network(setting, found),
        storage::pool(setting, cells),
        storage::pool_at_high_rates(setting, cells),
        storage::dump(setting, cells),
        servers(setting, found),
        statements::simple(setting, cells),
        statements::write(setting, cells),
        statements::alike(setting, cells),
    ]
}

/// Figure 7: repeats and servers agree up to half of the CPU, and part beyond.
fn limit(setting: &Setting, found: &Found<'_>) -> Finding {
    let published =
        "runs and servers agree up to a utilisation of 50 %, and differ by hundreds of ms at 80 % (Figure 7)";
    let name = "agreement-ends-at-half-load";
    if setting.workload != COMPLEX_STATEMENT {
        return untested(name, RATES, published, "Another workload was run.");
    }
    let highest = found.rates.iter().filter_map(|at| at.point.as_ref()?.utilisation).reduce(f64::max);
    let number = found.limit.utilisation.map(|limit| Number::plain("trust_limit_percent", limit));
    let points: Vec<Point> = found.rates.iter().filter_map(|at| at.point.clone()).collect();
    let end = found.limit.end.as_ref().and_then(|end| end.utilisation);
    let holds = match (breaks(&points, &found.limit), found.limit.utilisation, end) {
        (Some(true), Some(limit), _) if (PUBLISHED_LIMIT - 15.0..80.0).contains(&limit) => Some(true),
        (Some(true), Some(limit), _) if limit >= 80.0 => Some(false),
        (Some(true), Some(_), Some(end)) if end < PUBLISHED_LIMIT => Some(false),
        (Some(false), ..) if highest.is_some_and(|highest| highest >= 80.0) => Some(false),
        _ => None,
    };
    Finding::of(name, RATES, published, holds, format!("Here: {}.", found.limit))
        .with(number.into_iter().collect())
}

/// Table II and Figure 9: the network's delay does not climb with the rate as response times do.
fn network(setting: &Setting, found: &Found<'_>) -> Finding {
    let name = "network-is-not-the-cause";
    let published = "the network is not the cause: 1.43 to 2.05 ms from 10 to 40/s (Table II)";
    if setting.targets.iter().all(TargetRecord::is_here) {
        let why = "Servers and load are on this machine, so that there is no network between machines: name servers elsewhere by url=.";
        return untested(name, RATES, published, why);
    }
    let ruling = |at: &AtRate<'_>| {
        let why = at.why.as_ref()?;
        why.verdicts.iter().find(|verdict| verdict.suspect == Suspect::Network).map(|verdict| {
            match verdict.ruling {
                Ruling::Cause => Some(false),
                Ruling::NotTheCause => Some(true),
                Ruling::Undecided => None,
            }
        })
    };
    let rulings: Vec<Option<bool>> = found.rates.iter().filter_map(ruling).collect();
    // What servers do not differ by may climb with the rate all the same; a single one has no other to differ from.
    let by_servers = if rulings.is_empty() { None } else { all_hold(&rulings) };
    let by_servers = by_servers.or((setting.targets.len() == 1).then_some(true));
    let holds = all_hold(&[by_servers, climbs_less(setting, found)]);
    let delays: Vec<Number> = found
        .rates
        .iter()
        .filter_map(|at| {
            let values: Vec<f64> = at.runs.iter().filter_map(|run| run.figure(setting, NETWORK)).collect();
            let mean = Estimate::of(&values)?;
            Some(Number::mean(format!("network_ms_at_{}_per_s", at.rate.round()), &mean))
        })
        .collect();
    let told: Vec<String> = delays.iter().map(|delay| format::significant(delay.value, 3)).collect();
    let here = match told.is_empty() {
        true => "It was not measured.".to_owned(),
        false => format!(
            "Here {} {} ms from the lowest rate to the highest.",
            match setting.mu_percent {
                Some(_) => "the network takes of a request, by the server's own account,",
                None => "the delay of a probe, with what the server's threads may wait for a CPU, is",
            },
            told.join(", ")
        ),
    };
    Finding::of(name, RATES, published, holds, here).with(delays)
}

/// Of what response times climb by from the lowest rate to the highest that servers keep up with, whether the network makes less than a good part on
/// each server; `None` where that cannot be told, as where they do not climb for sure.
fn climbs_less(setting: &Setting, found: &Found<'_>) -> Option<bool> {
    let is_settled = |at: &&AtRate<'_>| {
        at.point.as_ref().is_some_and(|point| point.settling == Settling::Settled && point.invalid.is_none())
    };
    let settled: Vec<&AtRate<'_>> = found.rates.iter().filter(is_settled).collect();
    let [low, .., high] = settled.as_slice() else { return None };
    let of_target = |target: usize| {
        let climb = |name: &str| {
            let of = |at: &AtRate<'_>| Estimate::of(&seen::of_starts(setting, &at.runs, target, name));
            let (low, high) = (of(low)?, of(high)?);
            Some(difference(&high, &low, (high.n as f64 - 1.0, low.n as f64 - 1.0)))
        };
        let (network, tau) = (climb(NETWORK)?, climb(TAU).filter(|tau| tau.low() > Some(0.0))?);
        match () {
            () if network.high()? < SHARE_MIN * tau.low()? => Some(true),
            () if network.low()? > SHARE_MIN * tau.high()? => Some(false),
            () => None,
        }
    };
    let each: Vec<Option<bool>> = (0..setting.targets.len()).map(of_target).collect();
    all_hold(&each)
}

/// Figure 12: servers of a cloud differ.
fn servers(setting: &Setting, found: &Found<'_>) -> Finding {
    let published = "of ten servers of Amazon EC2 two differ strongly above 12/s (Figure 12)";
    let name = "rented-servers-differ";
    if setting.targets.len() < 2 || setting.targets.iter().any(TargetRecord::is_here) {
        return untested(name, RATES, published, "This needs several servers of yours: name their URLs.");
    }
    let whys: Vec<&Why> = found.rates.iter().filter_map(|at| at.why.as_ref()).collect();
    let (count, of) = (whys.iter().filter(|why| why.differs()).count(), whys.len());
    // At one of many rates servers differ by chance as well; and where no interval is narrow enough, nobody knows.
    let alike = whys.iter().all(|why| why.gap.is_some_and(|gap| gap.high < LITTLE * why.fast_ms));
    let holds = match () {
        () if count >= 2 || (count == 1 && of == 1) => Some(true),
        () if of > 0 && alike => Some(false),
        () => None,
    };
    let here = format!(
        "Here the slowest and the fastest of {} differ at {count} of {of} rates.",
        setting.targets.len()
    );
    let numbers = vec![Number::plain("rates_that_differ", count as f64)];
    Finding::of(name, RATES, published, holds, here).with(numbers)
}

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
