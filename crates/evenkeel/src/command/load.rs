//! `evenkeel load`: one run of load, without a study around it.

mod sessions;
mod show;

use super::{Session, mode};
use crate::config::units;
use crate::failure::{FINDING, NOT_VALID, WithHint};
use crate::progress::{ProgressEvent, ProgressEvents, View};
use crate::server::place;
use crate::{failed, out, signals};
use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::random::Seed;
use evenkeel_lab::data::Stamp;
use evenkeel_lab::load;
use evenkeel_lab::load::{ArrivalPlan, LoadPhase, LoadPlan, Protocol};
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;
use evenkeel_study::profile::{StudyEvent, announcement, load_caveats, outlived, writes};
pub use sessions::Args;
use std::process::ExitCode;

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let (plan, fewer, limit) = plan(session, args)?;
    if writes(plan.workload.as_ref()) {
        // From here on the rows are no longer those of the data set's seed.
        Stamp::mark_written(&mut Control::connect_until(&plan.target, &session.stop)?)?;
    }
    let mut view = View::new(mode(session, false));
    let mut events = ProgressEvents::for_load(plan.warm_up + plan.measure);
    if place::is_of_others(&args.target) {
        view.show(&announced(&plan, limit.as_deref()));
    }
    // Known to about a microsecond, as a look carries the time since then.
    let mut start = Nanos::MAX;
    let result = load::run(&plan, &session.stop, &mut |progress| {
        if progress.phase != LoadPhase::Opening {
            start = start.min(monotonic() - progress.elapsed);
        }
        if let Some(event) = events.of(StudyEvent::Load { load: progress, theta_percent: None }) {
            view.show(&event);
        }
    })?;
    drop(view);
    let caveats: Vec<Caveat> = fewer.into_iter().chain(load_caveats(&plan, &result)).collect();
    let finding = failed::of_load(&result, plan.timeout);
    match args.json {
        true => {
            let mut json = show::json(&result, &caveats);
            json["finding"] = finding.as_deref().into();
            json["measure_start_monotonic_ns"] = (start + plan.warm_up).0.into();
            out::line(serde_json::to_string_pretty(&json)?)?;
        }
        false => {
            let finding = finding.as_ref().map_or_else(String::new, |text| format!("finding: {text}\n"));
            out::write(&format!("{finding}{}", show::text(&result, &caveats)))?;
        }
    }
    if !result.stopped {
        outlived(&result, &plan.target, &session.stop)
            .context("looking for the server, to which connections were lost during the load")
            .hint("see in the server's error log why it ended, start it, and repeat the load")?;
    }
    let invalid =
        result.counts.arrivals == 0 || caveats.iter().any(|caveat| caveat.severity == Severity::Invalid);
    Ok(match (result.stopped, finding, invalid) {
        (true, ..) => signals::exit_code(),
        // What the server said is the finding, however well the generator kept its schedule.
        (_, Some(_), _) => ExitCode::from(FINDING),
        (_, None, true) => ExitCode::from(NOT_VALID),
        (_, None, false) => ExitCode::SUCCESS,
    })
}

/// What to do, and the doubt that there are fewer sessions than were asked for.
fn plan(session: &Session, args: &Args) -> Result<(LoadPlan, Option<Caveat>, Option<String>)> {
    let timeout = units::positive(&args.timeout, "--timeout")?;
    let measure = units::positive(&args.duration, "--duration")?;
    let target = place::target(session, &args.target, &args.workload)?;
    let workload = place::remote_workload(session, &args.workload, &target)?;
    let asked = (args.target.as_str(), args.workload.as_str(), args.allow_writes);
    place::check_writes(session, asked, &target, workload.as_ref())?;
    let cpus = args.generator_cpus.as_deref();
    let cpus = cpus.map(|text| units::machine_cpus(text, "--generator-cpus")).transpose()?;
    let protocol = if args.text { Protocol::Text } else { Protocol::Prepared };
    let arrivals = arrivals(args)?;
    let (sessions, fewer, limit) =
        sessions::sessions(args, &target, workload.as_ref(), protocol, &session.stop)?;
    let plan = LoadPlan {
        target,
        workload,
        arrivals,
        warm_up: units::duration(&args.warm_up).context("reading --warm-up")?,
        warm_up_max: None,
        measure,
        drain: timeout,
        timeout,
        seed: Seed(args.seed),
        sessions,
        protocol,
        threads: cpus.as_ref().map_or(1, |cpus| cpus.iter().count()),
        cpus: cpus.iter().flat_map(|cpus| cpus.iter()).map(|cpu| cpu as usize).collect(),
        busy_poll: args.busy_poll,
        request_log: args.request_log.clone(),
        parts: None,
    };
    Ok((plan, fewer, limit))
}

/// What is about to happen to a server that others use.
fn announced(plan: &LoadPlan, limit: Option<&str>) -> ProgressEvent {
    let rates = match plan.arrivals {
        ArrivalPlan::Poisson(rate) | ArrivalPlan::Constant(rate) => format!("rate: {rate}/s"),
        ArrivalPlan::Closed { clients, .. } => format!("clients: {clients}"),
    };
    let sessions = (plan.sessions.max(), limit);
    ProgressEvent::Announced { text: announcement(&plan.target, plan.workload.as_ref(), sessions, &rates) }
}

fn arrivals(args: &Args) -> Result<ArrivalPlan> {
    let kind = &args.arrivals;
    if let Some(clients) = kind.clients {
        let think = args.think.as_deref().map(units::duration).transpose().context("reading --think")?;
        return Ok(ArrivalPlan::Closed { clients, think });
    }
    Ok(match (kind.rate, kind.constant) {
        (Some(rate), _) => ArrivalPlan::Poisson(rate),
        (None, rate) => ArrivalPlan::Constant(rate.unwrap_or_default()),
    })
}
