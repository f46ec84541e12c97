//! `evenkeel study variation`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::config::{units, workload};
use crate::failure::WithHint;
use crate::profile::flags::split_cpus;
use crate::server::place;
use crate::study::published;
use anyhow::{Context, Result, anyhow, bail};
use clap::builder::BoolishValueParser;
use clap::{ArgAction, value_parser};
use evenkeel_site::sandbox;
use evenkeel_site::server::{Target, without_password};
use evenkeel_study::harness::Plan;
use evenkeel_study::variation::parts::{COMPLEX_STATEMENT, Extent, parts};
use evenkeel_study::variation::record::{DataRecord, MachineRecord, PRIVATE, Setting, TargetRecord};
pub use evenkeel_study::variation::{NAME, QUESTION};
use std::path::PathBuf;

/// Servers that should be alike are started several times, and each start has several runs. The variance is split into servers,
/// starts, runs and requests, each with its interval. Then each suspect (network, disk, syncs, locks, layout, buffer pool, plan,
/// CPU work, CPU waits, neighbours, stolen CPU time, start) is the cause, not the cause, or undecided, with one sentence of
/// evidence; what no cause accounts for is called unexplained. Without url= two private servers are started.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study variation --quick
      two private servers, all parts of the published study in short, within 15 minutes on two cores
  evenkeel study variation full=yes
      20 runs of 180 s at each rate; the first line says how many hours
  evenkeel study variation url=sandbox:a url=sandbox:b rate=50 starts=5 runs=2 duration=5s
      two servers get the same arrivals at the same instants: why do they differ?
  evenkeel study variation url=mysql://app@db1/shop url=mysql://app@db2/shop workload=orders.toml rate=20,40 \\
      reset='mysql://app@db1/shop=ssh db1 systemctl restart mariadb' \\
      reset='mysql://app@db2/shop=ssh db2 systemctl restart mariadb'
      why do two servers of your own differ, with your own statements?
  evenkeel study variation parts=rates mu=5%
      the network's part from the server's own times instead of probes")]
pub struct Settings {
    /// A server, once for each: mysql://user@host:port/database or sandbox:NAME; the password comes from EVENKEEL_PASSWORD or
    /// ?defaults-file=
    #[arg(long, value_name = "URL")]
    url: Vec<String>,
    /// How to restart a server of your own: its URL, =, and a shell command. EVENKEEL_TARGET and EVENKEEL_URL (without password) in
    /// its environment name the server. The command is kept with the study: put no password in it
    #[arg(long, value_name = "URL=COMMAND", requires = "url")]
    reset: Vec<String>,
    /// Send all servers the same requests at the same instants, so that disturbances of the machine reach all of them alike; with no
    /// they take turns [default: yes with several url=]
    #[arg(long, value_name = "yes|no", action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    duet: Option<bool>,
    /// Measure servers even if they differ in settings or data
    #[arg(long, value_name = "yes|no", default_value = "no", action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    may_differ: bool,
    /// Statement or mix of TPC-W of the first part, or a file of your own (.toml, .sql), which the study keeps
    #[arg(long, value_name = "NAME|FILE", default_value = COMPLEX_STATEMENT)]
    workload: String,
    /// Let a workload of your own write, lock and call stored functions on servers named by URL, which may have other users
    #[arg(long, value_name = "yes|no", default_value = "no", action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    allow_writes: bool,
    /// Arrival rates per second; only the first part is then measured. Servers named by mysql:// need it [default: load=]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "load", value_parser = value_parser!(u32).range(1..=1_000_000))]
    rate: Vec<u32>,
    /// Rates in percent of what a server carries, by a short first look [default: 30,60,85; full=yes: 10 to 100 by 10]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value_parser!(u32).range(1..=200))]
    load: Vec<u32>,
    /// The published size: 20 runs of 180 s at ten rates
    #[arg(long, value_name = "yes|no", default_value = "no", action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    full: bool,
    /// Only these parts: rates, layout, pool, simple, simple-published, class, write, write-published
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// Starts of each server [default: 5, in other parts than the first 3; --quick: 3 and 2; full=yes: 10]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    starts: Option<u32>,
    /// Runs of each start
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Measured time of a run [default: 10s; --quick: 3s; full=yes: 180s]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    duration: Option<f64>,
    /// Load before measuring begins [default: 2s; --quick: 1s; full=yes: 10s]
    #[arg(long, value_name = "TIME", value_parser = keys::time)]
    warm_up: Option<f64>,
    /// Age at which a request is given up; it then counts with the age it reached
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = keys::long)]
    timeout: f64,
    /// Share of the requests, as 5%, of which the server reports how long it worked: the rest is network delay
    /// [default: a small probe about once a second]
    #[arg(long, value_name = "SHARE", value_parser = units::share)]
    mu: Option<f64>,
    /// Buffer pool of private servers, percent of the tables that the workload reads
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0, conflicts_with = "url")]
    pool: f64,
    /// TPC-W NUM_ITEMS of private servers
    #[arg(long, value_name = "N", default_value_t = 40_000, conflicts_with = "url", value_parser = value_parser!(u32).range(100..=10_000_000))]
    items: u32,
    /// Program of private servers [default: mariadbd in PATH and the usual places]
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    server_binary: Option<PathBuf>,
    /// Seed of arrivals, parameters, order and data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The plan that the settings make.
pub fn plan(session: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    if args.quick && of.full {
        bail!("--quick is the short version, and full=yes the published size: take one of them");
    }
    let setting = setting(session, &of, args.quick)?;
    planned(&of, &setting, args.quick)
}

fn setting(session: &Session, of: &Settings, quick: bool) -> Result<Setting> {
    let workload_file = workload_file(of)?;
    let targets = targets(session, &of.url, &of.reset)?;
    let duet = of.duet.unwrap_or(of.url.len() > 1);
    if duet && targets.len() < 2 {
        return Err(anyhow!("duet=yes asks several servers at once, and there is one"))
            .hint("name a second one, or leave duet=yes out");
    }
    if workload_file.is_some() {
        check_writes(session, &of.url, &of.workload, of.allow_writes)?;
    }
    if !(of.pool > 0.0 && of.pool <= 1_000.0) {
        bail!("pool={} is not a share of the tables in percent, as pool=20", of.pool);
    }
    // Private servers that are asked in turn have CPUs of their own; all others share them with the load.
    let has_own_cpus = of.url.is_empty() && !duet;
    let (others, last) = split_cpus();
    Ok(Setting {
        targets,
        workload: of.workload.clone(),
        workload_file,
        runs_of_start: of.runs,
        mu_percent: of.mu.map(|share| 100.0 * share),
        warm_up_s: of.warm_up.unwrap_or_else(|| by_extent(of, quick, [2.0, 1.0, 10.0])),
        duration_s: of.duration.unwrap_or_else(|| by_extent(of, quick, [10.0, 3.0, 180.0])),
        timeout_s: of.timeout,
        duet,
        data: DataRecord { ebs: 1, items: of.items, seed: of.seed },
        pool_percent: of.pool,
        server_cpus: if has_own_cpus { others.to_string() } else { String::new() },
        generator_cpus: last.iter().filter(|_| has_own_cpus).map(|cpu| cpu as usize).collect(),
        may_differ: of.may_differ,
        machine: MachineRecord::here(of.server_binary.as_deref()),
    })
}

/// The text of a workload file, which was understood; `None` for one that has a name.
fn workload_file(of: &Settings) -> Result<Option<String>> {
    if !place::is_file(&of.workload) {
        place::check_workload(&of.workload)?;
        return Ok(None);
    }
    let text = workload::text(of.workload.as_ref())?;
    workload::parse(&of.workload, &text)?;
    Ok(Some(text))
}

/// What holds usually, with --quick, and with full=yes.
fn by_extent<T>(of: &Settings, quick: bool, [usual, short, full]: [T; 3]) -> T {
    match (quick, of.full) {
        (true, _) => short,
        (_, true) => full,
        _ => usual,
    }
}

fn planned(of: &Settings, setting: &Setting, quick: bool) -> Result<Plan> {
    let mut levels: Vec<u32> = match (of.rate.as_slice(), of.load.as_slice()) {
        ([], []) if of.full => (1..=10).map(|tenth| 10 * tenth).collect(),
        ([], []) => vec![30, 60, 85],
        ([], load) => load.to_vec(),
        (rate, _) => rate.to_vec(),
    };
    levels.sort_unstable();
    levels.dedup();
    let starts = |by| of.starts.unwrap_or_else(|| by_extent(of, quick, by));
    let extent = Extent {
        levels,
        are_rates: !of.rate.is_empty(),
        simple: if quick { vec![60, 150] } else { vec![20, 50, 80, 120, 150] },
        write: if quick { vec![60] } else { vec![20, 50, 80] },
        published: if quick { [vec![20, 120], vec![80]] } else { [vec![20, 70, 120], vec![20, 50, 80]] },
        class: if quick { vec![60] } else { vec![40, 80] },
        storage: if quick { vec![60] } else { vec![20, 50, 80] },
        pools: if quick { vec![20, 100] } else { vec![20, 40, 60, 80, 100] },
        starts: starts([5, 3, 10]),
        other_starts: starts([3, 2, 10]),
        class_starts: starts([3, 1, 10]),
    };
    let more = "; the other parts take private servers without duet=, rate= and workload=";
    let parts = keys::chosen(&of.parts, parts(setting, &extent), |part| part.name.as_str(), more)?;
    published::plan(NAME, of.seed, parts, setting)
}

/// Private servers unless others are named.
const SERVERS: usize = 2;

/// Servers in their order.
fn targets(session: &Session, urls: &[String], resets: &[String]) -> Result<Vec<TargetRecord>> {
    if let Some(stranger) = resets.iter().find(|text| !urls.iter().any(|url| is_of(text, url))) {
        return Err(anyhow!("reset={stranger:?} belongs to none of the servers"))
            .hint("it begins with a URL as url= has it, followed by = and the command");
    }
    let private = vec![PRIVATE.to_owned(); SERVERS];
    let urls = if urls.is_empty() { &private } else { urls };
    let mut found = Vec::new();
    for (at, url) in urls.iter().enumerate() {
        if url != PRIVATE {
            check(session, url)?;
        }
        let reset = reset_of(resets, url)?;
        found.push(TargetRecord { name: format!("t{}", at + 1), url: url.clone(), reset });
    }
    Ok(found)
}

/// A server that is not there, or a password that would be kept, is told before anything starts.
fn check(session: &Session, text: &str) -> Result<()> {
    if let Some((name, _)) = place::named(text, "") {
        let found = sandbox::find(&session.home, name);
        found.map(drop).with_context(|| format!("looking for sandbox {name}"))?;
        return Ok(());
    }
    Target::parse(text)?;
    let without = without_password(text);
    if without != *text {
        return Err(anyhow!("the URL of {without} has a password in it, which the study would keep"))
            .hint("give it by EVENKEEL_PASSWORD, or by ?defaults-file=FILE in the URL");
    }
    Ok(())
}

/// Refuses a workload of the user's own that writes or locks on servers that may have other users, unless that is allowed.
fn check_writes(session: &Session, urls: &[String], workload: &str, is_allowed: bool) -> Result<()> {
    for url in urls.iter().filter(|url| place::is_of_others(url) && !is_allowed) {
        let target = place::target(session, url, workload)?;
        let asked = (url.as_str(), workload, is_allowed);
        let workload = place::remote_workload(session, workload, &target)?;
        place::check_writes(session, asked, &target, workload.as_ref())?;
    }
    Ok(())
}

/// Whether a reset is that of this server.
fn is_of(reset: &str, url: &str) -> bool {
    reset.strip_prefix(url).is_some_and(|rest| rest.starts_with('='))
}

/// The command behind a server's URL.
fn reset_of(resets: &[String], url: &str) -> Result<Option<String>> {
    let own: Vec<&String> = resets.iter().filter(|reset| is_of(reset, url)).collect();
    match own.as_slice() {
        [] => Ok(None),
        _ if url.starts_with("sandbox:") => bail!("reset= for {url}: sandboxes are restarted anyway"),
        [one] if !one[url.len() + 1..].trim().is_empty() => Ok(Some(one[url.len() + 1..].to_owned())),
        [_] => Err(anyhow!("reset= for {url} has no command")).hint("write it as reset='URL=COMMAND'"),
        _ => Err(anyhow!("there are several reset= for {url}")).hint("give one command for each server"),
    }
}
