//! What all runs of a group say about what is carried, as bounds.

use super::judge::{self, REFUSALS};
use super::objective::{Unanswered, objective, p95};
use crate::store::format::{
    BoundsRecord, CellRecord, CellSummary, DomainRecord, NeighboursRecord, PlanFile, ProbeRecord,
    RangeRecord, RunFile, Severity, Verdict, WorkRecord,
};
use crate::store::run_name;
use evenkeel_core::bounds::{Answer, Clear, Fate, Range, RunAt, Work, difference};
use std::collections::BTreeMap;

/// Share of the arrivals that may fail in a run that says something about the server.
const FAILED_MAX: f64 = 0.5;

/// The bounds of series that differ in the target alone: what each of them carries at least, and at most. `trusted` is the rate up to
/// which their response times are reliable.
pub(super) fn of_group(
    plan: &PlanFile,
    cells: &[CellSummary],
    runs: &[RunFile],
    group: &[usize],
    trusted: Option<f64>,
) -> BoundsRecord {
    let each = group.iter().map(|series| of_series(plan, cells, runs, *series, trusted));
    let each: Vec<BoundsRecord> = each.collect();
    each.into_iter().reduce(hull).unwrap_or_default()
}

/// The runs of a series in numbers, in the order in which they were made.
pub(super) fn runs_of<'a>(
    plan: &PlanFile,
    runs: impl IntoIterator<Item = &'a RunFile>,
    series: usize,
) -> Vec<RunAt> {
    let rate = |run: &RunFile| {
        plan.cells
            .iter()
            .find(|cell| cell.id == run.cell && cell.series == series)
            .map(|cell| cell.rate_per_s)
    };
    runs.into_iter().filter_map(|run| Some(run_at(rate(run)?, run))).collect()
}

/// Names of the runs of a group that take no part in its bounds.
pub(super) fn left_out(plan: &PlanFile, runs: &[RunFile], group: &[usize]) -> Vec<String> {
    let is_own =
        |run: &&RunFile| plan.cells.iter().any(|cell| cell.id == run.cell && group.contains(&cell.series));
    let left = runs.iter().filter(is_own).filter(|run| !is_valid(run));
    left.map(|run| run_name(run.cell, run.repeat)).collect()
}

/// Valid runs of a group that were too short to tell whether the response settles.
pub(super) fn too_short(plan: &PlanFile, runs: &[RunFile], group: &[usize]) -> u32 {
    let at = group.iter().flat_map(|series| runs_of(plan, runs, *series));
    u32::try_from(at.filter(|run| run.valid && run.settled.is_none()).count()).unwrap_or(u32::MAX)
}

/// Valid runs of the rate of a group that has the most of them.
pub(super) fn runs_of_rate(plan: &PlanFile, runs: &[RunFile], group: &[usize]) -> u32 {
    let valid = |cell: &CellRecord| runs.iter().filter(|run| run.cell == cell.id && is_valid(run)).count();
    let most = plan.cells.iter().filter(|cell| group.contains(&cell.series)).map(valid).max();
    u32::try_from(most.unwrap_or(0)).unwrap_or(u32::MAX)
}

/// Completions per second of each run of a series that kept the server busy throughout: what it does when it does all it can. Empty
/// where no rate was refused for certain.
pub fn overload_throughputs(plan: &PlanFile, runs: &[RunFile], series: usize) -> Vec<f64> {
    let at = runs_of(plan, runs, series);
    let valid: Vec<&RunAt> = at.iter().filter(|run| run.valid).collect();
    Answer::of(&at).carried.saturated(&valid).iter().map(|run| run.throughput()).collect()
}

/// What the server does per second when it does all it can, as the runs of all cells of the series but this one tell it: its completions
/// in overload; where no rate was refused the saturation that the search found, or at least the highest rate that was carried.
pub(super) fn saturation_elsewhere(plan: &PlanFile, runs: &[RunFile], cell: &CellRecord) -> Option<f64> {
    let others = runs.iter().filter(|run| run.cell != cell.id);
    let carried = Answer::of(&runs_of(plan, others, cell.series)).carried;
    let above =
        carried.rates.iter().filter(|known| known.fate == Fate::Carried && known.rate > cell.rate_per_s);
    let highest = above.map(|known| known.rate).reduce(f64::max);
    carried.in_overload.or_else(|| saturation(&plan.probes, cell.series)).or(highest)
}

/// The saturation that the search found, per second; `None` where there was none.
pub(super) fn saturation(probes: &[ProbeRecord], series: usize) -> Option<f64> {
    let own = probes.iter().filter(|probe| probe.series == series);
    own.map(|probe| probe.throughput_per_s).filter(|found| *found > 0.0).reduce(f64::max)
}

fn of_series(
    plan: &PlanFile,
    cells: &[CellSummary],
    runs: &[RunFile],
    series: usize,
    trusted: Option<f64>,
) -> BoundsRecord {
    let at = runs_of(plan, runs, series);
    let answer = Answer::of(&at);
    let ids = |id: u32| plan.cells.iter().any(|cell| cell.id == id && cell.series == series);
    let valid: Vec<&RunFile> = runs.iter().filter(|run| ids(run.cell) && is_valid(run)).collect();
    // Without an objective the rate is ours to choose, so that it is one whose response times are reliable.
    let is_trusted = |cell: &&CellSummary| trusted.is_some_and(|trusted| cell.rate_per_s <= trusted);
    let reliable: Vec<CellSummary> = cells.iter().filter(is_trusted).cloned().collect();
    let p95 = match plan.settings.objective_p95_ms {
        Some(wanted) => p95(cells, series, &answer.carried, Some(wanted)),
        None => p95(&reliable, series, &answer.carried, None),
    };
    let missed = objective(plan.settings.objective_p95_ms, cells, &answer.carried, series)
        .map(|found| found.unsure.unwrap_or(found.missed));
    // Requests that nobody waits for long enough say nothing of a server that has nothing to do.
    let unanswered = Unanswered::of(cells.iter().filter(|cell| cell.series == series));
    let tells = !unanswered.is_some_and(|found| found.is_unused());
    BoundsRecord {
        at_least_per_s: answer.carried.at_least,
        seen_at_per_s: answer.carried.seen_at,
        p95_below_ms: p95.map(|(_, below)| below),
        p95_at_per_s: p95.map(|(rate, _)| rate),
        p95_missed_at_per_s: missed.filter(|rate| rate.is_finite()),
        at_most_per_s: answer.carried.at_most.filter(|_| tells),
        in_overload_per_s: answer.carried.in_overload.filter(|_| tells),
        connections: answer
            .carried
            .refused
            .and_then(|rate| busy_connections(&plan.cells, &valid, series, rate)),
        by_itself_per_s: answer.alone.filter(|_| tells).map(|alone| range(alone.range)),
        cpu: cpu(&valid, capacity(&valid)),
        taken_percent: answer.taken_percent,
        runs: u32::try_from(at.len() - answer.left_out).unwrap_or(u32::MAX),
        left_out: u32::try_from(answer.left_out).unwrap_or(u32::MAX),
    }
}

/// The connections, where they were all busy in each run that did not keep up at the lowest rate that was refused.
fn busy_connections(cells: &[CellRecord], valid: &[&RunFile], series: usize, refused: f64) -> Option<f64> {
    let at = |cell: &CellRecord| cell.series == series && cell.rate_per_s == refused;
    let cell = cells.iter().find(|cell| at(cell))?.id;
    let behind = valid.iter().filter(|run| run.cell == cell && !judge::kept_up(run));
    let busy = behind.map(|run| run.caveats.iter().find(|caveat| caveat.code == "few-connections"));
    let found: Vec<f64> =
        busy.map(|caveat| caveat?.evidence.get("sessions").copied()).collect::<Option<_>>()?;
    found.into_iter().reduce(f64::max)
}

fn run_at(rate: f64, run: &RunFile) -> RunAt {
    let lost = run.counts.arrivals.saturating_sub(run.counts.completed);
    let theta = run.theta.as_ref().filter(|theta| theta.domain == DomainRecord::Process);
    let around = run.neighbours.as_ref();
    RunAt {
        rate,
        seconds: run.measured_s,
        arrivals: run.counts.arrivals,
        completed: (run.throughput_per_s * run.measured_s).round() as u64,
        lost: lost as f64 / run.counts.arrivals.max(1) as f64,
        failed: failed(run),
        settled: match run.stability {
            Verdict::Settled => Some(true),
            Verdict::Unstable => Some(false),
            Verdict::TooShort | Verdict::Mixed => None,
        },
        valid: is_valid(run),
        cpu: theta.map(|theta| theta.total_percent / 100.0 * theta.cpus).or_else(|| cpu_by_request(run)),
        cpus: around.map(|around| around.cpus),
        taken: around.map(|around| around.taken_percent / 100.0 * around.cpus),
        clear: around.map(clear),
    }
}

/// CPU time of the server for a request, ms; `None` where nobody saw it, or nothing was answered.
pub(crate) fn cpu_ms_per_request(run: &RunFile) -> Option<f64> {
    let of_server = run.theta.as_ref().filter(|theta| theta.domain == DomainRecord::Process);
    let seen = of_server.map(|theta| theta.total_percent / 100.0 * theta.cpus);
    let cpu = seen.or_else(|| cpu_by_request(run))?;
    Some(1e3 * cpu / run.throughput_per_s).filter(|cpu| cpu.is_finite() && *cpu > 0.0)
}

/// CPU time of the server per second by what it took for a request: some servers say that themselves, where nobody sees
/// their process.
fn cpu_by_request(run: &RunFile) -> Option<f64> {
    let micros = run.sense.get("server_cpu_us_per_request")?;
    Some(1e-6 * micros * run.throughput_per_s).filter(|cpu| cpu.is_finite())
}

fn clear(around: &NeighboursRecord) -> Clear {
    let NeighboursRecord { clear_s, clear_completed, clear_taken_percent, .. } = *around;
    Clear { seconds: clear_s, completed: clear_completed, taken: clear_taken_percent / 100.0 }
}

/// Whether a run speaks about the server: its generator kept its instants, and most of its requests were what they should be. A run
/// with some failures stays: where those that happened to have fewer were taken alone, a rate would count as carried that is not.
pub(super) fn is_valid(run: &RunFile) -> bool {
    run.caveats.iter().all(|caveat| caveat.severity != Severity::Invalid) && failed(run) <= FAILED_MAX
}

/// Share of the arrivals that failed, but for those that the server refused because it carries no more.
fn failed(run: &RunFile) -> f64 {
    let failed = run.counts.failed.iter().filter(|(code, _)| !REFUSALS.contains(code));
    let failed: u64 = failed.map(|(_, count)| count).sum();
    failed as f64 / run.counts.arrivals.max(1) as f64
}

/// CPU time of a request, by requests of the same stretch, as the run has it, and so of the run as a whole.
fn cpu(runs: &[&RunFile], cpus: Option<f64>) -> Option<WorkRecord> {
    let points = runs.iter().filter_map(|run| Some((run.throughput_per_s, 1e3 * cpu_by_request(run)?)));
    let work = Work::of(&points.collect::<Vec<_>>())?;
    let mut of_rates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in runs {
        of_rates.entry(run.cell).or_default().extend(cpu_ms_per_request(run));
    }
    let of_rates: Vec<Vec<f64>> = of_rates.into_values().collect();
    Some(WorkRecord {
        per_request: work.per_request,
        range: work.range.map(range),
        runs: u32::try_from(work.runs).unwrap_or(u32::MAX),
        seen_at_per_s: range(work.seen_at),
        ends_at_per_s: cpus.and_then(|cpus| work.ends_at(1e3 * cpus)).map(range),
        varies_percent: difference(&of_rates).map(|found| 100.0 * found),
    })
}

/// CPUs that the server may use, where they are seen: those of its set, or as much of them as its quota allows.
fn capacity(runs: &[&RunFile]) -> Option<f64> {
    let around = runs.iter().filter_map(|run| run.neighbours.as_ref());
    around
        .map(|around| around.quota_cpus.map_or(around.cpus, |quota| quota.min(around.cpus)))
        .reduce(f64::max)
}

fn range(range: Range) -> RangeRecord {
    RangeRecord { low: range.low, high: range.high }
}

/// Of two servers: what both carry at least, what neither exceeds, and what holds both. Where one of them has no bound, both
/// together have none.
fn hull(one: BoundsRecord, other: BoundsRecord) -> BoundsRecord {
    let both = |a: Option<f64>, b: Option<f64>, take: fn(f64, f64) -> f64| a.zip(b).map(|(a, b)| take(a, b));
    let wide =
        |a: RangeRecord, b: RangeRecord| RangeRecord { low: a.low.min(b.low), high: a.high.max(b.high) };
    let by_itself = one.by_itself_per_s.zip(other.by_itself_per_s).map(|(a, b)| wide(a, b));
    let cpu = one.cpu.zip(other.cpu).map(|(one, other)| WorkRecord {
        per_request: f64::midpoint(one.per_request, other.per_request),
        range: one.range.zip(other.range).map(|(a, b)| wide(a, b)),
        runs: one.runs + other.runs,
        seen_at_per_s: wide(one.seen_at_per_s, other.seen_at_per_s),
        ends_at_per_s: one.ends_at_per_s.zip(other.ends_at_per_s).map(|(a, b)| wide(a, b)),
        varies_percent: both(one.varies_percent, other.varies_percent, f64::max),
    });
    BoundsRecord {
        at_least_per_s: both(one.at_least_per_s, other.at_least_per_s, f64::min),
        seen_at_per_s: both(one.seen_at_per_s, other.seen_at_per_s, f64::min),
        p95_below_ms: both(one.p95_below_ms, other.p95_below_ms, f64::max),
        p95_at_per_s: both(one.p95_at_per_s, other.p95_at_per_s, f64::min),
        p95_missed_at_per_s: both(one.p95_missed_at_per_s, other.p95_missed_at_per_s, f64::min),
        at_most_per_s: both(one.at_most_per_s, other.at_most_per_s, f64::max),
        in_overload_per_s: both(one.in_overload_per_s, other.in_overload_per_s, f64::min),
        connections: one.connections.or(other.connections),
        by_itself_per_s: by_itself,
        cpu,
        taken_percent: both(one.taken_percent, other.taken_percent, f64::max),
        runs: one.runs + other.runs,
        left_out: one.left_out + other.left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::caveat::Caveat;

    #[test]
    fn connections_are_the_limit_where_all_were_busy_in_each_run_that_fell_behind() {
        let cells = [CellRecord { id: 3, series: 0, rate_per_s: 200.0 }];
        let run = |busy: Option<u32>| RunFile {
            cell: 3,
            stability: Verdict::Unstable,
            caveats: busy.iter().map(|busy| Caveat::few_connections(*busy, "a quarter", true)).collect(),
            ..RunFile::default()
        };
        let found = |runs: &[RunFile]| busy_connections(&cells, &runs.iter().collect::<Vec<_>>(), 0, 200.0);
        assert_eq!(found(&[run(Some(40)), run(Some(40))]), Some(40.0));
        assert_eq!(found(&[run(Some(40)), run(None)]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn a_quota_ends_before_the_cpus_of_the_set_do() {
        let run = |cpus: f64, quota_cpus: Option<f64>| RunFile {
            neighbours: Some(NeighboursRecord { cpus, quota_cpus, ..NeighboursRecord::default() }),
            ..RunFile::default()
        };
        let capacity = |run: RunFile| capacity(&[&run]);
        assert_eq!(capacity(run(4.0, None)), Some(4.0));
        assert_eq!(capacity(run(4.0, Some(0.5))), Some(0.5));
        assert_eq!(capacity(run(2.0, Some(8.0))), Some(2.0));
        assert_eq!(capacity(RunFile::default()), None);
    }
}
