//! The clients that ask for transactions.

use evenkeel_core::Nanos;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    pub at: Nanos,
    /// Number of closed clients, each of which has at most one transaction at a time.
    pub clients: u32,
    /// Mean pause of a client between transactions, exponential; 0 for none.
    pub think_s: f64,
    /// How many of the clients keep a transaction open through the phase: each takes a permit and no work of the server.
    pub slow: u32,
    /// Whether the server stands still.
    pub paused: bool,
    pub plant: usize,
}

impl Phase {
    /// Clients that never pause, on the first plant, from the start.
    pub fn of(clients: u32) -> Self {
        Self { at: Nanos::ZERO, clients, think_s: 0.0, slow: 0, paused: false, plant: 0 }
    }
}

/// Phases in ascending order of their start.
#[derive(Clone, Debug, PartialEq)]
pub struct Load(Vec<Phase>);

impl Load {
    /// These phases, which may come in any order. The first one also holds before it begins.
    pub fn new(mut phases: Vec<Phase>) -> Self {
        phases.sort_by_key(|phase| phase.at);
        Self(phases)
    }

    pub fn constant(clients: u32) -> Self {
        Self(vec![Phase::of(clients)])
    }

    /// The phase of an instant; nobody asks for anything where there are no phases.
    pub fn at(&self, at: Nanos) -> Phase {
        let begun = self.0.partition_point(|phase| phase.at <= at);
        self.0.get(begun.saturating_sub(1)).copied().unwrap_or(Phase::of(0))
    }
}
