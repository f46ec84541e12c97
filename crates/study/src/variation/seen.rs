//! From runs to what core judges: observations of targets, and components of variance.

use super::facts::{Noted, PAGES, PLAN, ROOM, STATISTICS};
use super::figures::{
    AT_ONCE, CPU, CPU_WAIT, DATA_SYNC, DATA_SYNCING, HELD, KEPT_UP, LOCK, LOST, NEIGHBOURS, NETWORK,
    ONE_BY_ONE, READ, READS, ROWS, STOLEN, SYNC, TAU, THETA, UNDER_WAY,
};
use super::parts::TARGET;
use super::record::{Setting, TargetRecord};
use crate::harness::{Cell, Run};
use evenkeel_core::caveat::Severity;
use evenkeel_core::statistics::Estimate;
use evenkeel_core::trust::{Point, Settling};
use evenkeel_core::variance::{Components, Observation as Repeat, Position, VarianceError};
use evenkeel_core::why::{Facts, Observation, Seen};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
pub(super) struct OnTarget<'a> {
    pub target: usize,
    pub start: u32,
    pub number: u32,
    pub run: &'a Run,
}

/// All runs of cells that differ in the target alone; of a run on several targets at once each of them.
pub(super) fn on_targets<'a>(setting: &Setting, cells: &[&Cell<'a>]) -> Vec<OnTarget<'a>> {
    let of_cell = |cell: &Cell<'a>| -> Vec<OnTarget<'a>> {
        let targets =
            if setting.duet { (0..setting.targets.len()).collect() } else { vec![place(setting, cell)] };
        let of_run = |run: &&'a Run| {
            // A start that nobody made is none, whatever the plan calls it.
            let (start, number) =
                if setting.restarts() { setting.start_and_run(run.repeat) } else { (1, run.repeat) };
            let run: &'a Run = run;
            targets.iter().map(move |&target| OnTarget { target, start, number, run }).collect::<Vec<_>>()
        };
        cell.runs.iter().flat_map(of_run).collect()
    };
    cells.iter().flat_map(|cell| of_cell(cell)).collect()
}

fn place(setting: &Setting, cell: &Cell<'_>) -> usize {
    setting.targets.iter().position(|target| target.name == cell.level(TARGET)).unwrap_or(0)
}

impl OnTarget<'_> {
    pub fn figure(&self, setting: &Setting, name: &str) -> Option<f64> {
        self.run.figure(&format!("{name}{}", setting.of_target(self.target)))
    }

    fn note(&self, setting: &Setting, name: &str) -> Option<&String> {
        self.run.notes.get(&format!("{name}{}", setting.of_target(self.target)))
    }

    /// What is judged of it; `None` where nothing was answered.
    fn observation(&self, setting: &Setting) -> Option<Observation> {
        let figure = |name: &str| self.figure(setting, name);
        Some(Observation {
            target: self.target,
            start: self.start,
            run: self.number,
            tau_ms: figure(TAU)?,
            seen: Seen {
                network_ms: figure(NETWORK),
                reads: figure(READS),
                predicted: figure(AT_ONCE).zip(figure(ONE_BY_ONE)),
                under_way: figure(UNDER_WAY),
                read_ms: figure(READ),
                rows: figure(ROWS),
                sync_ms: figure(SYNC),
                data_sync_ms: figure(DATA_SYNC),
                data_sync_percent: figure(DATA_SYNCING),
                lock_ms: figure(LOCK),
                cpu_ms: figure(CPU).map(|us| us / 1e3),
                cpu_wait_ms: figure(CPU_WAIT),
                held_percent: figure(HELD),
                theta_percent: figure(THETA),
                stolen_percent: figure(STOLEN),
                neighbours_percent: figure(NEIGHBOURS),
                plan: self.note(setting, PLAN).map(|text| number(text)),
            },
        })
    }

    fn repeat(&self, setting: &Setting) -> Option<Repeat> {
        let of_target = setting.of_target(self.target);
        let column = |name: &str| self.run.series.over_time(&format!("{name}{of_target}"));
        let batches = column("batch_requests").into_iter().zip(column("batch_response_ms"));
        Some(Repeat {
            place: Position {
                target: u32::try_from(self.target).unwrap_or(u32::MAX),
                population: 0,
                start: self.start,
                run: self.number,
            },
            mean: self.figure(setting, TAU)?,
            batches: batches.map(|((_, count), (_, sum))| (count, sum)).collect(),
        })
    }
}

/// One number for a text: the same for the same text, in every version (FNV-1a).
fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether a run is about the server, and not about what made its load.
pub(super) fn is_valid(run: &Run) -> bool {
    run.caveats.iter().all(|caveat| caveat.severity < Severity::Invalid)
}

/// Code of the caveat by which half of the runs of a target or more are about what made the load.
fn invalid(runs: &[OnTarget<'_>]) -> Option<String> {
    let failed = |run: &Run| {
        let grave = run.caveats.iter().find(|caveat| caveat.severity == Severity::Invalid);
        grave.map(|caveat| caveat.code.to_string())
    };
    let targets: BTreeSet<usize> = runs.iter().map(|run| run.target).collect();
    targets.into_iter().find_map(|target| {
        let own: Vec<Option<String>> =
            runs.iter().filter(|run| run.target == target).map(|run| failed(run.run)).collect();
        let codes: Vec<&String> = own.iter().flatten().collect();
        codes.first().filter(|_| 2 * codes.len() >= own.len()).map(|code| (*code).clone())
    })
}

/// Runs without those that failed, where these are fewer than half of each target's; else all, and nothing of them is trusted.
pub(super) fn valid<'a>(runs: Vec<OnTarget<'a>>) -> Vec<OnTarget<'a>> {
    match invalid(&runs) {
        Some(_) => runs,
        None => runs.into_iter().filter(|run| is_valid(run.run)).collect(),
    }
}

pub(super) fn observations(setting: &Setting, runs: &[OnTarget<'_>]) -> Vec<Observation> {
    runs.iter().filter_map(|run| run.observation(setting)).collect()
}

pub(super) fn components(setting: &Setting, runs: &[OnTarget<'_>]) -> Result<Components, VarianceError> {
    Components::of(&runs.iter().filter_map(|run| run.repeat(setting)).collect::<Vec<_>>())
}

/// Whether a server is on another machine, as far as can be seen: what threads wait for a CPU is seen of those that are here.
fn is_elsewhere(setting: &Setting, runs: &[OnTarget<'_>], target: usize) -> bool {
    let is_seen = |run: &OnTarget<'_>| run.target == target && run.figure(setting, CPU_WAIT).is_some();
    !setting.targets.get(target).is_some_and(TargetRecord::is_here) && !runs.iter().any(is_seen)
}

/// Plans, statistics and pages of two targets, as their last runs tell of them.
pub(super) fn facts(setting: &Setting, runs: &[OnTarget<'_>], slow: usize, fast: usize) -> Facts {
    let told = |target: usize| {
        let last = |name: &str| {
            let own = |run: &&OnTarget<'_>| run.target == target;
            runs.iter().rev().filter(own).find_map(|run| run.note(setting, name)).cloned()
        };
        Noted {
            name: setting.targets.get(target).map(|target| target.name.clone()).unwrap_or_default(),
            plan: last(PLAN),
            statistics: last(STATISTICS),
            pages: last(PAGES),
            room: last(ROOM),
            by_probes: setting.mu_percent.is_none() && is_elsewhere(setting, runs, target),
        }
    };
    Facts { side_by_side: setting.duet, ..super::facts::compared(&told(slow), &told(fast)) }
}

/// By which share the statistics of indexes differ at most between starts of one server on the same rows; `None` where nobody saw two.
pub(super) fn statistics_move(setting: &Setting, runs: &[OnTarget<'_>]) -> Option<f64> {
    let mut first: BTreeMap<usize, &str> = BTreeMap::new();
    let mut most = None;
    for run in runs {
        let Some(told) = run.note(setting, STATISTICS) else { continue };
        let known = *first.entry(run.target).or_insert(told);
        let is_first = std::ptr::eq(known, told.as_str());
        most = [most, super::facts::apart(known, told).filter(|_| !is_first)]
            .into_iter()
            .flatten()
            .reduce(f64::max);
    }
    most
}

/// Means of a figure by start of each target: runs of one start are not independent of one another. Of a target with a single start its
/// runs, which is all that there is.
pub(super) fn of_starts(setting: &Setting, runs: &[OnTarget<'_>], target: usize, name: &str) -> Vec<f64> {
    let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.target == target) {
        if let Some(value) = run.figure(setting, name) {
            starts.entry(run.start).or_default().push(value);
        }
    }
    match starts.len() {
        1 => starts.into_values().next().unwrap_or_default(),
        _ => starts.into_values().map(|values| values.iter().sum::<f64>() / values.len() as f64).collect(),
    }
}

/// The target that is known least sharply, as a profile judges a rate by.
fn worst(setting: &Setting, runs: &[OnTarget<'_>]) -> Option<Estimate> {
    let taus =
        (0..setting.targets.len()).filter_map(|target| Estimate::of(&of_starts(setting, runs, target, TAU)));
    let share = |tau: &Estimate| tau.standard_error().unwrap_or(f64::INFINITY) / tau.mean;
    taus.max_by(|one, other| share(one).total_cmp(&share(other)))
}

/// Whether most runs of each target kept up.
fn settling(setting: &Setting, runs: &[OnTarget<'_>]) -> Settling {
    let of_target = |target: usize| {
        let own: Vec<f64> = runs
            .iter()
            .filter(|run| run.target == target)
            .filter_map(|run| run.figure(setting, KEPT_UP))
            .collect();
        let kept = own.iter().filter(|kept| **kept > 0.0).count();
        Settling::of(own.len(), kept, own.len() - kept)
    };
    let all: Vec<Settling> = (0..setting.targets.len()).map(of_target).collect();
    let not_settled = all.iter().find(|one| **one != Settling::Settled);
    not_settled.or(all.first()).copied().unwrap_or(Settling::of(0, 0, 0))
}

/// A rate as the trust limit takes it; `None` where nothing was answered.
pub(super) fn point(setting: &Setting, runs: &[OnTarget<'_>], rate: f64) -> Option<Point> {
    let all = |name: &str| -> Vec<f64> { runs.iter().filter_map(|run| run.figure(setting, name)).collect() };
    let tau = worst(setting, runs)?;
    let of_target = |target: usize| {
        let own = runs.iter().filter(|run| run.target == target);
        Estimate::of(&own.filter_map(|run| run.figure(setting, TAU)).collect::<Vec<_>>()).map(|tau| tau.mean)
    };
    Some(Point {
        rate,
        utilisation: Estimate::of(&all(THETA)).map(|theta| theta.mean),
        invalid: invalid(runs),
        settling: settling(setting, runs),
        lost: Estimate::of(&all(LOST)).map_or(0.0, |lost| lost.mean),
        targets: setting.targets.len(),
        tau_degrees: tau.n as f64 - 1.0,
        tau,
        target_taus: (0..setting.targets.len()).filter_map(of_target).collect(),
    })
}
