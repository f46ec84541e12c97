//! Whether a server tells how long a statement took it, tried before the first run.

use super::StudyError;
use evenkeel_site::server::{Control, Problem, TargetError};

/// Refuses a server that does not tell, with what to do.
pub(super) fn check(control: &mut Control) -> Result<(), StudyError> {
    if tells(control)? {
        return Ok(());
    }
    Err(StudyError::Preflight(vec![Problem {
        subject: "--mu requests".to_owned(),
        text: "the server keeps no profile of a statement (have_profiling, SHOW PROFILES), or a proxy asks for it in \
               another session"
            .to_owned(),
        hint: "name the server itself, or leave --mu out: the delay of a small probe is then used for that of the \
               requests"
            .to_owned(),
        blocks: true,
    }]))
}

fn tells(control: &mut Control) -> Result<bool, TargetError> {
    let have = match control.query_value("SELECT @@have_profiling") {
        // A server that does not know the variable has no profiling either.
        Err(error) if error.code().is_some() => None,
        told => told?,
    };
    if have.as_deref() != Some("YES") {
        return Ok(false);
    }
    control.exec("SET profiling_history_size = 1, profiling = 1")?;
    control.query("SELECT 1")?;
    let told = control.query("SHOW PROFILES")?;
    control.exec("SET profiling = 0")?;
    Ok(!told.rows.is_empty())
}
