//! A scenario, played on the virtual clock.

use crate::config::simulate::ScenarioFile;
use evenkeel_core::control::simulation::{Broken, Trace, simulate_with};

/// A scenario that was played.
pub struct Played {
    pub trace: Trace,
    /// Decisions that changed the limit, in words.
    pub decisions: Vec<String>,
    pub broken: Vec<Broken>,
}

/// Plays a scenario; its decisions are kept in words where somebody wants to read them.
pub fn play(file: &ScenarioFile, wants_decisions: bool) -> Played {
    let mut controller = file.controller.build();
    let mut decisions = Vec::new();
    let mut limit = file.scenario.initial_limit;
    let trace = simulate_with(&file.scenario, controller.as_mut(), |step, decision| {
        if wants_decisions && decision.limit != limit {
            decisions.push(format!("{:8.2} s  {decision}", step.end.as_secs_f64()));
        }
        limit = decision.limit;
    });
    let broken = file.expect.iter().flat_map(|expect| expect.broken_by(&trace)).collect();
    Played { trace, decisions, broken }
}
