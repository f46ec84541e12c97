//! A workload whose think time the plan sets.

use super::{Client, Parameters, Reply, Statement, StepEnd, Workload};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use std::sync::Arc;

/// The same workload, but its closed clients leave the think time to the plan: the TPC-W mixes without
/// thinking, or with another mean. Sessions still end after as many requests as with their own think time.
pub fn plan_think(workload: Arc<dyn Workload>) -> Arc<dyn Workload> {
    Arc::new(PlanThink(workload))
}

struct PlanThink(Arc<dyn Workload>);

impl Workload for PlanThink {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn statements(&self) -> &[Statement] {
        self.0.statements()
    }
    fn kinds(&self) -> &[String] {
        self.0.kinds()
    }
    fn steps(&self) -> &[String] {
        self.0.steps()
    }
    fn uniform_think(&self) -> bool {
        self.0.uniform_think()
    }
    fn client(&self, number: u64) -> Box<dyn Client> {
        self.0.client(number)
    }
    fn closed_client(&self, number: u64) -> Box<dyn Client> {
        Box::new(Unthinking(self.0.closed_client(number)))
    }
    fn sample(&self, statement: usize, random: &mut Random, parameters: &mut Parameters) -> bool {
        self.0.sample(statement, random, parameters)
    }
    fn weights(&self) -> Option<Vec<f64>> {
        self.0.weights()
    }
}

struct Unthinking(Box<dyn Client>);

impl Client for Unthinking {
    fn begin(&mut self, random: &mut Random) -> usize {
        self.0.begin(random)
    }
    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        self.0.step(reply, random, parameters)
    }
    fn pause(&self) -> Nanos {
        self.0.pause()
    }
    fn step_ended(&mut self) -> Option<StepEnd> {
        self.0.step_ended()
    }
    fn tries_again(&mut self, code: u16, random: &mut Random) -> bool {
        self.0.tries_again(code, random)
    }
    fn think(&mut self, random: &mut Random) -> Option<Nanos> {
        // Drawn all the same, because a browser's session ends after a sum of think times.
        self.0.think(random);
        None
    }
    fn first_think(&mut self, random: &mut Random) -> Option<Nanos> {
        self.0.first_think(random);
        None
    }
}
