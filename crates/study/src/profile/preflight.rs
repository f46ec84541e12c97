//! What runs need of a server, asked before the first of them.

use super::spec::{Reset, StudySpec, writes};
use super::{StudyError, telling};
use evenkeel_core::Nanos;
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_lab::workload::Workload;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Needs, Problem, Target, capacity, preflight};

/// Refuses a server that cannot carry the sessions, statements or writes of the runs; returns what only
/// disturbs.
pub(super) fn check(
    spec: &StudySpec,
    workload: &dyn Workload,
    target: &Target,
    stop: &Stop,
) -> Result<Vec<Problem>, StudyError> {
    let mut control = Control::connect_until(target, stop)?;
    if let Some(parts) = &spec.parts {
        telling::check(&mut control, parts.told_by)?;
    }
    let sessions = sessions(spec, workload, &mut control)?;
    match preflight(&mut control, &needs(spec, sessions, workload, target))? {
        Ok(()) => Ok(Vec::new()),
        Err(problems) if problems.iter().any(|problem| problem.blocks) => {
            Err(StudyError::Preflight(problems))
        }
        Err(problems) => Ok(problems),
    }
}

/// The sessions of a run: as many as the spec has, or as are borne where fewer will do.
pub(super) fn sessions(
    spec: &StudySpec,
    workload: &dyn Workload,
    control: &mut Control,
) -> Result<SessionPolicy, StudyError> {
    let most = spec.sessions.max();
    let max = match spec.sessions_fit {
        true => capacity(control, prepared_statements(workload, spec.protocol))?.pool(most),
        false => most,
    };
    Ok(spec.sessions.with_max(max))
}

/// Statements that each session of a load prepares.
pub fn prepared_statements(workload: &dyn Workload, protocol: Protocol) -> u32 {
    let prepared = workload.statements().iter().filter(|statement| statement.prepared).count();
    match protocol {
        Protocol::Prepared => u32::try_from(prepared).unwrap_or(u32::MAX),
        Protocol::Text => 0,
    }
}

fn needs(spec: &StudySpec, sessions: SessionPolicy, workload: &dyn Workload, target: &Target) -> Needs {
    let writes = writes(workload);
    let mut privileges = vec!["SELECT".to_owned()];
    if writes {
        privileges.extend(["INSERT".to_owned(), "UPDATE".to_owned(), "DELETE".to_owned()]);
    }
    Needs {
        // Two more for the observers.
        sessions: sessions.max() + 2,
        prepared_per_session: prepared_statements(workload, spec.protocol),
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
