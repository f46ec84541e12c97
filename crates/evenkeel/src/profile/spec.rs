//! From the flags of `evenkeel profile` to what the lab is to do.

use super::flags::{Args, generator_cpus};
use super::servers;
use super::variant::Factors;
use crate::config::{rate, units};
use crate::console::Session;
use crate::failure::WithHint;
use crate::format;
use crate::server::place;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::threshold::SECONDS_MIN;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::{PartsPlan, Protocol, SESSIONS_DEFAULT, SessionPolicy};
use evenkeel_site::sandbox;
use evenkeel_study::profile::{Budget, OVERHEAD, RUNS_FIRST, Reset, StudySpec};
use evenkeel_study::store::format::TargetRecord;
use std::path::PathBuf;

/// Time for the runs of one series where nothing is said: thirty to forty of the default length on a private server.
const WITHIN_DEFAULT: Nanos = Nanos::from_secs(600);

/// What holds where it is not given.
const DURATION_DEFAULT: Nanos = Nanos::from_secs(10);
const LONGEST_DEFAULT: Nanos = Nanos::from_secs(40);
const RATES_DEFAULT: &str = "auto:8";
const REPEATS_DEFAULT: u32 = 3;
const RETRIES_DEFAULT: u32 = 1;

pub struct Study {
    pub spec: StudySpec,
    pub targets: Vec<TargetRecord>,
}

/// Reads the flags; `workload_file` replaces the workload's own file where a study is resumed.
pub fn study(
    session: &Session,
    args: &Args,
    command: Vec<String>,
    workload_file: Option<PathBuf>,
) -> Result<Study> {
    let reset = reset(session, args)?;
    let servers = servers(session, args, workload_file, &reset)?;
    let generator_cpus = generator_cpus(args)?;
    let budget = budget(args, servers.series.len())?;
    let (warm_up, duration, longest) = lengths(args, budget, servers.series.len())?;
    let rates = rates(args)?;
    let most = args.max_sessions.unwrap_or(SESSIONS_DEFAULT);
    let spec = StudySpec {
        kind: evenkeel_study::profile::NAME.to_owned(),
        command,
        seed: Seed(args.seed),
        rates,
        rate_text: match budget {
            Some(_) => "one by one".to_owned(),
            None => args.rate.clone().unwrap_or_else(|| RATES_DEFAULT.to_owned()),
        },
        repeats: args.repeats.unwrap_or(REPEATS_DEFAULT),
        duration,
        longest,
        warm_up,
        timeout: units::positive(&args.timeout, "--timeout")?,
        sessions: match args.per_request {
            true => SessionPolicy::PerRequest { max: most },
            false => SessionPolicy::Pooled { max: most },
        },
        sessions_fit: args.max_sessions.is_none(),
        protocol: Protocol::Prepared,
        reset,
        objective_p95: args.objective.as_deref().map(objective).transpose()?,
        generator_cpus,
        parts: asked_parts(&args.mu)?,
        // A run that was disturbed is one of many, and a further one comes anyway where it tells more.
        retries: args.retries.unwrap_or(RETRIES_DEFAULT),
        budget,
        whole_sweep: args.whole_sweep,
        sites: servers.sites,
        series: servers.series,
    };
    Ok(Study { targets: servers.targets, spec })
}

fn servers(
    session: &Session,
    args: &Args,
    workload_file: Option<PathBuf>,
    reset: &Reset,
) -> Result<servers::Servers> {
    let factors = Factors::read(&args.factor)?;
    let workload =
        workload_file.map_or_else(|| args.workload.clone(), |path| path.to_string_lossy().into_owned());
    if args.targets.is_empty() && args.reset_command.is_some() {
        return Err(anyhow::anyhow!(
            "--reset-command is for a server of yours; a private one is restarted anyway"
        ))
        .hint("name your server, or leave --reset-command out");
    }
    if args.targets.is_empty() {
        servers::private(session, args, &factors, &workload)
    } else {
        servers::remote(session, args, &workload, reset)
    }
}

/// Private servers are restarted, those of `sandbox:NAME` as well where there are no others beside them: to be
/// compared, all targets are treated alike.
fn reset(session: &Session, args: &Args) -> Result<Reset> {
    let all_named = args.targets.iter().all(|text| is_restartable(session, text));
    Ok(match &args.reset_command {
        Some(command) => Reset::Command(command.clone()),
        None if args.no_reset || !all_named => Reset::Nothing,
        None => Reset::Full,
    })
}

/// Whether a target is a private server that nobody else measures on.
fn is_restartable(session: &Session, text: &str) -> bool {
    let found = place::named(text, "").map(|(name, _)| sandbox::find(&session.home, name));
    matches!(found, Some(Ok(server)) if server.is_detached())
}

fn rates(args: &Args) -> Result<RatePlan> {
    let text = args.rate.as_deref().unwrap_or(RATES_DEFAULT);
    let rates = rate::parse(text)?;
    if args.whole_sweep && matches!(rates, RatePlan::Steps { .. }) {
        return Err(anyhow::anyhow!(
            "--whole-sweep has no meaning with --rate {text}, which has no last rate"
        ))
        .hint("give the rates an end, as 10..100:10, or leave --whole-sweep out");
    }
    Ok(rates)
}

/// A budget where neither rates nor repeats are given, which would say which runs to make.
fn budget(args: &Args, series: usize) -> Result<Option<Budget>> {
    let until = args.until.as_deref().map(units::share).transpose();
    let until = until
        .context("reading --until")
        .hint("write it as 5%: the width of the bounds beside their middle")?;
    let within = args.within.as_deref().map(|text| units::positive(text, "--within")).transpose()?;
    let is_fixed =
        args.rate.is_some() || args.repeats.is_some() || args.retries.is_some() || args.whole_sweep;
    Ok(match (until, within) {
        (None, None) if is_fixed => None,
        (None, None) => Some(Budget { until, within: Some(Nanos(WITHIN_DEFAULT.0 * series as u64)) }),
        _ => Some(Budget { until, within }),
    })
}

/// Of a warm-up, of a run, and of one near saturation. Where the time is limited many runs tell more than long ones.
fn lengths(args: &Args, budget: Option<Budget>, series: usize) -> Result<(Nanos, Nanos, Nanos)> {
    let warm_up = units::duration(&args.warm_up).context("reading --warm-up")?;
    let duration = args.duration.as_deref().map(|text| units::positive(text, "--duration")).transpose()?;
    let length = duration.unwrap_or(DURATION_DEFAULT);
    let may_grow = duration.is_none() && budget.is_none_or(|budget| budget.within.is_none());
    let longest = if may_grow { LONGEST_DEFAULT } else { length };
    if let Some(budget) = budget {
        let is_of_others = args.targets.iter().any(|text| place::is_of_others(text));
        let search = if is_of_others { GENTLE_SEARCH } else { SEARCH };
        leads_to_bounds(budget, length, warm_up, series, search)?;
    }
    Ok((warm_up, length, longest))
}

/// What the search for the highest rate of a server that others use takes about.
const GENTLE_SEARCH: Nanos = Nanos::from_secs(60);
/// ... and for that of any other.
const SEARCH: Nanos = Nanos::from_secs(15);

/// Refuses runs that are too short to bring a bound, or too long for their time.
fn leads_to_bounds(
    budget: Budget,
    duration: Nanos,
    warm_up: Nanos,
    series: usize,
    search: Nanos,
) -> Result<()> {
    if duration < Nanos::from_secs(SECONDS_MIN as u64) {
        return Err(anyhow::anyhow!(
            "--duration {} is too short: only a run of {SECONDS_MIN} s or more shows whether a rate is carried",
            format::seconds(duration.as_secs_f64())
        ))
        .hint(format!("give --duration {SECONDS_MIN}s or more"));
    }
    let runs = u64::from(RUNS_FIRST) * series as u64;
    let least = Nanos((warm_up + duration + OVERHEAD).0.saturating_mul(runs)) + search;
    match budget.within {
        Some(within) if within < least => Err(anyhow::anyhow!(
            "--within {} is too short: the search and {runs} runs of {} for the first bounds take {}",
            format::seconds(within.as_secs_f64()),
            format::seconds((warm_up + duration).as_secs_f64()),
            format::seconds(least.as_secs_f64())
        ))
        .hint(format!("give it --within {:.0}m", (1.5 * least.as_secs_f64() / 60.0).ceil())),
        _ => Ok(()),
    }
}

/// The objective of p95: `100ms`, or `p95=100ms` as `size` takes it.
fn objective(text: &str) -> Result<Nanos> {
    let time = text.strip_prefix("p95=").unwrap_or(text);
    if time.contains('=') {
        return Err(anyhow::anyhow!("--objective {text:?}: a profile takes an objective for p95 only"))
            .hint("write it as p95=100ms; `evenkeel size` takes mean=20ms too");
    }
    units::positive(time, "--objective")
}

const HOW_MU: &str = "write --mu probe, or --mu requests=5% for that share of the requests";

/// Reads the text of `--mu`; `None` where the probe alone stands for it.
fn asked_parts(text: &str) -> Result<Option<PartsPlan>> {
    match text.trim().split_once('=') {
        None if text.trim() == "probe" => Ok(None),
        Some(("requests", share)) => {
            let share = units::share(share).context("reading --mu").hint(HOW_MU)?;
            Ok(Some(PartsPlan { share, server_pid: None }))
        }
        _ => Err(anyhow!("--mu {text:?} is neither the probe nor a share of the requests")).hint(HOW_MU),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use evenkeel_os::Stop;
    use evenkeel_study::profile::settings;
    use evenkeel_study::store::format::ResetRecord;

    fn args(flags: &[&str]) -> Box<Args> {
        let line = [&["evenkeel", "profile"], flags].concat();
        let Command::Profile(args) = Cli::parse_from(line).command else { panic!("no profile") };
        args
    }

    fn study_of(flags: &[&str]) -> Result<Study> {
        let home = tempfile::tempdir().unwrap();
        let session = Session { home: home.path().to_owned(), quiet: true, stop: Stop::default() };
        study(&session, &args(flags), Vec::new(), None)
    }

    /// What the plan says that happens before each run.
    fn reset_of(flags: &[&str]) -> ResetRecord {
        settings(&study_of(flags).unwrap().spec).reset
    }

    #[test]
    fn an_objective_of_p95_may_say_so() {
        for text in ["100ms", "p95=100ms"] {
            assert_eq!(objective(text).unwrap().as_millis_f64(), 100.0, "{text}");
        }
        for (text, words) in [
            ("mean=20ms", "takes an objective for p95 only"),
            ("p95=0s", "is not a time"),
            ("p95=soon", "write it as 250ms, 10s or 2m"),
        ] {
            let error = format!("{:#}", objective(text).unwrap_err());
            assert!(error.contains(words) && !error.contains("64M"), "{text}: {error}");
        }
    }

    #[test]
    fn runs_are_chosen_one_by_one_unless_rates_or_repeats_are_given() {
        let within = |seconds| Some(Nanos::from_secs(seconds));
        let found = |flags: &[&str]| budget(&args(flags), 2).unwrap();
        assert_eq!(found(&[]), Some(Budget { until: None, within: within(1_200) }));
        assert_eq!(found(&["--within", "5m"]), Some(Budget { until: None, within: within(300) }));
        assert_eq!(found(&["--until", "5%"]), Some(Budget { until: Some(0.05), within: None }));
        for flags in [&["--rate", "10,20"][..], &["--repeats", "3"], &["--retries", "0"], &["--whole-sweep"]]
        {
            assert_eq!(found(flags), None, "{flags:?}");
        }
        for text in ["0", "-5%", "110%", "narrow", "nan"] {
            assert!(budget(&args(&[&format!("--until={text}")]), 2).is_err(), "{text}");
        }
    }

    #[test]
    fn runs_that_cannot_bring_a_bound_are_refused_before_anything_runs() {
        let refused = |flags: &[&str]| study_of(flags).err().map(|error| format!("{error:#}"));
        let said = refused(&["--duration", "6s"]).unwrap();
        assert!(said.contains("--duration 6 s is too short"), "{said}");
        let said = refused(&["--within", "3m", "--duration", "10m"]).unwrap();
        assert!(said.contains("--within 3 min is too short") && said.contains("6 runs"), "{said}");
        assert_eq!(refused(&["--within", "2m", "--duration", "8s"]), None);
        assert_eq!(refused(&["--rate", "10", "--duration", "6s"]), None);
    }

    #[test]
    fn a_plan_says_whether_data_is_restored_or_the_server_alone_restarted() {
        assert_eq!(reset_of(&["--workload", "tpcw.complex"]), ResetRecord::Restart);
        assert_eq!(reset_of(&["--workload", "tpcw.ordering"]), ResetRecord::Restore);
        assert_eq!(reset_of(&["--workload", "dvdstore"]), ResetRecord::Restore);
        assert_eq!(reset_of(&["--workload", "tpcw.ordering", "--no-reset"]), ResetRecord::Nothing);
    }

    #[test]
    fn a_share_of_the_requests_is_asked_about_and_of_a_probe_none() {
        assert_eq!(asked_parts("probe").unwrap(), None);
        assert_eq!(asked_parts("requests=5%").unwrap().unwrap().share, 0.05);
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for text in ["", "requests", "requests=0%", "requests=101%", "probes=5%", "requests=some"] {
            let error = asked_parts(text).unwrap_err();
            assert!(format!("{error:#}").contains("--mu"), "{text}: {error:#}");
        }
    }
}
