//! What disturbed the measurement, and what bounds what can be concluded from it.

use super::{most, settling};
use crate::format;
use crate::harness::{Plan, Run, doubts, standing};
use crate::throttling::COUNTERS_REFUSED;
use crate::throttling::parts::STEP;
use crate::throttling::record::{Load, Setting, Treatment};
use evenkeel_core::caveat::{Caveat, GENERATOR_CPU_MAX, Severity};
use evenkeel_core::disturbance::Disturbance;

/// All that there is to doubt, the evidence of this study's runs first.
pub fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let set_aside: Vec<Disturbance> = runs.iter().flat_map(|run| run.set_aside.iter().copied()).collect();
    let own = [counters(runs), generator(runs), Caveat::measured_again(&set_aside), ends(runs)];
    let mut found: Vec<Caveat> = own.into_iter().flatten().collect();
    found.extend(doubts(plan.part(Load::Shopping.name()).into_iter(), runs));
    found.extend(one_step(runs));
    found.push(fresh_guard(setting.shopping.warm_up_s));
    found.extend(settling::caveats(plan, setting, runs));
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
