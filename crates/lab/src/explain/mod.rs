//! What the server means to do with the statements of a workload, and what they cost it.
//!
//! [`explain`] reads the plan of every statement, sorts it into a class (simple: indexes alone; complex: sorts,
//! builds a temporary table or reads a table from end to end, or an index for want of a better one; write), and
//! names the heavy hitters: each read is made a few times and its time and its rows read are set against how
//! often the workload asks it.

mod plan;
mod proposal;
mod report;
mod touched;
mod weights;

use crate::load::parameters;
use crate::workload::sql::{Act, Purpose, acts};
use crate::workload::{Class, Parameters, Statement, Workload, sql};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::{Control, Flavor, TargetError};
use evenkeel_wire::{EscapeMode, Template};
use plan::{classify, read_plan};
use report::Result;
pub use report::{Executor, ExplainError, Explained, Measured, PlanReport, PlanRow, Refused};
pub use touched::{IndexSize, touched};
pub use weights::Effort;

/// Parameters tried, one after the other, until some row of the plan says more than that nothing is there.
const SAMPLES: u32 = 5;

/// Explains every statement that has a plan (transaction control and calls have none), heaviest first: by
/// share of the reads' work, where measured, then by rows examined.
///
/// Reads are made for real, once and then as often as `effort` says, in transactions that cannot write and are rolled back, and for
/// [`EXECUTION_MAX_S`] each at most; those whose text says that they write, wait or lock are only explained. Writes are made only for a workload that does not know its weights, only in tables
/// that can roll back, and are rolled back. A statement that the server refuses does not keep it from the others. A stop
/// ends it early, with what is explained by then.
/// Errors: [`ExplainError`] for what is not about one statement, as a lost connection.
pub fn explain(
    control: &mut Control,
    workload: &dyn Workload,
    effort: &Effort,
    stop: &Stop,
) -> Result<Explained> {
    let mut random = Random::new(effort.seed.child("explain"));
    let executor = Executor::new(workload.statements());
    let mut explained = Explained::default();
    let weights = match workload.weights() {
        Some(weights) => weights,
        None => weights::count(control, &executor, workload, (effort, stop), &mut explained)?,
    };
    limit(control, Some(EXECUTION_MAX_S))?;
    for (index, (statement, &weight)) in workload.statements().iter().zip(&weights).enumerate() {
        if stop.is_set() {
            break;
        }
        let report = match explain_one(control, (workload, &executor), index, weight, &mut random) {
            Ok(Some(report)) => report,
            Ok(None) => continue,
            // Whoever stops it may have the statement ended that is under way.
            Err(_) if stop.is_set() => break,
            Err(error) => {
                explained.refuse(error.refused(&statement.sql)?);
                continue;
            }
        };
        let proposal = match proposal::propose(control, &report.sample, &report.rows) {
            Err(_) if stop.is_set() => break,
            proposal => proposal?,
        };
        // It lacks an index, however few rows EXPLAIN expects under a LIMIT.
        let class = match (report.class, &proposal) {
            (Class::Simple, Some(_)) => Class::Complex,
            (class, _) => class,
        };
        let report = PlanReport { proposal, class, ..report };
        let is_made = report.class != Class::Write && report.not_made.is_none() && effort.executions > 0;
        let mut sample = |parameters: &mut Parameters| workload.sample(index, &mut random, parameters);
        let make = |control: &mut Control| {
            measure(control, &executor, (index, effort.executions), stop, &mut sample)
        };
        let of = (statement.sql.as_str(), Purpose::Read);
        let measured = if is_made { rolled_back(control, of, make) } else { Ok(None) };
        let mut not_made = report.not_made.clone();
        let measured = measured.or_else(|error| {
            if stop.is_set() {
                return Ok(None);
            }
            not_made = why_ended(&error);
            if not_made.is_none() {
                explained.refuse(error.refused(&statement.sql)?);
            }
            Ok::<_, ExplainError>(None)
        })?;
        explained.plans.push(PlanReport { measured, not_made, ..report });
    }
    // A connection that is told to stop may be ended.
    limit(control, None).or_else(|error| if stop.is_set() { Ok(()) } else { Err(error) })?;
    report::rank(&mut explained.plans);
    Ok(explained)
}

/// The plan of one statement, not measured; `None` where it has none and the server takes it all the same.
fn explain_one(
    control: &mut Control,
    (workload, executor): (&dyn Workload, &Executor),
    index: usize,
    weight: f64,
    random: &mut Random,
) -> Result<Option<PlanReport>> {
    let statement = &workload.statements()[index];
    let purpose = sql::parse(&statement.sql).purpose();
    if purpose == Purpose::Other {
        return executor.prepare(control, index).map(|()| None);
    }
    let mut found = None;
    let mut values = Parameters::new();
    for _ in 0..SAMPLES {
        if !workload.sample(index, random, &mut values) {
            break;
        }
        let Some(text) = with_values(&statement.sql, &values) else { break };
        let of = (statement.sql.as_str(), purpose);
        let plan = rolled_back(control, of, |control| read_plan(control, statement, &text));
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                let why = why_ended(&error).filter(|_| purpose == Purpose::Read).ok_or(error)?;
                return Ok(Some(unexplained(
                    report_on(statement, purpose, text, plan::Plan::default(), weight),
                    why,
                )));
            }
        };
        let says_something = plan.says_something();
        found = Some((text, plan));
        if says_something {
            break;
        }
    }
    Ok(found.map(|(text, plan)| report_on(statement, purpose, text, plan, weight)))
}

/// The statement with these values written in; `None` where they do not fit its placeholders.
fn with_values(sql: &str, values: &Parameters) -> Option<String> {
    let mut text = Vec::new();
    Template::new(sql).write(&mut text, parameters(values), EscapeMode::Backslash).ok()?;
    String::from_utf8(text).ok()
}

/// A read that the server would have to make for its plan, and that it was not let make.
fn unexplained(report: PlanReport, why: String) -> PlanReport {
    PlanReport {
        class: Class::Complex,
        reasons: vec!["executed for its plan".to_owned()],
        not_made: Some(why),
        ..report
    }
}

fn report_on(
    statement: &Statement,
    purpose: Purpose,
    text: String,
    plan: plan::Plan,
    weight: f64,
) -> PlanReport {
    let (class, reasons) = classify(purpose, &plan);
    let act = acts(&statement.sql).0.filter(|_| purpose == Purpose::Read);
    PlanReport {
        statement: statement.name.clone(),
        sample: text,
        class,
        reasons,
        rows_examined: plan.rows_examined(),
        rows: plan.rows,
        json: plan.json,
        weight,
        measured: None,
        proposal: None,
        rows_share: 0.0,
        not_made: act.map(|act| format!("it has {act}")),
        share: None,
    }
}

// Reads are made so that they leave nothing behind and do not last: in a transaction that cannot write and is rolled back, and
// within a time.

/// Longest time of one execution of a read, and of what a plan executes, in seconds.
pub const EXECUTION_MAX_S: u32 = 10;

/// The server's error ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.
const READ_ONLY: u16 = 1792;
/// ER_STATEMENT_TIMEOUT of MariaDB, ER_QUERY_TIMEOUT of MySQL.
const TIMED_OUT: [u16; 2] = [1969, 3024];

/// Has the server end what takes longer than so many seconds, or than its default.
fn limit(control: &mut Control, seconds: Option<u32>) -> Result<(), TargetError> {
    let (name, unit) = match control.version().flavor {
        Flavor::MariaDb => ("max_statement_time", 1),
        Flavor::MySql => ("max_execution_time", 1_000),
    };
    let value = seconds.map_or("DEFAULT".to_owned(), |seconds| (unit * seconds).to_string());
    control.exec(&format!("SET SESSION {name} = {value}")).map(drop)
}

/// Does something about a statement in a transaction of its own that is rolled back, and that cannot write where it is about a
/// read: a server executes derived tables for a plan alone, and functions in them may write.
///
/// What locks rows is explained where it may write, since no read-only transaction takes it; so is what writes by its own text
/// where no second SELECT can be executed for its plan.
fn rolled_back<T>(
    control: &mut Control,
    (sql, purpose): (&str, Purpose),
    what: impl FnOnce(&mut Control) -> Result<T>,
) -> Result<T> {
    let may_write = match (purpose, acts(sql)) {
        (Purpose::Read, (Some(Act::Locks(_)), _) | (Some(_), 1)) => true,
        (purpose, _) => purpose != Purpose::Read,
    };
    control.exec(if may_write { "START TRANSACTION" } else { "START TRANSACTION READ ONLY" })?;
    let found = what(control);
    let rolled_back = control.exec("ROLLBACK");
    let found = found?;
    rolled_back?;
    Ok(found)
}

/// Why the bounds ended a statement; `None` where something else did.
fn why_ended(error: &ExplainError) -> Option<String> {
    let (ExplainError::Plan { source, .. } | ExplainError::Execute { source, .. }) = error else {
        return None;
    };
    match source.code()? {
        READ_ONLY => Some(
            "it writes, or calls something that writes, which a read-only transaction does not allow"
                .to_owned(),
        ),
        code if TIMED_OUT.contains(&code) => Some(format!("it takes longer than {EXECUTION_MAX_S} s")),
        _ => None,
    }
}

/// Makes a read some times, each with parameters of its own, after one that is not counted; `None` where
/// there are no parameters to be had, or somebody asked to stop.
///
/// Looking at the counters moves them too, so they are looked at twice before: what the second look adds to
/// the first is taken off.
fn measure(
    control: &mut Control,
    executor: &Executor,
    (index, executions): (usize, u32),
    stop: &Stop,
    sample: &mut dyn FnMut(&mut Parameters) -> bool,
) -> Result<Option<Measured>> {
    let mut parameters = Parameters::new();
    if !sample(&mut parameters) {
        return Ok(None);
    }
    executor.execute(control, index, &parameters)?;
    let (first, before) = (handler_reads(control)?, handler_reads(control)?);
    let clock = Clock::start();
    let mut time = Nanos::ZERO;
    for _ in 0..executions {
        if stop.is_set() {
            return Ok(None);
        }
        sample(&mut parameters);
        let start = clock.now();
        executor.execute(control, index, &parameters)?;
        time += clock.now() - start;
    }
    let looking = before - first;
    let rows_read = (handler_reads(control)? - before - looking).max(0.0) / f64::from(executions);
    Ok(Some(Measured { time: Nanos(time.0 / u64::from(executions)), rows_read }))
}

fn handler_reads(control: &mut Control) -> Result<f64> {
    let rows = control.query("SHOW SESSION STATUS LIKE 'Handler\\_read%'")?;
    Ok(rows.rows.iter().filter_map(|row| row.get(1)?.as_ref()?.parse::<f64>().ok()).sum())
}
