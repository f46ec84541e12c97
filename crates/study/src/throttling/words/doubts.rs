//! What disturbed the measurement, and what bounds what can be concluded from it.

use super::{most, other_percent, settling};
use crate::format;
use crate::harness::{Plan, Run};
use crate::throttling::COUNTERS_REFUSED;
use crate::throttling::parts::STEP;
use crate::throttling::record::{Load, Setting, Treatment};
use evenkeel_core::caveat::{Caveat, GENERATOR_CPU_MAX, OTHER_LOAD_MAX, RUNS_MIN, STEAL_MAX, Severity};
use evenkeel_core::disturbance::Disturbance;

/// All that there is to doubt, the evidence of this study's runs first.
pub fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let mut found = Vec::new();
    found.extend(counters(runs));
    found.extend(generator(runs));
    found.extend(steal(runs));
    found.extend(other_load(runs));
    found.extend(measured_again(runs));
    found.extend(ends(runs));
    found.extend(unfinished(plan, runs));
    found.extend(few(plan));
    found.extend(one_step(runs));
    found.push(fresh_guard(setting.shopping.warm_up_s));
    found.extend(settling::caveats(plan, setting, runs));
    found.push(Caveat::new(
        "guard-on-client-cpus",
        Severity::Note,
        "The guard runs on the clients' CPUs; `unlimited` is a guard that never limits, which separates the \
         cost of the hop from the effect of control.",
    ));
    found.push(Caveat::new(
        "data-grow",
        Severity::Note,
        "The shopping mix writes, so that the data grow during the study; the random order of points spreads this over \
         all of them.",
    ));
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

fn steal(runs: &[Run]) -> Option<Caveat> {
    let steal = most(runs, "steal_percent");
    let text = format!(
        "A hypervisor took up to {} of the server's CPU time away in a point.",
        format::percent(steal)
    );
    (steal > STEAL_MAX).then(|| {
        Caveat::new("steal", Severity::Doubt, text)
            .with("steal_percent", steal)
            .with("tolerated_percent", STEAL_MAX)
    })
}

fn other_load(runs: &[Run]) -> Option<Caveat> {
    let other = other_percent(runs);
    let text = format!(
        "Other programs used up to {} of the machine in a point: compare only what differs clearly.",
        format::percent(other)
    );
    (other > OTHER_LOAD_MAX).then(|| {
        Caveat::new("other-load", Severity::Doubt, text)
            .with("other_load_percent", other)
            .with("tolerated_percent", OTHER_LOAD_MAX)
    })
}

/// Of all runs together.
fn measured_again(runs: &[Run]) -> Option<Caveat> {
    let set_aside: Vec<Disturbance> = runs.iter().flat_map(|run| run.set_aside.iter().copied()).collect();
    Caveat::measured_again(&set_aside)
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

fn unfinished(plan: &Plan, runs: &[Run]) -> Option<Caveat> {
    let done = runs.iter().filter(|run| run.part == Load::Shopping.name()).count();
    let planned = plan.part(Load::Shopping.name()).map_or(0, crate::harness::Part::runs);
    let text = format!("Unfinished: {done} of {planned} points of the shopping mix.");
    (done < planned).then(|| {
        Caveat::new("incomplete", Severity::Note, text)
            .with("runs_done", done as f64)
            .with("runs_planned", planned as f64)
    })
}

fn few(plan: &Plan) -> Option<Caveat> {
    let repeats =
        plan.parts.iter().filter(|part| part.name != STEP).map(|part| part.repeats).min().unwrap_or(0);
    let text = format!(
        "{} of each point: with so few the 95 % intervals are wide.",
        format::counted(repeats as usize, "run")
    );
    (u64::from(repeats) < RUNS_MIN).then(|| {
        Caveat::new("too-few-runs", Severity::Doubt, text)
            .with("runs", f64::from(repeats))
            .with("least_runs", RUNS_MIN as f64)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttling::fixture::{falling, plan, setting as setting_of, steps};

    fn lines(caveats: &[Caveat]) -> String {
        caveats.iter().map(|caveat| format!("{caveat}\n")).collect()
    }

    #[test]
    fn steal_is_doubted_from_where_a_profile_doubts_it() {
        let mut runs = falling();
        let codes =
            |runs: &[Run]| caveats(&plan(), &setting_of(), runs).into_iter().map(|caveat| caveat.code);
        runs[0].set("steal_percent", STEAL_MAX);
        assert!(!codes(&runs).any(|code| code == "steal"));
        runs[0].set("steal_percent", STEAL_MAX + 0.1);
        assert!(codes(&runs).any(|code| code == "steal"));
    }

    #[test]
    fn others_are_doubted_whoever_was_measured_and_the_guard_is_none_of_them() {
        let mut runs = falling();
        let guarded = runs
            .iter()
            .position(|run| run.levels[0] == Treatment::Evenkeel.name())
            .expect("a run with a guard");
        let codes =
            |runs: &[Run]| caveats(&plan(), &setting_of(), runs).into_iter().map(|caveat| caveat.code);
        runs[guarded].set("other_percent", 40.0);
        assert!(!codes(&runs).any(|code| code == "other-load"), "of an older folder: the guard may be in it");
        runs[guarded].set("other_load_percent", OTHER_LOAD_MAX + 0.1);
        assert!(codes(&runs).any(|code| code == "other-load"));
    }

    #[test]
    fn attempts_that_were_set_aside_are_told_once_for_all_runs() {
        let mut runs = falling();
        let disturbed = |steal| Disturbance { steal: Some(steal), other_load: None };
        (runs[0].set_aside, runs[5].set_aside) = (vec![disturbed(3.0)], vec![disturbed(9.0)]);
        let found = caveats(&plan(), &setting_of(), &runs);
        let told: Vec<&Caveat> = found.iter().filter(|caveat| caveat.code == "measured-again").collect();
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].evidence["set_aside"], told[0].evidence["worst_steal_percent"]), (2.0, 9.0));
    }

    #[test]
    fn doubts_are_told_with_their_evidence() {
        let mut runs = falling();
        runs[0].set("lost", 3.0);
        runs[0].set("generator_percent", 95.0);
        let all: Vec<Run> = runs.iter().cloned().chain(steps()).collect();
        let found = caveats(&plan(), &setting_of(), &all);
        let said = lines(&found);
        for part in ["not available: the kernel has no such event", "up to 95 % of a CPU", "3 were given up"]
        {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(!said.contains("Unfinished"), "{said}");
        let busy = found.iter().find(|caveat| caveat.code == "generator-saturated").unwrap();
        assert_eq!(busy.evidence["busiest_thread_percent"], 95.0);
        let fewer = lines(&caveats(&plan(), &setting_of(), &runs[1..]));
        assert!(fewer.contains("Unfinished: 35 of 36"), "{fewer}");
    }
}
