//! What a study says in sentences: the same in the terminal and on the page.

mod settling;

use super::record::{Load, PlanFile, PointFile, StepFile, Way};
use super::verdict::{FALL_PERCENT, Fall, GROWTH, Growth, Held, Verdict};
use crate::format;

pub use settling::rest;

/// The published finding.
pub const PUBLISHED: &str = "Without control, throughput rises with load to a peak and then falls as misses of the data \
                             translation buffer and of the data cache grow. With the controller it stays at the peak \
                             through the overload. How it moves after a change of load stayed unsatisfactory.";

/// Where it was published.
pub const SOURCE: &str = "MySQL on Linux 2.4.18, one Athlon of 1.3 GHz, TPC-W shopping mix";

/// The first sentence: whether the finding shows here, and whether that can be relied on.
pub fn headline(verdicts: &[Verdict], points: &[PointFile]) -> String {
    let Some(verdict) = verdicts.iter().find(|verdict| verdict.load == Load::Shopping) else {
        return "Nothing has been measured yet.".to_owned();
    };
    let Some(fall) = &verdict.fall else {
        return "One number of clients says nothing about a curve.".to_owned();
    };
    let shown = if fall.is_shown() { "Shown here" } else { "Not shown here" };
    let doubt = match (fall.percent >= FALL_PERCENT, fall.is_certain()) {
        (true, false) => ", which cannot be told from noise",
        _ => "",
    };
    let other = other_percent(points);
    let disturbed = if other > MUCH_PERCENT {
        let other = format::percent(other);
        format!(". Other programs used up to {other} of the machine: measure again when it is quiet")
    } else {
        String::new()
    };
    format!("{shown}: without control the shopping mix {}{doubt}{disturbed}", falls(fall))
}

/// Beyond this, in percent of the machine, nothing can be concluded.
const MUCH_PERCENT: f64 = 20.0;

/// Most that other programs used, percent of the machine. With a guard, its CPU time is among that of others.
fn other_percent(points: &[PointFile]) -> f64 {
    let alone = points.iter().filter(|point| point.key.way == Way::Direct);
    alone.filter_map(|point| point.figures.other_percent).fold(0.0, f64::max)
}

/// `loses 23 % (19 to 27 %) of its best throughput of 512/s, reached at 4 clients, with 256`.
fn falls(fall: &Fall) -> String {
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

/// Sentences on one workload.
pub fn sentences(verdict: &Verdict) -> Vec<String> {
    let mut said = Vec::new();
    if let (Load::Reread, Some(fall)) = (verdict.load, &verdict.fall) {
        said.push(format!("Without control this workload {}.", falls(fall)));
    }
    said.extend(costs(verdict));
    said.extend(kept(verdict));
    said
}

/// How costs per commit grow.
fn costs(verdict: &Verdict) -> Vec<String> {
    let one = |growth: &Growth| {
        format!(
            "{} {} to {} ({}-fold)",
            growth.words,
            format::significant(growth.from, 3),
            format::significant(growth.to, 3),
            format::short(growth.factor())
        )
    };
    let all: Vec<String> = verdict.growth.iter().map(one).collect();
    let mut said = Vec::new();
    if !all.is_empty() {
        said.push(format!(
            "Per commit, from the fewest clients to the most, without control: {}.",
            all.join("; ")
        ));
    }
    if verdict.load == Load::Reread {
        said.push(doubling(verdict));
    }
    said
}

fn doubling(verdict: &Verdict) -> String {
    let waits = verdict.lock_wait_percent.map_or_else(|| format::ABSENT.to_owned(), format::percent);
    match (verdict.doubles_without_locks(), verdict.cost()) {
        (Some(true), Some(cost)) => format!(
            "So the {} at least double, and row locks are waited for {waits} of the time in flight: {}",
            cost.words,
            if cost.is_overhead() {
                "overhead that grows without lock waits, as the study describes it.".to_owned()
            } else {
                format!("a cost that grows without lock waits. {NO_OVERHEAD}")
            }
        ),
        (Some(false), Some(cost)) => format!(
            "The {} do not grow {GROWTH}-fold without lock waits here ({waits} of the time in flight): what the study \
             describes is not shown by this workload either.{}",
            cost.words,
            if cost.is_overhead() { String::new() } else { format!(" {NO_OVERHEAD}") }
        ),
        _ => "Neither costs nor lock waits could be read, so this workload proves nothing here.".to_owned(),
    }
}

/// Where no hardware counter could be read.
const NO_OVERHEAD: &str = "It is not what the study calls overhead, misses of the data translation buffer and of the data \
                           cache: those could not be counted here.";

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
        let limit = held.limit.filter(|_| held.way != Way::Unlimited);
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

/// Doubts, each a sentence.
pub fn caveats(plan: &PlanFile, points: &[PointFile], steps: &[StepFile]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(counters(points));
    found.extend(generator(points));
    found.extend(neighbours(points));
    found.extend(ends(points));
    found.extend(few(plan, points, steps));
    let sweep = &plan.shopping;
    found.push(format!(
        "Every point has a fresh guard, which begins at a limit of 8 and has {} before measuring begins.",
        format::seconds(sweep.warm_up_s)
    ));
    found.extend(settling::caveats(plan, points));
    found.push(
        "The guard runs on the clients' CPUs; `unlimited` is a guard that never limits, so that the price of the hop \
         can be told from what control does."
            .to_owned(),
    );
    found.push(
        "The shopping mix writes, so that the data grow during the study; the random order of points spreads this over \
         all of them."
            .to_owned(),
    );
    found
}

fn counters(points: &[PointFile]) -> Option<String> {
    let reason = points.iter().find_map(|point| point.counters_refused.as_ref())?;
    Some(format!(
        "DTLB misses, cache misses and cycles are not available: {}. The study's rule then goes by CPU time per commit, \
         which the study does not call overhead.",
        format::plain(reason)
    ))
}

/// Load threads that use nearly all of their CPU measure themselves.
const GENERATOR_PERCENT: f64 = 80.0;

fn generator(points: &[PointFile]) -> Option<String> {
    let busiest = points.iter().map(|point| point.figures.generator_percent).fold(0.0, f64::max);
    (busiest > GENERATOR_PERCENT).then(|| {
        format!(
            "The load threads used up to {} of a CPU: some throughput may be theirs.",
            format::percent(busiest)
        )
    })
}

/// Beyond this, in percent, somebody else took part.
const DISTURBED_PERCENT: f64 = 5.0;

fn neighbours(points: &[PointFile]) -> Vec<String> {
    let steal = points.iter().filter_map(|point| point.figures.steal_percent).fold(0.0, f64::max);
    let other = other_percent(points);
    let mut found = Vec::new();
    if steal > DISTURBED_PERCENT {
        let steal = format::percent(steal);
        found.push(format!("A hypervisor took up to {steal} of the server's CPU time away in a point."));
    }
    if other > DISTURBED_PERCENT {
        let other = format::percent(other);
        found.push(format!(
            "Other programs used up to {other} of the machine in a point: compare only what differs clearly."
        ));
    }
    found
}

fn ends(points: &[PointFile]) -> Option<String> {
    let (failed, lost) =
        points.iter().fold((0, 0), |(failed, lost), point| (failed + point.failed, lost + point.lost));
    (failed + lost > 0).then(|| {
        format!(
            "{} failed other than by deadlock, and {} were given up or never sent; none counts as a commit.",
            format::counted(failed as usize, "request"),
            format::count(lost)
        )
    })
}

fn few(plan: &PlanFile, points: &[PointFile], steps: &[StepFile]) -> Vec<String> {
    let mut found = Vec::new();
    let planned = super::plan::points(&plan.shopping, plan.seed).len();
    let done = points.iter().filter(|point| point.key.load == Load::Shopping).count();
    if done < planned {
        found.push(format!("Unfinished: {done} of {planned} points of the shopping mix."));
    }
    let repeats = plan.shopping.repeats.min(plan.reread.repeats);
    if repeats < 3 {
        found.push(format!(
            "{} of each point: with so few the 95 % intervals are wide.",
            format::counted(repeats as usize, "run")
        ));
    }
    let each = steps.iter().filter(|step| step.way == Way::Evenkeel).count();
    if each == 1 {
        found.push("Each step was watched once.".to_owned());
    }
    found
}

/// The rule by which it is judged.
pub fn rule() -> String {
    format!(
        "A curve that loses less than {FALL_PERCENT} % from its best to the highest number of clients, or whose runs do \
         not agree that it falls, does not show the finding; then a second workload is measured, of which the buffer pool misses \
         more pages per commit with more clients, without lock waits."
    )
}

/// What was done, in a line.
pub fn setting(plan: &PlanFile) -> String {
    let sweep = &plan.shopping;
    let clients: Vec<String> = sweep.clients.iter().map(ToString::to_string).collect();
    format!(
        "TPC-W shopping mix without think time, NUM_EBS {}, NUM_ITEMS {}; {} clients; {} of {} after {} of warm-up; \
         server on CPU {}, clients and guard on CPU {}",
        plan.ebs,
        format::count(u64::from(plan.items)),
        clients.join(", "),
        format::counted(sweep.repeats as usize, "run"),
        format::seconds(sweep.duration_s),
        format::seconds(sweep.warm_up_s),
        plan.place.server_cpus,
        plan.place.generator_cpus
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{falling, flat, plan, reread, steps};
    use super::super::verdict::verdicts;
    use super::*;

    #[test]
    fn a_curve_that_stays_is_not_shown_here() {
        let text = headline(&verdicts(&flat()), &flat());
        assert!(
            text.starts_with("Not shown here: without control the shopping mix loses 2 % (95 % interval"),
            "{text}"
        );
        assert!(
            text.ends_with("of its best throughput of 1,000/s, reached at 8 clients, with 64 clients"),
            "{text}"
        );
        assert!(headline(&verdicts(&falling()), &falling()).starts_with("Shown here: "));
        assert_eq!(headline(&[], &[]), "Nothing has been measured yet.");
    }

    #[test]
    fn a_disturbed_machine_is_told_in_the_first_sentence() {
        let mut points = falling();
        points[0].figures.other_percent = Some(70.0);
        let text = headline(&verdicts(&points), &points);
        assert!(text.ends_with("used up to 70 % of the machine: measure again when it is quiet"), "{text}");
    }

    #[test]
    fn pages_that_the_pool_misses_are_not_called_overhead_and_misses_of_the_hardware_are() {
        let said = |points: &[PointFile]| sentences(&verdicts(points)[0]).join(" ");
        let mut points = reread();
        points
            .iter_mut()
            .for_each(|point| point.figures.dtlb_misses = Some(f64::from(100 * point.key.clients)));
        assert!(
            said(&points).contains("overhead that grows without lock waits, as the study"),
            "{}",
            said(&points)
        );
        let said = said(&reread());
        assert!(!said.contains("overhead that grows"), "{said}");
        assert!(
            said.contains("a cost that grows without lock waits. It is not what the study calls overhead"),
            "{said}"
        );
        assert!(said.contains("pages missed by the buffer pool 50.0 to 200 (4-fold)"), "{said}");
        assert!(said.contains("at least double, and row locks are waited for 0 % of the time"), "{said}");
    }

    #[test]
    fn each_way_is_named_with_what_it_keeps() {
        let verdicts = verdicts(&falling());
        let said = sentences(&verdicts[0]).join(" ");
        assert!(said.contains("Evenkeel's rule 0.9 (0.") && said.contains("at a mean limit of 4"), "{said}");
        assert!(said.contains("at a mean limit of 4, not settled in 3 runs; Evenkeel's rule"), "{said}");
    }

    #[test]
    fn doubts_are_told_with_their_evidence() {
        let mut points = falling();
        points[0].lost = 3;
        points[0].figures.generator_percent = 95.0;
        let said = caveats(&plan(), &points, &steps()).join("\n");
        for part in ["not available: the kernel has no such event", "up to 95 % of a CPU", "3 were given up"]
        {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(!said.contains("Unfinished"), "{said}");
        assert!(caveats(&plan(), &points[1..], &[]).join("\n").contains("Unfinished: 35 of 36"));
    }
}
