//! What runs need of a server, asked before the first of them.

use super::StudyError;
use super::site::Ready;
use super::spec::{Reset, StudySpec, writes};
use evenkeel_core::Nanos;
use evenkeel_core::rates::{GENTLE_START, RatePlan};
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_lab::workload::sql::control;
use evenkeel_lab::workload::{Statement, Workload};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Needs, Problem, Target, TargetError, capacity, preflight};

/// Refuses a server that cannot carry the sessions, statements or writes of the runs; returns what only
/// disturbs.
pub(super) fn check(
    spec: &StudySpec,
    workload: &dyn Workload,
    ready: &Ready,
    stop: &Stop,
) -> Result<(Vec<Problem>, String), StudyError> {
    let target = &ready.target;
    let mut control = Control::connect_until(target, stop)?;
    if spec.parts.is_some() {
        check_told(&mut control)?;
    }
    let (sessions, limit) = sessions(spec, workload, &mut control, ready.of_others)?;
    let announced = announcement(target, workload, (sessions.max(), limit.as_deref()), &rates(spec));
    match preflight(&mut control, &needs(spec, sessions, workload))? {
        Ok(()) => Ok((Vec::new(), announced)),
        Err(problems) if problems.iter().any(|problem| problem.blocks) => {
            Err(StudyError::Preflight(problems))
        }
        Err(problems) => Ok((problems, announced)),
    }
}

/// What is about to happen to a server that others use, on one line; `limit` says why there are no more sessions.
pub fn announcement(
    target: &Target,
    workload: &dyn Workload,
    (sessions, limit): (u32, Option<&str>),
    rates: &str,
) -> String {
    // BEGIN and COMMIT of transactions are added to what the user wrote.
    let is_own = |statement: &&Statement| control(&statement.sql).is_none();
    let count = workload.statements().iter().filter(is_own).count();
    let writing = workload.statements().iter().filter(|statement| statement.may_write()).count();
    let writes =
        if writing == 0 { "which only read".to_owned() } else { format!("{writing} of them writing") };
    let limit = limit.map_or_else(String::new, |limit| format!(" ({limit})"));
    let address = &target.address;
    format!(
        "{address}: statements: {count}, {writes}; connections: at most {sessions}{limit}, plus timed-out statements; {rates}"
    )
}

fn rates(spec: &StudySpec) -> String {
    match &spec.rates {
        RatePlan::List(rates) if spec.budget.is_none() => {
            let (low, high) =
                rates.iter().fold((f64::INFINITY, 0.0), |(low, high), &rate| (rate.min(low), rate.max(high)));
            format!("rates: {low}/s to {high}/s")
        }
        RatePlan::Steps { from, step } if spec.budget.is_none() => {
            format!("rates: {from}/s, then {step}/s more each time")
        }
        _ => format!(
            "rates: first {GENTLE_START}/s, then at most twice the previous one while response times hold; then around the \
                 limit that this finds, some above it"
        ),
    }
}

/// The sessions of a run: as many as the spec has, or as are borne where fewer will do; and why there are no more where others use the
/// server and nobody said how many.
pub(super) fn sessions(
    spec: &StudySpec,
    workload: &dyn Workload,
    control: &mut Control,
    of_others: bool,
) -> Result<(SessionPolicy, Option<String>), StudyError> {
    if !spec.sessions_fit {
        return Ok((spec.sessions, None));
    }
    let mut borne = capacity(control, prepared_statements(workload, spec.protocol))?;
    if of_others {
        borne = borne.of_others();
    }
    let max = borne.pool(spec.sessions.max());
    Ok((spec.sessions.with_max(max), of_others.then_some(borne.limit)))
}

pub fn prepared_statements(workload: &dyn Workload, protocol: Protocol) -> u32 {
    let prepared = workload.statements().iter().filter(|statement| statement.prepared).count();
    match protocol {
        Protocol::Prepared => u32::try_from(prepared).unwrap_or(u32::MAX),
        Protocol::Text => 0,
    }
}

fn needs(spec: &StudySpec, sessions: SessionPolicy, workload: &dyn Workload) -> Needs {
    let writes = writes(workload);
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
        // Who may not make a statement is told so when it is explained.
        ..Needs::default()
    }
}

/// Refuses a server that does not tell how long a statement took it, tried before the first run.
fn check_told(control: &mut Control) -> Result<(), StudyError> {
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
