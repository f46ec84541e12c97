//! Whether a server tells how long a statement took it, tried before the first run.

use super::StudyError;
use evenkeel_site::server::{Control, Problem, TargetError};

const OTHERWISE: &str = "leave --mu out: the delay of a small probe is then used for that of the requests";

/// Refuses a server that does not tell, with what to do.
pub(super) fn check(control: &mut Control) -> Result<(), StudyError> {
    match profiles(control)? {
        Some(problem) => Err(StudyError::Preflight(vec![problem])),
        None => Ok(()),
    }
}

fn problem(text: &str, hint: String) -> Option<Problem> {
    Some(Problem { subject: "--mu requests".to_owned(), text: text.to_owned(), hint, blocks: true })
}

fn profiles(control: &mut Control) -> Result<Option<Problem>, TargetError> {
    let have = match control.query_value("SELECT @@have_profiling") {
        // A server that does not know the variable has no profiling either.
        Err(error) if error.code().is_some() => None,
        told => told?,
    };
    if have.as_deref() != Some("YES") {
        let text = "this server has no profiling (have_profiling is not YES), so sessions cannot see how \
                    long a statement took";
        return Ok(problem(text, OTHERWISE.to_owned()));
    }
    control.exec("SET profiling_history_size = 1, profiling = 1")?;
    control.query("SELECT 1")?;
    let told = control.query("SHOW PROFILES")?;
    control.exec("SET profiling = 0")?;
    let text = "the server kept no profile of a statement; behind a proxy the next one may have gone to another session";
    Ok(told
        .rows
        .is_empty()
        .then(|| problem(text, format!("name the server itself, or {OTHERWISE}")))
        .flatten())
}
