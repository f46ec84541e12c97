//! The user's own workloads: statements with weights and generators of parameters, and transactions of them.
//!
//! Plain types, filled in by whoever reads a file; [`UserWorkload::new`] checks them.

mod columns;
mod compile;
mod definition;
mod generator;
#[cfg(test)]
mod tests;

pub use columns::{ColumnReader, NoColumns};
pub use compile::COLUMN_LIMIT;
pub use definition::{Definition, ParameterDefinitions, StatementDefinition, TransactionDefinition};
pub use generator::Generator;

use super::fill::set_value;
use super::{Client, Fill, Parameters, Reply, Statement, Value, Workload, WorkloadError};
use compile::{Compiler, Parameter, Plan};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use std::sync::Arc;

#[derive(Debug)]
pub struct UserWorkload {
    name: String,
    kinds: Vec<String>,
    plan: Arc<Plan>,
}

impl UserWorkload {
    /// Checks a definition, and reads the values of its `column` generators once.
    ///
    /// # Errors
    /// The entry and what to do about it.
    pub fn new(definition: &Definition, reader: &mut dyn ColumnReader) -> Result<Self, WorkloadError> {
        let plan = Compiler::new(definition, reader).compile()?;
        let kinds = plan.requests.iter().map(|request| request.name.clone()).collect();
        Ok(Self { name: definition.name.clone(), kinds, plan: Arc::new(plan) })
    }
}

impl Workload for UserWorkload {
    fn name(&self) -> &str {
        &self.name
    }

    fn statements(&self) -> &[Statement] {
        &self.plan.statements
    }

    fn kinds(&self) -> &[String] {
        &self.kinds
    }

    fn client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(UserClient { plan: Arc::clone(&self.plan), request: 0, at: 0, shared: Vec::new() })
    }

    fn sample(&self, statement: usize, random: &mut Random, parameters: &mut Parameters) -> bool {
        let has_it =
            |request: &compile::Request| request.steps.iter().any(|step| step.statement == statement);
        let Some(request) = self.plan.requests.iter().position(has_it) else { return false };
        if !self.plan.statements[statement].prepared {
            return false;
        }
        let mut client = UserClient { plan: Arc::clone(&self.plan), request, at: 0, shared: Vec::new() };
        client.draw_shared(random);
        while let Some(index) = client.step(None, random, parameters) {
            if index == statement {
                return true;
            }
        }
        false
    }

    fn weights(&self) -> Option<Vec<f64>> {
        let sum: f64 = self.plan.weights.iter().sum();
        let mut weights = vec![0.0; self.plan.statements.len()];
        for (request, weight) in self.plan.requests.iter().zip(&self.plan.weights) {
            for step in &request.steps {
                weights[step.statement] += weight / sum;
            }
        }
        Some(weights)
    }
}

struct UserClient {
    plan: Arc<Plan>,
    request: usize,
    at: usize,
    /// What was drawn at the begin of the request.
    shared: Vec<Value>,
}

impl UserClient {
    fn draw_shared(&mut self, random: &mut Random) {
        let sources = &self.plan.requests[self.request].shared;
        self.shared.resize(sources.len(), Value::Null);
        for (slot, source) in self.shared.iter_mut().zip(sources) {
            self.plan.sources[*source].draw(random, slot);
        }
    }
}

impl Client for UserClient {
    fn begin(&mut self, random: &mut Random) -> usize {
        self.request = self.plan.choice.draw(random);
        self.at = 0;
        self.draw_shared(random);
        self.request
    }

    fn step(&mut self, _: Option<&Reply>, random: &mut Random, parameters: &mut Parameters) -> Option<usize> {
        let step = self.plan.requests[self.request].steps.get(self.at)?;
        self.at += 1;
        let mut fill = Fill::over(parameters);
        let rows = self.plan.rows.get(step.statement).filter(|rows| !rows.is_empty());
        let row = rows.map(|rows| &rows[random.uniform(0, rows.len() as u64 - 1) as usize]);
        for parameter in &step.parameters {
            match *parameter {
                Parameter::Own(source) => self.plan.sources[source].draw(random, fill.slot()),
                Parameter::Shared(place) => set_value(fill.slot(), &self.shared[place]),
                Parameter::Same(place) => fill.again(place),
                Parameter::Row(place) => {
                    let value = row.and_then(|row| row.get(place));
                    set_value(fill.slot(), value.unwrap_or(&Value::Null));
                }
            }
        }
        Some(step.statement)
    }

    fn pause(&self) -> Nanos {
        let asked = self.plan.requests[self.request].steps[..self.at].last();
        asked.map_or(Nanos::ZERO, |step| step.pause)
    }
}
