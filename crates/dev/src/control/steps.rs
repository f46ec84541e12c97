//! What a sudden change of the number of clients costs a controller on the measured curves.

use super::Contender;
use super::simulation::{Load, Phase, Scenario, simulate};
use crate::plant::MEASURED;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;

/// Seconds that are simulated before the step and after it.
const BEFORE_S: u64 = 30;
const AFTER_S: u64 = 60;
/// Limit that adaptive controllers begin with.
const INITIAL_LIMIT: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regret {
    pub curve: &'static str,
    pub clients: (u32, u32),
    /// Share lost against the best fixed limit. It can be slightly negative, where a drain passes a limit that is better.
    pub regret: f64,
}

/// Steps from 4 to 512 clients and back to 4 on the seven measured curves, from an initial limit of 8.
pub fn regrets(contender: &Contender, seed: Seed) -> Vec<Regret> {
    // A fixed limit stays the one that was asked for.
    let contender = if contender.is_fixed() { *contender } else { contender.starting_at(INITIAL_LIMIT) };
    let mut regrets = Vec::new();
    for measured in &MEASURED {
        for clients in [(4, 512), (512, 4)] {
            let step = Phase { at: Nanos::from_secs(BEFORE_S), ..Phase::of(clients.1) };
            let scenario = Scenario {
                plants: vec![measured.plant()],
                load: Load::new(vec![Phase::of(clients.0), step]),
                tick: Nanos::from_millis(50),
                duration: Nanos::from_secs(BEFORE_S + AFTER_S),
                initial_limit: contender.bounds().initial,
                seed: seed.child(measured.name).numbered(u64::from(clients.0)),
            };
            let trace = simulate(&scenario, contender.build().as_mut());
            let regret = trace.regret(Nanos::from_secs(BEFORE_S), scenario.duration);
            regrets.push(Regret { curve: measured.name, clients, regret });
        }
    }
    regrets
}
