//! What a study says in sentences: the same in the terminal and on the page.

mod doubts;
mod settling;

use super::record::{Load, Setting, Treatment};
use super::verdict::{FALL_PERCENT, Fall, Held, Verdict};
use crate::format;
use crate::harness::{Plan, Run};
use evenkeel_core::caveat::threshold::OTHER_LOAD_MUCH;

pub use doubts::caveats;
pub use settling::rest;

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
