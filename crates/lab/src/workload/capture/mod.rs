//! A user's workload, made of what a server was asked: its slow log, or the digests of its performance schema.

mod digests;
mod slow_log;

pub use digests::read_digests;
pub use slow_log::read_slow_log;

use super::sql::{Act, Purpose, acts, needed, parse, shape};
use super::user::{Definition, ParameterDefinitions, StatementDefinition};
use std::collections::BTreeMap;

/// Executions of statements that differ only in their literals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub sql: String,
    pub executions: u64,
    /// Those of them that differ in more than parameters, such as the length of a list.
    pub differing: u64,
    pub time_s: f64,
    /// Where its parameters come from.
    pub parameters: ParameterDefinitions,
    /// Why it cannot be part of a workload.
    pub problem: Option<String>,
}

/// Share of the whole load, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    pub executions: f64,
    pub time: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    pub sql: String,
    pub why: String,
    pub share: Share,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    pub definition: Definition,
    /// The share of each statement, in their order, its mean time, seconds, and the percent of its executions that differ in more.
    pub shares: Vec<(Share, f64, f64)>,
    /// What cannot be part of it, by time.
    pub left_out: Vec<LeftOut>,
    /// Further statements that could be, and their share.
    pub others: (usize, Share),
}

/// The `top` groups that took the most time as a workload, with their executions as weights.
pub fn captured(name: &str, mut groups: Vec<Group>, top: usize) -> Captured {
    let all =
        (groups.iter().map(|group| group.executions).sum(), groups.iter().map(|group| group.time_s).sum());
    let share = |group: &Group| share(group, all);
    groups.sort_by(|one, other| other.time_s.total_cmp(&one.time_s).then_with(|| one.sql.cmp(&other.sql)));
    let (mut statements, mut shares, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let (mut others, mut names) = ((0, Share::default()), BTreeMap::new());
    for group in groups {
        let own = share(&group);
        if let Some(why) = group.problem.or_else(|| problem(&group.sql)) {
            left_out.push(LeftOut { sql: group.sql, why, share: own });
        } else if statements.len() == top {
            others.0 += 1;
            others.1.executions += own.executions;
            others.1.time += own.time;
        } else {
            let executions = group.executions.max(1) as f64;
            shares.push((own, group.time_s / executions, 100.0 * group.differing as f64 / executions));
            statements.push(StatementDefinition {
                name: statement_name(&group.sql, &mut names),
                weight: Some(group.executions as f64),
                parameters: group.parameters,
                sql: group.sql,
                ..StatementDefinition::default()
            });
        }
    }
    let definition = Definition { name: name.to_owned(), statements, transactions: Vec::new() };
    Captured { definition, shares, left_out, others }
}

fn share(group: &Group, (executions, time_s): (u64, f64)) -> Share {
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    Share {
        executions: percent(group.executions as f64, executions as f64),
        time: percent(group.time_s, time_s),
    }
}

/// Why a statement cannot be part of a workload, by its text alone.
fn problem(sql: &str) -> Option<String> {
    let parsed = parse(sql);
    if parsed.purpose() == Purpose::Other && parsed.verb != "CALL" {
        return Some(format!("{} is not a query", parsed.verb));
    }
    if let Some(act @ (Act::Writes(_) | Act::Waits(_))) = acts(sql).0 {
        return Some(format!("it has {act}"));
    }
    if parsed.purpose() == Purpose::Read && parsed.tables.is_empty() {
        return Some("it uses no table".to_owned());
    }
    if let Some(needed) = needed(sql) {
        return Some(format!("it uses {needed} in a [[transaction]]"));
    }
    let own = ["mysql.", "information_schema.", "performance_schema.", "sys."];
    let is_own = |table: &String| own.iter().any(|schema| table.to_ascii_lowercase().starts_with(schema));
    parsed.tables.iter().any(is_own).then(|| "it uses the server's own tables".to_owned())
}

/// `select_orders`, or `select_orders_2` where there is one already.
pub fn statement_name(sql: &str, names: &mut BTreeMap<String, u32>) -> String {
    let table = shape(sql)
        .sources
        .into_iter()
        .next()
        .map(|source| format!("_{}", super::sql::last_part(&source.table)));
    let name = format!("{}{}", parse(sql).verb, table.unwrap_or_default()).to_lowercase();
    let number = names.entry(name.clone()).and_modify(|number| *number += 1).or_insert(1);
    if *number == 1 { name } else { format!("{name}_{number}") }
}
