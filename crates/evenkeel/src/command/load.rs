//! `evenkeel load`: one run of load, without a study around it.

mod show;

use super::{Session, mode};
use crate::config::units;
use crate::failure::{FINDING, NOT_VALID, WithHint};
use crate::progress::{ProgressEvent, ProgressEvents, View};
use crate::server::place;
use crate::{failed, out, signals};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::random::Seed;
use evenkeel_lab::data::Stamp;
use evenkeel_lab::load::{self, ArrivalPlan, LoadPhase, LoadPlan, Protocol, SESSIONS_DEFAULT, SessionPolicy};
use evenkeel_lab::workload::Workload;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::{Capacity, Control, Target, capacity};
use evenkeel_study::profile::{
    StudyEvent, announcement, load_caveats, outlived, prepared_statements, writes,
};
use std::path::PathBuf;
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
    let (sessions, fewer, limit) = sessions(args, &target, workload.as_ref(), protocol, &session.stop)?;
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

/// The sessions of a load, from the flags and from what the server and this process bear; and the doubt where an open
/// load gets fewer than were asked for.
pub fn sessions(
    args: &Args,
    target: &Target,
    workload: &dyn Workload,
    protocol: Protocol,
    stop: &Stop,
) -> Result<(SessionPolicy, Option<Caveat>, Option<String>)> {
    // A statement that a lock holds up may take as long as it likes, and nobody is to wait that long who asks to stop.
    let mut control = Control::connect_until(target, stop)?;
    let borne = capacity(&mut control, prepared_statements(workload, protocol))?;
    // Who says how many gets as many as are borne; otherwise others have most of what is free.
    let is_asked = args.max_sessions.is_some() || args.arrivals.clients.is_some();
    let is_quarter = place::is_of_others(&args.target) && !is_asked;
    let borne = if is_quarter { borne.of_others() } else { borne };
    let max = most(args, &borne)?;
    let asked = args.max_sessions.unwrap_or(max);
    let policy = match args.per_request {
        true => SessionPolicy::PerRequest { max },
        false => SessionPolicy::Pooled { max },
    };
    Ok((policy, Caveat::fewer_sessions(max, asked, &borne.limit), is_quarter.then_some(borne.limit)))
}

/// Closed clients have all the sessions that they ask for or none: with fewer they would be another load than the one
/// that was asked for. Arrivals of an open load wait for one another where there are fewer.
fn most(args: &Args, borne: &Capacity) -> Result<u32> {
    let Some(clients) = args.arrivals.clients else {
        let own = || borne.pool(SESSIONS_DEFAULT);
        return Ok(args.max_sessions.map_or_else(own, |asked| asked.min(borne.sessions.max(1))));
    };
    let wanted = args.max_sessions.map_or(clients, |asked| asked.min(clients));
    if wanted <= borne.sessions {
        return Ok(wanted);
    }
    Err(anyhow!("{wanted} sessions cannot be opened, {} can: {}", borne.sessions, borne.limit)).hint(format!(
        "{}, take fewer --clients, or let them share sessions by --max-sessions {}",
        borne.remedy,
        borne.pool(wanted)
    ))
}

/// Flags of `evenkeel load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel load sandbox:demo --workload tpcw.shopping --clients 50 --duration 60s
      closed clients (browsers) that think 7 s between two pages, as TPC-W defines
  evenkeel load sandbox:demo --workload tpcw.simple --clients 8 --think 0s
  evenkeel load sandbox:demo --workload tpcw.complex --rate 200
  evenkeel load sandbox:demo --workload dvdstore --clients 32 --think 10s --duration 2m
      closed clients that place orders, with orders per minute; or --rate 20: 20 new orders per second
  evenkeel load sandbox:demo --workload tpcw.complex --rate 200 --request-log requests.csv.zst

Exit codes: 0 done; 1 most requests failed, or none was answered (the first line says
why); 2 wrong use, no server, or it ended during the load; 3 the measurement is not
valid, or no request arrived; 130, 143 stopped by Ctrl-C, SIGTERM, with the figures of
the time measured.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME
    #[arg(value_name = "URL")]
    pub target: String,
    /// TPC-W statement or mix by name, `dvdstore`, or a file of your own (.toml, .sql)
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.complex")]
    pub workload: String,
    /// How requests arrive
    #[command(flatten)]
    pub arrivals: Arrivals,
    /// Think time of closed clients [default: the mix's own, none for a statement]
    #[arg(long, value_name = "TIME", requires = "clients")]
    pub think: Option<String>,
    /// How long the load is measured
    #[arg(long, short, value_name = "TIME", default_value = "30s")]
    pub duration: String,
    /// Load before measuring begins
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub warm_up: String,
    /// Age at which a request is given up
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// Allow a workload of your own to write or lock on a server given by URL: INSERT, UPDATE, CALL, SELECT ... FOR UPDATE,
    /// stored functions. Private servers do not need it, nor do workloads named without a file
    #[arg(long)]
    pub allow_writes: bool,
    /// Maximum number of connections; --clients share them if there are fewer [default: one for each of --clients, otherwise as many as
    /// max_connections and the open-file limit allow, at most 1,000; with a URL a quarter of the free connections]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_sessions: Option<u32>,
    /// Use a new connection for each request instead of a pool
    #[arg(long)]
    pub per_request: bool,
    /// Send statements as text with their parameters instead of preparing them
    #[arg(long)]
    pub text: bool,
    /// Seed of arrivals and parameters
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// CPUs for the load threads
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// Poll instead of sleeping: each load thread uses a whole CPU, but has no wake-up delay. Give it CPUs that the server does
    /// not use by --generator-cpus
    #[arg(long)]
    pub busy_poll: bool,
    /// File with one line per request (CSV, compressed with zstd). Times count from the start of the measurement, which --json
    /// gives on CLOCK_MONOTONIC
    #[arg(long, value_name = "FILE")]
    pub request_log: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// How requests arrive.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Arrivals {
    /// Independent (Poisson) arrivals per second
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// Evenly spaced arrivals per second
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub constant: Option<f64>,
    /// Number of closed clients, each of which waits for its answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub clients: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn args(flags: &[&str]) -> Args {
        let line = [&["evenkeel", "load", "mysql://u@h/d"], flags].concat();
        let Command::Load(args) = Cli::parse_from(line).command else { panic!("no load") };
        args
    }

    /// A server and a process that bear 145 more.
    fn borne() -> Capacity {
        let limit = "max_connections is 151 with 6 in use".to_owned();
        Capacity::new(145, limit, "SET GLOBAL max_connections")
    }

    fn found(flags: &[&str]) -> Result<u32> {
        most(&args(flags), &borne())
    }

    #[test]
    fn closed_clients_have_a_session_each_or_share_what_was_asked_for() {
        assert_eq!(found(&["--clients", "145"]).unwrap(), 145);
        assert_eq!(found(&["--clients", "700", "--max-sessions", "100"]).unwrap(), 100);
        assert_eq!(found(&["--clients", "7", "--max-sessions", "100"]).unwrap(), 7);
    }

    #[test]
    fn more_closed_clients_than_are_borne_are_an_error_with_the_figures_and_the_way_out() {
        let error = found(&["--clients", "700"]).unwrap_err();
        let told = format!("{error:#}");
        assert!(told.contains("700 sessions cannot be opened, 145 can: max_connections is 151"), "{told}");
        assert!(told.contains("SET GLOBAL max_connections") && told.contains("--max-sessions 140"), "{told}");
    }

    #[test]
    fn an_open_load_takes_what_there_is_and_says_so_only_where_more_was_asked_for() {
        assert_eq!(found(&["--rate", "5"]).unwrap(), 140);
        assert_eq!(found(&["--rate", "5", "--max-sessions", "145"]).unwrap(), 145);
        let max = found(&["--rate", "5", "--max-sessions", "300"]).unwrap();
        let text = Caveat::fewer_sessions(max, 300, &borne().limit).unwrap().to_string();
        assert!(text.starts_with("Of 300 sessions that were requested, 145 can be open"), "{text}");
    }
}
