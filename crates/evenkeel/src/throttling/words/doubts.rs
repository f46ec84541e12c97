//! What disturbed the measurement, and what bounds what can be concluded from it.

use super::{most, other_percent, settling};
use crate::format;
use crate::throttling::COUNTERS_REFUSED;
use crate::throttling::parts::STEP;
use crate::throttling::record::{Load, Setting, Way};
use evenkeel_study::harness::{Plan, Run};

/// Doubts, each a sentence.
pub fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(counters(runs));
    found.extend(generator(runs));
    found.extend(neighbours(runs));
    found.extend(ends(runs));
    found.extend(few(plan, runs));
    found.push(format!(
        "Every point has a fresh guard, which begins at a limit of 8 and has {} before measuring begins.",
        format::seconds(setting.shopping.warm_up_s)
    ));
    found.extend(settling::caveats(plan, setting, runs));
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

fn counters(runs: &[Run]) -> Option<String> {
    let reason = runs.iter().find_map(|run| run.notes.get(COUNTERS_REFUSED))?;
    Some(format!(
        "DTLB misses, cache misses and cycles are not available: {}. The study's rule then goes by CPU time per commit, \
         which the study does not call overhead.",
        format::plain(reason)
    ))
}

/// Load threads that use nearly all of their CPU measure themselves.
const GENERATOR_PERCENT: f64 = 80.0;

fn generator(runs: &[Run]) -> Option<String> {
    let busiest = most(runs, "generator_percent");
    (busiest > GENERATOR_PERCENT).then(|| {
        format!(
            "The load threads used up to {} of a CPU: some throughput may be theirs.",
            format::percent(busiest)
        )
    })
}

/// Beyond this, in percent, somebody else took part.
const DISTURBED_PERCENT: f64 = 5.0;

fn neighbours(runs: &[Run]) -> Vec<String> {
    let (steal, other) = (most(runs, "steal_percent"), other_percent(runs));
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

fn ends(runs: &[Run]) -> Option<String> {
    let sum = |figure: &str| runs.iter().filter_map(|run| run.figure(figure)).sum::<f64>();
    let (failed, lost) = (sum("failed"), sum("lost"));
    (failed + lost > 0.0).then(|| {
        format!(
            "{} failed other than by deadlock, and {} were given up or never sent; none counts as a commit.",
            format::counted(failed as usize, "request"),
            format::count(lost as u64)
        )
    })
}

fn few(plan: &Plan, runs: &[Run]) -> Vec<String> {
    let mut found = Vec::new();
    let of = |part: &str| runs.iter().filter(|run| run.part == part).count();
    let planned = plan.part(Load::Shopping.name()).map_or(0, evenkeel_study::harness::Part::runs);
    let done = of(Load::Shopping.name());
    if done < planned {
        found.push(format!("Unfinished: {done} of {planned} points of the shopping mix."));
    }
    let repeats =
        plan.parts.iter().filter(|part| part.name != STEP).map(|part| part.repeats).min().unwrap_or(0);
    if repeats < 3 {
        found.push(format!(
            "{} of each point: with so few the 95 % intervals are wide.",
            format::counted(repeats as usize, "run")
        ));
    }
    let is_ours = |run: &&Run| run.part == STEP && run.levels == [Way::Evenkeel.name()];
    if runs.iter().filter(is_ours).count() == 1 {
        found.push("Each step was watched once.".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttling::fixture::{falling, plan, setting as setting_of, steps};

    #[test]
    fn doubts_are_told_with_their_evidence() {
        let mut runs = falling();
        runs[0].set("lost", 3.0);
        runs[0].set("generator_percent", 95.0);
        let all: Vec<Run> = runs.iter().cloned().chain(steps()).collect();
        let said = caveats(&plan(), &setting_of(), &all).join("\n");
        for part in ["not available: the kernel has no such event", "up to 95 % of a CPU", "3 were given up"]
        {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(!said.contains("Unfinished"), "{said}");
        let fewer = caveats(&plan(), &setting_of(), &runs[1..]).join("\n");
        assert!(fewer.contains("Unfinished: 35 of 36"), "{fewer}");
    }
}
