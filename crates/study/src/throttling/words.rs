//! What a study says in sentences: the same in the terminal and on the page.

use super::figures::{COUNTERS_REFUSED, SETTLED, SETTLED_AT, WAITED};
use super::parts::STEP;
use super::record::{Load, Setting, Settle, Treatment};
use super::verdict::{FALL_PERCENT, Fall, Held, Verdict, settled};
use crate::format;
use crate::harness::{Cell, Plan, Run, cells, doubts, standing};
use evenkeel_core::caveat::threshold::OTHER_LOAD_MUCH;
use evenkeel_core::caveat::{Caveat, GENERATOR_CPU_MAX, Severity};
use evenkeel_core::disturbance::Disturbance;

pub const PUBLISHED: &str = "Without control, throughput rises with load to a peak and then falls as misses of the data \
                             translation buffer and of the data cache grow. With the controller it stays at the peak \
                             through the overload. How it moves after a change of load stayed unsatisfactory.";

/// Where it was published.
pub const SOURCE: &str = "MySQL on Linux 2.4.18, one Athlon of 1.3 GHz, TPC-W shopping mix";

/// The first sentence: whether the finding shows here, and whether that can be relied on.
pub fn headline(verdicts: &[Verdict], runs: &[Run]) -> String {
    let shopping = verdicts.iter().find(|verdict| verdict.load == Load::Shopping);
    let Some(fall) = shopping.and_then(|verdict| verdict.fall.as_ref()) else {
        return "One number of clients says nothing about a curve.".to_owned();
    };
    let shown = if fall.is_shown() { "Shown here" } else { "Not shown here" };
    let doubt = match (fall.percent >= FALL_PERCENT, fall.is_certain()) {
        (true, false) => ", which is within the noise",
        _ => "",
    };
    let other = most(runs, "other_load_percent");
    let disturbed = if other > OTHER_LOAD_MUCH {
        let other = format::percent(other);
        format!(". Other programs used up to {other} of the machine: measure again when it is quiet")
    } else {
        String::new()
    };
    format!("{shown}: without control the shopping mix {}{doubt}{disturbed}", falls(fall))
}

fn most(runs: &[Run], figure: &str) -> f64 {
    runs.iter().filter_map(|run| run.figure(figure)).fold(0.0, f64::max)
}

/// `loses 23 % (19 to 27 %) of its best throughput of 512/s, reached at 4 clients, with 256`.
pub(super) fn falls(fall: &Fall) -> String {
    if fall.best.0 == fall.highest.0 {
        return format!(
            "is fastest at the highest number of clients, {}: {}",
            fall.best.0,
            format::rate(fall.best.1)
        );
    }
    let interval = match fall.interval {
        Some((low, _)) if low < -100.0 => " (runs do not agree)".to_owned(),
        Some((low, high)) => format!(" (95 % interval {} to {} %)", format::short(low), format::short(high)),
        None => " (one run, spread unknown)".to_owned(),
    };
    format!(
        "loses {}{interval} of its best throughput of {}, reached at {}, with {} clients",
        format::percent(fall.percent),
        format::rate(fall.best.1),
        format::counted(fall.best.0 as usize, "client"),
        fall.highest.0
    )
}

pub fn sentences(verdict: &Verdict) -> Vec<String> {
    let mut said = Vec::new();
    if let (Load::Reread, Some(fall)) = (verdict.load, &verdict.fall) {
        said.push(format!("Without control this workload {}.", falls(fall)));
    }
    said.extend(kept(verdict));
    said
}

/// An interval whose ends are further apart than this says nothing.
const RUNS_DISAGREE: f64 = 10.0;

/// What each way keeps of the best without control.
fn kept(verdict: &Verdict) -> Option<String> {
    let one = |held: &Held| {
        let interval = match held.ratio.interval {
            Some((low, high)) if high > RUNS_DISAGREE * low => " (runs do not agree)".to_owned(),
            Some((low, high)) => format!(" ({} to {})", format::short(low), format::short(high)),
            None => " (one run)".to_owned(),
        };
        let limit = held.limit.filter(|_| held.way != Treatment::Unlimited);
        let limit =
            limit.map_or_else(String::new, |limit| format!(" at a mean limit of {}", format::short(limit)));
        let unsettled = match held.unsettled {
            Some(runs) if runs > 0 => format!(", not settled in {}", format::counted(runs, "run")),
            _ => String::new(),
        };
        format!("{} {}{interval}{limit}{unsettled}", held.way.words(), format::short(held.ratio.ratio))
    };
    let clients = verdict.fall.as_ref()?.highest.0;
    let all: Vec<String> = verdict.held.iter().map(one).collect();
    Some(format!("Throughput with {clients} clients over the best without control: {}.", all.join("; ")))
}

pub fn rule() -> String {
    format!(
        "A curve does not show the finding if it loses less than {FALL_PERCENT} % from its best to the \
         highest number of clients, or if its runs disagree. Then a second workload is measured. With more \
         clients its buffer pool misses more pages per commit, without lock waits."
    )
}

pub fn setting(plan: &Plan, setting: &Setting) -> String {
    let part = plan.part(Load::Shopping.name());
    let clients = part.map_or(&[][..], |part| part.levels("clients"));
    let clients: Vec<&str> = clients.iter().map(|level| level.name.as_str()).collect();
    format!(
        "TPC-W shopping mix without think time, NUM_EBS {}, NUM_ITEMS {}; {} clients; {} of {} after {} of warm-up; \
         server on CPU {}, clients and guard on CPU {}",
        setting.ebs,
        format::count(u64::from(setting.items)),
        clients.join(", "),
        format::counted(part.map_or(0, |part| part.repeats as usize), "run"),
        format::seconds(setting.shopping.duration_s),
        format::seconds(setting.shopping.warm_up_s),
        setting.server_cpus,
        setting.generator_cpus
    )
}

/// All that there is to doubt, the evidence of this study's runs first.
pub fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let set_aside: Vec<Disturbance> = runs.iter().flat_map(|run| run.set_aside.iter().copied()).collect();
    let own = [counters(runs), generator(runs), Caveat::measured_again(&set_aside), ends(runs)];
    let mut found: Vec<Caveat> = own.into_iter().flatten().collect();
    found.extend(doubts(plan.part(Load::Shopping.name()).into_iter(), runs));
    found.extend(one_step(runs));
    found.push(fresh_guard(setting.shopping.warm_up_s));
    found.extend(settling(plan, setting, runs));
    found.extend(standing([
        (
            "guard-on-client-cpus",
            "The guard runs on the clients' CPUs; `unlimited` is a guard that never limits, which separates the cost of the \
             hop from the effect of control.",
        ),
        (
            "data-grow",
            "The shopping mix writes, so that the data grow during the study; the random order of points spreads this over \
             all of them.",
        ),
    ]));
    found
}

fn counters(runs: &[Run]) -> Option<Caveat> {
    let reason = runs.iter().find_map(|run| run.notes.get(COUNTERS_REFUSED))?;
    let text = format!(
        "DTLB misses, cache misses and cycles are not available: {}. The published controller then uses CPU \
         time per commit, which the study does not call overhead.",
        format::plain(reason)
    );
    Some(Caveat::new("not-available", Severity::Note, text))
}

/// Load threads that use nearly all of their CPU measure themselves.
fn generator(runs: &[Run]) -> Option<Caveat> {
    let busiest = most(runs, "generator_percent");
    let text = format!(
        "The load threads used up to {} of a CPU: some throughput may be theirs.",
        format::percent(busiest)
    );
    (busiest > GENERATOR_CPU_MAX).then(|| {
        Caveat::new("generator-saturated", Severity::Doubt, text)
            .with("busiest_thread_percent", busiest)
            .with("tolerated_percent", GENERATOR_CPU_MAX)
    })
}

fn ends(runs: &[Run]) -> Option<Caveat> {
    let sum = |figure: &str| runs.iter().filter_map(|run| run.figure(figure)).sum::<f64>();
    let (failed, lost) = (sum("failed"), sum("lost"));
    let text = format!(
        "{} failed other than by deadlock, and {} were given up or never sent; none counts as a commit.",
        format::counted(failed as usize, "request"),
        format::count(lost as u64)
    );
    (failed + lost > 0.0)
        .then(|| Caveat::new("failures", Severity::Doubt, text).with("failed", failed).with("lost", lost))
}

fn one_step(runs: &[Run]) -> Option<Caveat> {
    let is_ours = |run: &&Run| run.part == STEP && run.levels == [Treatment::Evenkeel.name()];
    (runs.iter().filter(is_ours).count() == 1)
        .then(|| Caveat::new("one-step", Severity::Note, "Each step was watched once.").with("runs", 1.0))
}

fn fresh_guard(warm_up_s: f64) -> Caveat {
    let text = format!(
        "Every point has a fresh guard, which begins at a limit of 8 and has {} before measuring begins.",
        format::seconds(warm_up_s)
    );
    Caveat::new("fresh-guard", Severity::Note, text).with("warm_up_s", warm_up_s)
}

/// Whether points of the published controller were measured where it came to rest.
fn settling(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let mut ways = plan.parts.iter().flat_map(|part| part.levels("way"));
    if !ways.any(|level| level.name == Treatment::Reflection.name()) {
        return Vec::new();
    }
    let settle = setting.settle;
    let (span, most) = (format::seconds(settle.span_s), format::seconds(settle.most_s));
    let text = format!(
        "A point of the published controller begins when its limit has not moved for {span}, the span of its means, or after {most}: \
         then it has not settled. {}.",
        came_to_rest(plan, runs)
    );
    let waits = Caveat::new("rule-waited-for", Severity::Note, text)
        .with("span_s", settle.span_s)
        .with("waited_at_most_s", settle.most_s);
    let text = "After the step there is no wait for the published controller, to show how it moves.";
    let moves = Caveat::new("step-not-waited-for", Severity::Note, text);
    [Some(waits), short_span(settle.span_s), Some(moves)].into_iter().flatten().collect()
}

fn short_span(span_s: f64) -> Option<Caveat> {
    let text = format!(
        "The span of the published controller is {} instead of the published {}, and all of the controller with it: it decides \
         sixty times in a span, and throughput of a shorter span scatters more.",
        format::seconds(span_s),
        format::seconds(Settle::PUBLISHED_S)
    );
    (span_s < Settle::PUBLISHED_S).then(|| {
        Caveat::new("rule-of-a-short-span", Severity::Doubt, text)
            .with("span_s", span_s)
            .with("published_s", Settle::PUBLISHED_S)
    })
}

/// `Settled: 1 client after 60 s to 63 s at a limit of 8; not settled: 64 clients in 3 of 3 runs`.
fn came_to_rest(plan: &Plan, runs: &[Run]) -> String {
    let cells = cells(plan, runs);
    let waited: Vec<&Cell<'_>> = cells.iter().filter(|cell| settled(cell).is_some()).collect();
    if waited.is_empty() {
        return "No point of it has been measured yet".to_owned();
    }
    let told: Vec<String> = waited.into_iter().map(rest_of).collect();
    format!("By workload and clients: {}", told.join("; "))
}

/// What the limit did before a point; `None` where it was not waited for.
pub fn rest(run: &Run) -> Option<String> {
    let waited = format::seconds(run.figure(WAITED)?.round());
    let limit = run.figure(SETTLED_AT)?;
    Some(match run.figure(SETTLED)? > 0.0 {
        true => format!("settled after {waited} at a limit of {limit}"),
        false => format!("not settled after {waited}, at a limit of {limit}"),
    })
}

fn rest_of(cell: &Cell<'_>) -> String {
    let rested: Vec<&Run> = cell
        .runs
        .iter()
        .filter(|run| run.figure(SETTLED).is_some_and(|settled| settled > 0.0))
        .copied()
        .collect();
    let name = format!("{} {}", cell.part.name, cell.level("clients"));
    let (count, runs) = (rested.len(), cell.runs.len());
    if count == 0 {
        return format!("{name} not settled in {}", format::counted(runs, "run"));
    }
    let of = |figure: &'static str| rested.iter().filter_map(move |run| run.figure(figure));
    let (least, most) = range(of(WAITED).map(f64::round));
    let (low, high) = range(of(SETTLED_AT));
    let to = |low: f64, high: f64| match low < high {
        true => format!("{} to {}", format::short(low), format::short(high)),
        false => format::short(low),
    };
    let limit = to(low, high);
    let rest = if count < runs {
        format!(", not settled in {} of {runs} runs", runs - count)
    } else {
        String::new()
    };
    format!("{name} settled after {} s at a limit of {limit}{rest}", to(least, most))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
