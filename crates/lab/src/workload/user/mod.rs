//! The user's own workloads: statements with weights and generators of parameters, and transactions of them.
//!
//! Plain types, filled in by whoever reads a file; [`UserWorkload::new`] checks them.

mod columns;
mod compile;
mod generator;

use super::set_value;
use super::{Client, Fill, Parameters, Reply, Statement, Value, Workload, WorkloadError};
pub use columns::{ColumnReader, NoColumns};
pub use compile::COLUMN_LIMIT;
use compile::{Compiler, Parameter, Plan};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
pub use generator::{
    Definition, Generator, ParameterDefinitions, StatementDefinition, TransactionDefinition,
};
use std::sync::Arc;

#[derive(Debug)]
pub struct UserWorkload {
    name: String,
    kinds: Vec<String>,
    plan: Arc<Plan>,
}

impl UserWorkload {
    /// Checks a definition, and reads the values of its `column` generators once.
    /// Errors: the entry and what to do about it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;
    use std::collections::BTreeMap;

    fn statement(name: &str, sql: &str, parameters: ParameterDefinitions) -> StatementDefinition {
        StatementDefinition {
            name: name.into(),
            sql: sql.into(),
            parameters,
            ..StatementDefinition::default()
        }
    }

    fn named(parameters: &[(&str, Generator)]) -> BTreeMap<String, Generator> {
        parameters.iter().map(|(name, generator)| ((*name).to_owned(), generator.clone())).collect()
    }

    fn list(generators: &[Generator]) -> ParameterDefinitions {
        ParameterDefinitions::Positional(generators.to_vec())
    }

    const DIGIT: Generator = Generator::Uniform { min: 0, max: 9 };
    const COUNT: Generator = Generator::Sequence { start: 1, step: 1 };

    /// A read with weight 3, and a transaction of two inserts that share an id with weight 1.
    fn shop() -> Definition {
        let read = statement("read", "SELECT * FROM a WHERE b = ?", list(&[DIGIT]));
        let first = statement("first", "INSERT INTO a VALUES (:id, :x)", {
            ParameterDefinitions::Named(named(&[("x", DIGIT)]))
        });
        let second = statement("second", "INSERT INTO c VALUES (:id)", ParameterDefinitions::default());
        Definition {
            name: "shop".into(),
            statements: vec![StatementDefinition { weight: Some(3.0), ..read }, first, second],
            transactions: vec![TransactionDefinition {
                name: "buy".into(),
                weight: 1.0,
                statements: vec!["first".into(), "second".into()],
                parameters: named(&[("id", COUNT)]),
            }],
        }
    }

    fn error(definition: &Definition) -> String {
        UserWorkload::new(definition, &mut NoColumns).unwrap_err().to_string()
    }

    #[test]
    fn requests_come_by_weight_and_a_transaction_shares_what_it_draws_and_waits_where_a_statement_says_so() {
        let mut definition = shop();
        definition.statements[2].pause = Nanos::from_millis(5);
        let workload = UserWorkload::new(&definition, &mut NoColumns).unwrap();
        assert_eq!(workload.kinds(), ["read", "buy"]);
        let names: Vec<&str> =
            workload.statements().iter().map(|statement| statement.name.as_str()).collect();
        assert_eq!(names, ["read", "first", "second", "begin", "commit"]);
        let (mut client, mut random) = (workload.client(0), Random::new(Seed(3)));
        let mut parameters = Parameters::new();
        let (mut reads, mut id) = (0, 0);
        for _ in 0..4_000 {
            let kind = client.begin(&mut random);
            let (mut asked, mut pauses) = (Vec::new(), Vec::new());
            while let Some(index) = client.step(None, &mut random, &mut parameters) {
                asked.push((index, parameters.clone()));
                pauses.push(client.pause().as_millis_f64());
            }
            if kind == 0 {
                reads += 1;
                assert!(asked.len() == 1 && asked[0].1.len() == 1, "{asked:?}");
            } else {
                id += 1;
                assert_eq!(asked.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [3, 1, 2, 4]);
                assert_eq!((&asked[1].1[0], &asked[2].1[..]), (&Value::Int(id), &[Value::Int(id)][..]));
                assert_eq!(pauses, [0.0, 0.0, 5.0, 0.0]);
            }
        }
        assert!((2_900..3_100).contains(&reads), "{reads}");
        assert_eq!(workload.weights(), Some(vec![0.75, 0.25, 0.25, 0.25, 0.25]));
    }

    #[test]
    fn a_name_that_stands_twice_in_a_statement_has_one_value() {
        let range = "SELECT * FROM a WHERE b BETWEEN :from AND :from + 9 AND c = :c";
        let generators = [("from", Generator::Uniform { min: 1, max: 1 << 40 }), ("c", DIGIT)];
        let range = statement("range", range, ParameterDefinitions::Named(named(&generators)));
        let definition = Definition { name: "w".into(), statements: vec![range], transactions: Vec::new() };
        let workload = UserWorkload::new(&definition, &mut NoColumns).unwrap();
        let (mut client, mut random) = (workload.client(0), Random::new(Seed(5)));
        let mut parameters = Parameters::new();
        client.begin(&mut random);
        client.step(None, &mut random, &mut parameters);
        assert_eq!((parameters.len(), &parameters[0]), (3, &parameters[1]));
        assert_ne!(parameters[1], parameters[2]);
    }

    #[test]
    fn contradictions_are_refused_with_the_entry_and_what_to_do() {
        let with = |change: fn(&mut Definition)| {
            let mut definition = shop();
            change(&mut definition);
            error(&definition)
        };
        for (change, words) in [
            ((|d| d.statements.clear()) as fn(&mut Definition), "workload: has no statement"),
            (|d| d.statements[0].sql.clear(), "statement `read`: `sql` is empty"),
            (
                |d| d.statements[0].parameters = list(&[]),
                "statement `read`: `sql` has 1 `?` but `parameters` has 0",
            ),
            (|d| d.statements[0].sql = "SELECT ?, :x".into(), "both `?` and `:name`"),
            (|d| d.statements[0].weight = Some(-1.0), "statement `read`: `weight` is -1"),
            (|d| d.statements[1].name = "read".into(), "statement `read`: has a name that is taken"),
            (|d| d.transactions[0].name = "read".into(), "transaction `read`: has a name that is taken"),
            (|d| d.transactions[0].statements.clear(), "transaction `buy`: has no statements"),
            (|d| d.transactions[0].statements[0] = "frist".into(), "did you mean `first`?"),
            (|d| d.transactions[0].parameters.clear(), "`:id` of statement `first` has no source of values"),
            (
                |d| d.statements[1].weight = Some(1.0),
                "statement `first`: `:id` of statement `first` has no source",
            ),
            (
                |d| d.statements[1].parameters = ParameterDefinitions::Named(named(&[("xx", DIGIT)])),
                "parameter `xx` is not used: no `:xx` in `sql`, did you mean `x`?",
            ),
            (
                |d| d.statements[0].parameters = list(&[Generator::Sequence { start: 0, step: 0 }]),
                "statement `read`, parameter `1`: `step` is 0",
            ),
            (
                |d| {
                    d.statements[0].weight = Some(0.0);
                    d.transactions[0].weight = 0.0;
                },
                "no weight is above 0",
            ),
        ] {
            let text = with(change);
            assert!(text.contains(words), "{text:?} does not say {words:?}");
        }
    }

    #[test]
    fn a_column_without_rows_is_refused() {
        struct Empty;
        impl ColumnReader for Empty {
            fn read_column(&mut self, _: &str, _: &str, _: Option<u64>) -> Result<Vec<Value>, String> {
                Ok(Vec::new())
            }
        }
        let column = Generator::Column { table: "a".into(), column: "b".into(), limit: 10 };
        let mut definition = shop();
        definition.statements[0].parameters = list(&[column]);
        let error = UserWorkload::new(&definition, &mut Empty).unwrap_err().to_string();
        assert!(error.ends_with(" values of a.b: no row, so there is nothing to draw from"), "{error}");
    }

    #[test]
    fn rows_keep_their_values_together_and_a_name_without_a_generator_has_those_of_its_column() {
        let pairs = (0..20).map(|number| vec![Value::Int(number), Value::Int(-number)]).collect();
        let both =
            statement("both", "SELECT * FROM a WHERE b > ? AND c < ?", ParameterDefinitions::Rows(pairs));
        let drawn = "SELECT * FROM a JOIN d ON a.x = d.y WHERE d.z = :z";
        let drawn = statement("drawn", drawn, ParameterDefinitions::default());
        let definition =
            Definition { name: "w".into(), statements: vec![both, drawn], transactions: Vec::new() };
        struct OnlyZ;
        impl ColumnReader for OnlyZ {
            fn read_column(
                &mut self,
                table: &str,
                name: &str,
                limit: Option<u64>,
            ) -> Result<Vec<Value>, String> {
                match (table, name, limit) {
                    (.., None) => Ok(vec![Value::Int(41)]),
                    ("d", "z", _) => Ok(vec![Value::Int(7)]),
                    _ => Err("no such column".into()),
                }
            }
        }
        let workload = UserWorkload::new(&definition, &mut OnlyZ).unwrap();
        let (mut random, mut parameters, mut seen) = (Random::new(Seed(2)), Parameters::new(), Vec::new());
        for _ in 0..100 {
            assert!(workload.sample(0, &mut random, &mut parameters));
            let [Value::Int(b), Value::Int(c)] = parameters[..] else { panic!("{parameters:?}") };
            assert_eq!(b, -c);
            seen.push(b);
        }
        assert!(seen.iter().any(|number| *number != seen[0]));
        assert!(workload.sample(1, &mut random, &mut parameters));
        assert_eq!(parameters, [Value::Int(7)]);

        let next = list(&[Generator::Next { table: "a".into(), column: "b".into() }]);
        let next = statement("next", "INSERT INTO a VALUES (?)", next);
        let definition = Definition { name: "w".into(), statements: vec![next], transactions: Vec::new() };
        let workload = UserWorkload::new(&definition, &mut OnlyZ).unwrap();
        for number in [42, 43] {
            assert!(workload.sample(0, &mut random, &mut parameters));
            assert_eq!(parameters, [Value::Int(number)]);
        }
    }
}
