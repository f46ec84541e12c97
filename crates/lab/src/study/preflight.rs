//! What runs need of a server, asked before the first of them.

use super::StudyError;
use super::spec::{Reset, StudySpec};
use crate::load::Protocol;
use crate::target::{Control, Needs, Problem, Target, preflight};
use crate::workload::{Workload, sql};
use evenkeel_core::Nanos;

/// Refuses a server that cannot carry the sessions, statements or writes of the runs; returns what only
/// disturbs.
pub(super) fn check(
    spec: &StudySpec,
    workload: &dyn Workload,
    target: &Target,
) -> Result<Vec<Problem>, StudyError> {
    let mut control = Control::connect(target)?;
    match preflight(&mut control, &needs(spec, workload, target))? {
        Ok(()) => Ok(Vec::new()),
        Err(problems) if problems.iter().any(|problem| problem.blocks) => {
            Err(StudyError::Preflight(problems))
        }
        Err(problems) => Ok(problems),
    }
}

fn needs(spec: &StudySpec, workload: &dyn Workload, target: &Target) -> Needs {
    let max = spec.sessions.max();
    let prepared = workload.statements().iter().filter(|statement| statement.prepared).count();
    let writes = writes(workload);
    let mut privileges = vec!["SELECT".to_owned()];
    if writes {
        privileges.extend(["INSERT".to_owned(), "UPDATE".to_owned(), "DELETE".to_owned()]);
    }
    Needs {
        // Two more for the observers.
        sessions: max + 2,
        prepared_per_session: match spec.protocol {
            Protocol::Prepared => u32::try_from(prepared).unwrap_or(u32::MAX),
            Protocol::Text => 0,
        },
        writes,
        local_infile: false,
        duration: match spec.reset {
            Reset::Nothing => Nanos::ZERO,
            _ => spec.warm_up + spec.duration,
        },
        database: target.database.clone(),
        privileges,
    }
}

/// Whether a workload changes the database.
pub fn writes(workload: &dyn Workload) -> bool {
    workload.statements().iter().any(|statement| sql::parse(&statement.sql).may_write())
}
