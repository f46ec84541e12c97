//! What disturbed the measurement, and what bounds what can be concluded from it.

use super::{most, settling};
use crate::format;
use crate::harness::{Plan, Run, doubts};
use crate::throttling::COUNTERS_REFUSED;
use crate::throttling::parts::STEP;
use crate::throttling::record::{Load, Setting, Treatment};
use evenkeel_core::caveat::{Caveat, GENERATOR_CPU_MAX, Severity};
use evenkeel_core::disturbance::Disturbance;

/// All that there is to doubt, the evidence of this study's runs first.
pub fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let mut found = Vec::new();
    found.extend(counters(runs));
    found.extend(generator(runs));
    let set_aside: Vec<Disturbance> = runs.iter().flat_map(|run| run.set_aside.iter().copied()).collect();
    found.extend(Caveat::measured_again(&set_aside));
    found.extend(ends(runs));
    found.extend(doubts(plan.part(Load::Shopping.name()).as_slice(), runs));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttling::fixture::{falling, plan, setting as setting_of, steps};

    fn lines(caveats: &[Caveat]) -> String {
        caveats.iter().map(|caveat| format!("{caveat}\n")).collect()
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
