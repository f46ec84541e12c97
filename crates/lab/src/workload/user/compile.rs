//! From what was written to what can be asked.

use super::generator::Source;
use super::{
    ColumnReader, Definition, Generator, ParameterDefinitions, StatementDefinition, TransactionDefinition,
};
use crate::workload::catalog::Result;
use crate::workload::sql::{Parsed, Role};
use crate::workload::{Statement, Value, WorkloadError, similar, sql};
use evenkeel_core::Nanos;
use evenkeel_core::distribution::WeightedChoice;
use std::collections::{BTreeMap, BTreeSet};

/// Most values of a column that are read where nobody says how many.
pub const COLUMN_LIMIT: u64 = 10_000;

#[derive(Debug)]
pub struct Plan {
    pub statements: Vec<Statement>,
    pub sources: Vec<Source>,
    /// Rows of values by statement; empty for one whose parameters are drawn each for itself.
    pub rows: Vec<Vec<Vec<Value>>>,
    pub requests: Vec<Request>,
    pub weights: Vec<f64>,
    pub choice: WeightedChoice,
}

#[derive(Debug)]
pub struct Request {
    pub name: String,
    /// Sources drawn once at its begin.
    pub shared: Vec<usize>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default)]
pub struct Step {
    pub statement: usize,
    /// How long the client waits before it, where it is not the first of its request.
    pub pause: Nanos,
    pub parameters: Vec<Parameter>,
}

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A source, drawn each time.
    Own(usize),
    /// A place in what was drawn at the begin of the request.
    Shared(usize),
    /// The value of an earlier place in the same statement, which has the same name.
    Same(usize),
    /// The value at this place of the row that is drawn for the statement.
    Row(usize),
}

pub struct Compiler<'a> {
    definition: &'a Definition,
    reader: &'a mut dyn ColumnReader,
    parsed: Vec<Parsed>,
    /// Source of each own generator of a statement, by name, or by number for a bare `?`.
    own: Vec<BTreeMap<String, usize>>,
    sources: Vec<Source>,
}

impl<'a> Compiler<'a> {
    pub fn new(definition: &'a Definition, reader: &'a mut dyn ColumnReader) -> Self {
        let parsed = definition.statements.iter().map(|statement| sql::parse(&statement.sql)).collect();
        Self { definition, reader, parsed, own: Vec::new(), sources: Vec::new() }
    }

    pub fn compile(mut self) -> Result<Plan> {
        self.check_names()?;
        for index in 0..self.definition.statements.len() {
            let own = self.statement_sources(index)?;
            self.own.push(own);
        }
        let mut transactions = Vec::new();
        for transaction in &self.definition.transactions {
            check_weight(&transaction_entry(transaction), transaction.weight)?;
            transactions.push((transaction.weight, self.transaction(transaction)?));
        }
        let weighted = self.lone_requests()?.into_iter().chain(transactions);
        let (weights, requests): (Vec<f64>, Vec<Request>) =
            weighted.filter(|(weight, _)| *weight > 0.0).unzip();
        let choice = WeightedChoice::new(&weights)
            .map_err(|_| invalid("workload", "no weight is above 0, so no statement would run"))?;
        let rows = self.definition.statements.iter().map(|statement| match &statement.parameters {
            ParameterDefinitions::Rows(rows) => rows.clone(),
            _ => Vec::new(),
        });
        let stored = self.reader.stored_functions().map_err(|problem| {
            invalid("workload", &format!("the server does not name its stored functions: {problem}"))
        })?;
        let (rows, statements) = (rows.collect(), self.statements(&stored));
        Ok(Plan { statements, sources: self.sources, rows, requests, weights, choice })
    }

    fn check_names(&self) -> Result<()> {
        let Definition { name, statements, transactions } = self.definition;
        if statements.is_empty() {
            return Err(invalid("workload", "has no statement; add a [[statement]]"));
        }
        let statements = statements.iter().map(|statement| (statement_entry(statement), &statement.name));
        let transactions = transactions.iter().map(|one| (transaction_entry(one), &one.name));
        let mut names = BTreeSet::new();
        for (entry, own) in statements.chain(transactions) {
            if own.trim().is_empty() || name.trim().is_empty() {
                return Err(invalid("workload", "a name is empty; give everything a name"));
            }
            if !names.insert(own) {
                return Err(invalid(&entry, "has a name that is taken already; give it another one"));
            }
        }
        Ok(())
    }

    /// Makes the generators of a statement ready, and checks that they fit its placeholders.
    fn statement_sources(&mut self, index: usize) -> Result<BTreeMap<String, usize>> {
        let definition = self.definition;
        let statement = &definition.statements[index];
        let entry = statement_entry(statement);
        let refuse = |problem: &str| Err(invalid(&entry, problem));
        let Parsed { placeholders, verb, .. } = self.parsed[index].clone();
        let count = placeholders.len();
        let named: BTreeSet<String> = placeholders.iter().flatten().cloned().collect();
        if verb.is_empty() {
            return refuse("`sql` is empty");
        }
        if !named.is_empty() && placeholders.contains(&None) {
            return refuse("`sql` has both `?` and `:name`; use one of them throughout");
        }
        let generators: Vec<(String, &Generator)> = match &statement.parameters {
            ParameterDefinitions::Positional(list) if named.is_empty() && list.len() != count => {
                let given = list.len();
                return refuse(&format!(
                    "`sql` has {count} `?` but `parameters` has {given}; give one for each"
                ));
            }
            ParameterDefinitions::Positional(list) if !named.is_empty() && !list.is_empty() => {
                return refuse("`sql` names its parameters; name them under `parameters` too");
            }
            ParameterDefinitions::Positional(list) => {
                list.iter().enumerate().map(|(place, generator)| (place_name(place), generator)).collect()
            }
            ParameterDefinitions::Named(map) => {
                check_used(&entry, map.keys(), &named)?;
                map.iter().map(|(name, generator)| (name.clone(), generator)).collect()
            }
            ParameterDefinitions::Rows(rows) => {
                if let Some(row) = rows.iter().find(|row| row.len() != count || !named.is_empty()) {
                    return refuse(&format!("a row has {} values, but `sql` has {count} `?`", row.len()));
                }
                if rows.is_empty() {
                    return refuse("`rows` is empty; give at least one row");
                }
                Vec::new()
            }
        };
        let mut sources = BTreeMap::new();
        for (name, generator) in generators {
            let source = self.source(&entry, &name, generator)?;
            sources.insert(name, source);
        }
        for (name, role) in placeholders.iter().zip(sql::shape(&statement.sql).roles) {
            let Some(name) = name.as_ref().filter(|name| !sources.contains_key(*name)) else { continue };
            if let Some(source) = self.compared(&statement.sql, &role) {
                self.sources.push(source);
                sources.insert(name.clone(), self.sources.len() - 1);
            }
        }
        Ok(sources)
    }

    /// The values of the column that a placeholder without a generator is compared with.
    fn compared(&mut self, sql: &str, role: &Role) -> Option<Source> {
        let Role::Compared(column) = role else { return None };
        sql::shape(sql).tables_of(column).into_iter().find_map(|table| {
            let (table, column) = (table.to_owned(), column.name.clone());
            let generator = Generator::Column { table, column, limit: COLUMN_LIMIT };
            Source::new(&generator, &mut *self.reader).ok()
        })
    }

    fn source(&mut self, entry: &str, name: &str, generator: &Generator) -> Result<usize> {
        let source = Source::new(generator, &mut *self.reader);
        self.sources
            .push(source.map_err(|problem| invalid(&format!("{entry}, parameter `{name}`"), &problem))?);
        Ok(self.sources.len() - 1)
    }

    /// A request for each statement, with its weight by itself.
    fn lone_requests(&self) -> Result<Vec<(f64, Request)>> {
        let definition = self.definition;
        let inside = |name: &String| {
            definition.transactions.iter().any(|transaction| transaction.statements.contains(name))
        };
        let mut requests = Vec::new();
        for (index, statement) in definition.statements.iter().enumerate() {
            let weight = statement.weight.unwrap_or(if inside(&statement.name) { 0.0 } else { 1.0 });
            check_weight(&statement_entry(statement), weight)?;
            if weight > 0.0 {
                let step = self.step(index, &[], &statement_entry(statement))?;
                let request = Request { name: statement.name.clone(), shared: Vec::new(), steps: vec![step] };
                requests.push((weight, request));
            }
        }
        Ok(requests)
    }

    fn transaction(&mut self, transaction: &TransactionDefinition) -> Result<Request> {
        let entry = transaction_entry(transaction);
        if transaction.statements.is_empty() {
            return Err(invalid(&entry, "has no statements; list at least one by name"));
        }
        let indices = transaction.statements.iter().map(|name| self.index_of(&entry, name));
        let indices: Vec<usize> = indices.collect::<Result<_, _>>()?;
        let placeholders = indices.iter().flat_map(|&index| &self.parsed[index].placeholders);
        let used: BTreeSet<String> = placeholders.flatten().cloned().collect();
        check_used(&entry, transaction.parameters.keys(), &used)?;
        let mut names: Vec<String> = transaction.parameters.keys().cloned().collect();
        let mut shared = Vec::new();
        for (name, generator) in &transaction.parameters {
            shared.push(self.source(&entry, name, generator)?);
        }
        for name in used.iter().filter(|name| !transaction.parameters.contains_key(*name)) {
            let source = self.common(name, &indices);
            names.extend(source.map(|_| name.clone()));
            shared.extend(source);
        }
        let begin = self.definition.statements.len();
        let control = |statement| Step { statement, ..Step::default() };
        let mut steps = vec![control(begin)];
        for index in indices {
            steps.push(self.step(index, &names, &entry)?);
        }
        steps.push(control(begin + 1));
        Ok(Request { name: transaction.name.clone(), shared, steps })
    }

    /// The source of a name that several statements have and none declares: the row that one locks is the row that the next writes.
    fn common(&self, name: &String, indices: &[usize]) -> Option<usize> {
        let has = |index: &&usize| self.parsed[**index].placeholders.iter().flatten().any(|own| own == name);
        let declares = |index: &usize| match &self.definition.statements[*index].parameters {
            ParameterDefinitions::Named(own) => own.contains_key(name),
            ParameterDefinitions::Positional(_) => false,
            ParameterDefinitions::Rows(_) => true,
        };
        let with: Vec<usize> = indices.iter().filter(has).copied().collect();
        let source = self.own[*with.first()?].get(name).copied();
        source.filter(|_| with.len() > 1 && !with.iter().any(declares))
    }

    fn index_of(&self, entry: &str, name: &str) -> Result<usize> {
        let statements = &self.definition.statements;
        statements.iter().position(|statement| statement.name == *name).ok_or_else(|| {
            let names = statements.iter().map(|statement| statement.name.as_str());
            invalid(entry, &format!("no statement is named `{name}`{}", meant(name, names)))
        })
    }

    /// A statement within a request that draws `shared` at its begin; those come before the statement's own.
    fn step(&self, index: usize, shared: &[String], entry: &str) -> Result<Step> {
        let names = &self.parsed[index].placeholders;
        let has_rows = matches!(self.definition.statements[index].parameters, ParameterDefinitions::Rows(_));
        let find = |(place, name): (usize, &Option<String>)| {
            if has_rows {
                return Ok(Parameter::Row(place));
            }
            let first = names.iter().position(|other| other.is_some() && other == name);
            if let Some(first) = first.filter(|first| *first < place) {
                return Ok(Parameter::Same(first));
            }
            let key = name.clone().unwrap_or_else(|| place_name(place));
            let own = || self.own[index].get(&key).copied().map(Parameter::Own);
            let drawn = shared.iter().position(|shared| *shared == key).filter(|_| name.is_some());
            drawn.map(Parameter::Shared).or_else(own).ok_or_else(|| {
                let statement = &self.definition.statements[index].name;
                let problem = format!(
                    "`:{key}` of statement `{statement}` has no source of values: no column that it is \
                     compared with exists and has values; correct the column, give it a generator under `parameters`, or in a .sql file a \
                     line `-- :{key} = 1..1000`"
                );
                invalid(entry, &problem)
            })
        };
        let parameters = names.iter().enumerate().map(find).collect::<Result<_, _>>()?;
        Ok(Step { statement: index, pause: self.definition.statements[index].pause, parameters })
    }

    /// The statements of the file, then BEGIN and COMMIT where a transaction needs them. `stored` are the server's stored functions.
    fn statements(&self, stored: &BTreeSet<String>) -> Vec<Statement> {
        let written = self.definition.statements.iter().zip(&self.parsed).map(|(definition, parsed)| {
            let tables = definition.tables.clone().unwrap_or_else(|| parsed.tables.clone());
            let (name, sql) = (definition.name.clone(), parsed.sql.clone());
            let calls_stored = sql::stored_function(&sql, stored).is_some();
            Statement { name, sql, captures: false, prepared: parsed.is_prepared(), tables, calls_stored }
        });
        let control = ["begin", "commit"].map(|name| Statement {
            name: name.to_owned(),
            sql: name.to_uppercase(),
            ..Statement::default()
        });
        let used = if self.definition.transactions.is_empty() { 0 } else { 2 };
        written.chain(control.into_iter().take(used)).collect()
    }
}

fn invalid(entry: &str, problem: &str) -> WorkloadError {
    WorkloadError(format!("{entry}: {problem}"))
}

/// A bare `?` is called by its number, from 1.
fn place_name(place: usize) -> String {
    (place + 1).to_string()
}

fn statement_entry(statement: &StatementDefinition) -> String {
    format!("statement `{}`", statement.name)
}

fn transaction_entry(transaction: &TransactionDefinition) -> String {
    format!("transaction `{}`", transaction.name)
}

fn check_weight(entry: &str, weight: f64) -> Result<()> {
    // The sum of all weights is a number too.
    if (0.0..=1e18).contains(&weight) {
        return Ok(());
    }
    Err(invalid(entry, &format!("`weight` is {weight}; it must be from 0 to 1e18")))
}

/// Every generator must be for a placeholder.
fn check_used<'a>(
    entry: &str,
    mut names: impl Iterator<Item = &'a String>,
    placeholders: &BTreeSet<String>,
) -> Result<()> {
    let Some(name) = names.find(|name| !placeholders.contains(*name)) else { return Ok(()) };
    let near = meant(name, placeholders.iter().map(String::as_str));
    Err(invalid(entry, &format!("parameter `{name}` is not used: no `:{name}` in `sql`{near}")))
}

/// `, did you mean ...?`, or nothing.
fn meant<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    similar(name, candidates).first().map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
}
