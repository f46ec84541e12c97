//! Whether a server tells how long a statement took it, tried before the first run.

use super::StudyError;
use evenkeel_lab::load::ToldBy;
use evenkeel_site::server::{Control, Problem, TargetError};

/// ER_TABLEACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR: the account lacks a right.
const DENIED: [u16; 3] = [1142, 1044, 1227];

const OTHERWISE: &str = "leave --mu out: the delay of a small probe is then used for that of the requests";

/// Refuses a server that does not tell, with what to do so that it does.
pub(super) fn check(control: &mut Control, told_by: ToldBy) -> Result<(), StudyError> {
    let problem = match told_by {
        ToldBy::Profiles => profiles(control)?,
        ToldBy::PerformanceSchema => performance_schema(control)?,
    };
    match problem {
        Some(problem) => Err(StudyError::Preflight(vec![problem])),
        None => Ok(()),
    }
}

fn problem(subject: &str, text: &str, hint: String) -> Option<Problem> {
    Some(Problem { subject: subject.to_owned(), text: text.to_owned(), hint, blocks: true })
}

fn profiles(control: &mut Control) -> Result<Option<Problem>, TargetError> {
    const SUBJECT: &str = "--mu requests";
    let other = format!("ask the performance schema by --mu-by performance-schema, or {OTHERWISE}");
    let have = match control.query_value("SELECT @@have_profiling") {
        // A server that does not know the variable has no profiling either.
        Err(error) if error.code().is_some() => None,
        told => told?,
    };
    if have.as_deref() != Some("YES") {
        let text = "this server has no profiling (have_profiling is not YES), so sessions cannot see how \
                    long a statement took";
        return Ok(problem(SUBJECT, text, other));
    }
    control.exec("SET profiling_history_size = 1, profiling = 1")?;
    control.query("SELECT 1")?;
    let told = control.query("SHOW PROFILES")?;
    control.exec("SET profiling = 0")?;
    let text = "the server kept no profile of a statement; behind a proxy the next one may have gone to another session";
    Ok(told
        .rows
        .is_empty()
        .then(|| problem(SUBJECT, text, format!("name the server itself, or {OTHERWISE}")))
        .flatten())
}

fn performance_schema(control: &mut Control) -> Result<Option<Problem>, TargetError> {
    const SUBJECT: &str = "--mu-by performance-schema";
    if control.query_value("SELECT @@performance_schema")?.as_deref() != Some("1") {
        let hint = "start the server with performance_schema=ON, or use --mu-by profiles";
        return Ok(problem(SUBJECT, "the performance schema of this server is off", hint.to_owned()));
    }
    match off(control) {
        Err(error) if error.code().is_some_and(|code| DENIED.contains(&code)) => {
            let hint = "GRANT SELECT ON performance_schema.* TO this account, or --mu-by profiles, which \
                        needs no privilege";
            Ok(problem(SUBJECT, "the account may not read the performance schema", hint.to_owned()))
        }
        Err(error) => Err(error),
        Ok(names) if names.is_empty() => Ok(None),
        Ok(names) => {
            let text = format!("these consumers of the performance schema are off: {}", names.join(", "));
            let hint = format!(
                "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ('{}'), or --mu-by profiles",
                names.join("', '")
            );
            Ok(problem(SUBJECT, &text, hint))
        }
    }
}

fn off(control: &mut Control) -> Result<Vec<String>, TargetError> {
    let rows = control.query(
        "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' AND NAME IN \
         ('events_statements_current', 'events_statements_history', 'global_instrumentation', 'thread_instrumentation')",
    )?;
    // A right to one of the tables is not one to the others.
    control.query("SELECT EVENT_ID FROM performance_schema.events_statements_history LIMIT 1")?;
    control.query("SELECT THREAD_ID FROM performance_schema.threads LIMIT 1")?;
    Ok(rows.rows.iter().filter_map(|row| row.first()?.clone()).collect())
}
