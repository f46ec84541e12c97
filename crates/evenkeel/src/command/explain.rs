//! `evenkeel explain`: plans, classes and heavy hitters of a workload.

use super::Session;
use crate::failure::{FINDING, Stopped};
use crate::out;
use crate::server::place;
use crate::table;
use anyhow::Result;
use evenkeel_lab::explain::{Effort, Refused, explain};
use evenkeel_lab::workload::catalog;
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use evenkeel_study::profile::{StudyError, plan_record};
use evenkeel_study::store::format::StatementPlanRecord;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// From one look at signals to the next.
const NAP: Duration = Duration::from_millis(50);

/// Flags of `evenkeel explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each SELECT is executed six times with different parameters, for at most 10 s each, in a read-only transaction that is rolled \
back. The first time does not count. A statement that writes, waits or locks is explained and not executed, and its \
entry says so: INTO OUTFILE or DUMPFILE, NEXTVAL, NEXT VALUE FOR, SETVAL, GET_LOCK, SLEEP, BENCHMARK, FOR UPDATE, LOCK IN SHARE \
MODE and the like. Of a built-in mix up to 1,000 requests are executed first and rolled back, to count how often each statement \
occurs; all its tables must be able to roll back. A profile explains its workload in the same way before it measures.

For a full scan of a table or an index with a condition that has no index, explain proposes a CREATE INDEX. Nothing is \
created or tried.

A workload of your own is a TOML file, as `evenkeel workload from` writes it, or SQL, for example shop.sql:

  -- weight: 3
  SELECT id, total FROM orders WHERE customer = :customer LIMIT 10;
  -- :id = next orders.id
  -- :customer = column customer.id
  -- :total = 1..500
  INSERT INTO orders (id, customer, total) VALUES (:id, :customer, :total);

A :name that is not declared takes values of the column that it is compared with. BEGIN to COMMIT is one transaction.

Examples:
  evenkeel explain --list
  evenkeel explain sandbox:demo --workload tpcw.shopping
  evenkeel explain mysql://app@db1/shop --workload orders.toml --json
  evenkeel explain mysql://app@db1/shop -w shop.sql

Exit codes: 0 done; 1 the server refuses a statement, and its error is shown below the others; 2 \
wrong use, or no server; 130, 143 stopped by Ctrl-C, SIGTERM: statements explained so far are shown.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME
    #[arg(value_name = "URL", required_unless_present = "list")]
    pub target: Option<String>,
    /// Workload by name, or a file of your own (.toml, .sql)
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.shopping")]
    pub workload: String,
    /// List the built-in workloads
    #[arg(long)]
    pub list: bool,
    /// As JSON, with the whole plans
    #[arg(long)]
    pub json: bool,
}

/// Explains a workload on a server, or names the workloads.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(text) = args.target.as_ref().filter(|_| !args.list) else {
        for entry in catalog() {
            out::line(format!("{:<28} {}", entry.name, entry.help))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let target = place::target(session, text, &args.workload)?;
    let workload = place::remote_workload(session, &args.workload, &target)?;
    let mut control = Control::connect_until(&target, &session.stop)?;
    let (id, over) = (control.id(), AtomicBool::new(false));
    let found = std::thread::scope(|scope| {
        scope.spawn(|| end_statements(&target, id, &session.stop, &over));
        let found = explain(&mut control, workload.as_ref(), &Effort::default(), &session.stop);
        over.store(true, Ordering::Relaxed);
        found
    });
    let found = found.map_err(StudyError::from)?;
    let (plans, refused) = (found.plans.iter().map(plan_record).collect::<Vec<_>>(), &found.refused);
    if args.json {
        out::line(serde_json::to_string_pretty(&json(&plans, refused)?)?)?;
    } else {
        if !plans.is_empty() || refused.is_empty() && !session.stop.is_set() {
            out::painted(&table::plans(&plans, super::look()))?;
        }
        out::painted(&table::refused(refused, super::look()))?;
    }
    if session.stop.is_set() {
        return Err(Stopped("before all statements were explained".to_owned()).into());
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

/// Once somebody asks to stop, ends the statement that connection `id` waits for, until it is `over`: a statement may take an
/// hour, and nobody is to wait that long.
fn end_statements(target: &Target, id: u32, stop: &Stop, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        if stop.is_set() {
            // Where this fails the statement is waited for; a second signal does not.
            let _ = Control::connect(target).and_then(|mut other| other.kill_query(id));
        }
        std::thread::sleep(NAP);
    }
}

/// One list of all statements; those that the server refuses have an `error`, and nothing that follows from a plan.
fn json(plans: &[StatementPlanRecord], refused: &[Refused]) -> serde_json::Result<Vec<serde_json::Value>> {
    let mut all = plans.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    for Refused { statement, sql, code, message } in refused {
        let error = serde_json::json!({ "code": code, "text": message });
        match all.iter_mut().find(|plan| plan["statement"] == statement.as_str()) {
            Some(plan) => plan["error"] = error,
            None => all.push(serde_json::json!({ "statement": statement, "sql": sql, "error": error })),
        }
    }
    Ok(all)
}
