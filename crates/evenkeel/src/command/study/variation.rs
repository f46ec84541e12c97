//! `evenkeel study variation`: its flags, and the plan that they make.

mod servers;

use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::study::published::{self, Show};
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use evenkeel_lab::data::Via;
use evenkeel_sense::Machine;
use evenkeel_study::harness::{Part, Plan};
use evenkeel_study::variation::parts::{COMPLEX_STATEMENT, Extent, parts};
use evenkeel_study::variation::record::{DataRecord, MachineRecord, Setting};
use evenkeel_study::variation::{NAME, time};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel study variation`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study variation --quick
      two private servers, all parts of the published study roughly, within 15 minutes on two cores
  evenkeel study variation
  evenkeel study variation --full
      20 runs of 180 s at each rate; how many hours that is stands in the first line
  evenkeel study variation sandbox:a sandbox:b --duet --rate 50 --starts 5 --runs 2 --duration 5s
      two servers get the same arrivals at the same instants: why do they differ?
  evenkeel study variation mysql://bench@db1/tpcw mysql://bench@db2/tpcw --rate 20,40 \\
      --reset 'mysql://bench@db1/tpcw=ssh db1 systemctl restart mariadb' \\
      --reset 'mysql://bench@db2/tpcw=ssh db2 systemctl restart mariadb'
  evenkeel study variation --factor start=plain,no-aslr --parts rates
      does it matter where the server's memory lies?
  evenkeel study variation --resume last

Servers that should be alike are started several times, each start has several runs, and what differs is parted into servers, \
starts, runs and requests, each with its interval. Then each suspect (network, disk, layout, plan, start, stolen CPU time, \
neighbours) is the cause, not the cause, or undecided, with one sentence of evidence. Without URL private servers are started.

Exit codes: 0 done; 2 wrong use, no server, servers that are not alike, or one that died; 130, 143 stopped by Ctrl-C, SIGTERM, and \
what is finished is kept (go on by --resume).")]
pub struct Args {
    /// Servers, as mysql://user@host:port/database or sandbox:NAME; the password comes from EVENKEEL_PASSWORD or ?defaults-file=
    #[arg(value_name = "URL")]
    targets: Vec<String>,
    /// Private servers, where no URL is given
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    servers: u32,
    /// A rough look within 15 minutes: runs of 3 s, three starts of two runs
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The published size: 20 runs of 180 s at ten rates
    #[arg(long)]
    full: bool,
    /// TPC-W statement or mix that the first part asks
    #[arg(long, short, value_name = "NAME", default_value = COMPLEX_STATEMENT)]
    workload: String,
    /// Arrival rates per second of the first part, which is then the only one [default: --load]
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', conflicts_with = "load", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Vec<u32>,
    /// Rates in percent of what a first look says that a server carries [default: 30,60,85; --full: 10 to 100 by 10]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=200))]
    load: Vec<u32>,
    /// Starts of each server [default: 5, of parts but the first 3; --quick: 3 and 2; --full: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    starts: Option<u32>,
    /// Runs of each start
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Measured time of a run [default: 10s; --quick: 3s; --full: 180s]
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Load before measuring begins [default: 2s; --quick: 1s; --full: 10s]
    #[arg(long, value_name = "TIME")]
    warm_up: Option<String>,
    /// Age at which a request is given up; it then counts with the age it reached
    #[arg(long, value_name = "TIME", default_value = "10s")]
    timeout: String,
    /// All servers get the same arrivals at the same instants: what the machine does meanwhile reaches all of them alike
    #[arg(long)]
    duet: bool,
    /// How a server of yours is started anew: its URL, =, and a shell command. EVENKEEL_TARGET and EVENKEEL_URL (without password) in its
    /// environment say which. Kept with the study, so name no password in it
    #[arg(long, value_name = "URL=COMMAND")]
    reset: Vec<String>,
    /// A further factor of private servers: start=plain,no-aslr,huge-pages
    #[arg(long, value_name = "NAME=LEVELS")]
    factor: Vec<String>,
    /// Measure servers all the same that differ in settings or data
    #[arg(long)]
    may_differ: bool,
    /// Only these parts: rates, layout, pool, simple, write
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// Buffer pool of private servers, percent of the tables that the statement asks
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0)]
    pool: f64,
    /// How rows come into private servers: insert, script, aged, shuffled, load, dump
    #[arg(long, value_name = "WAY", default_value = "script")]
    via: Via,
    /// TPC-W NUM_EBS of private servers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    ebs: u32,
    /// TPC-W NUM_ITEMS of private servers
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    items: u32,
    /// A setting of private servers, for example innodb_flush_method=fsync
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// CPUs of private servers [default: all but the last; with --duet: all]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// CPUs for the load threads [default with private servers: the last one; with --duet: any]
    #[arg(long, value_name = "LIST")]
    generator_cpus: Option<String>,
    /// Seed of arrivals, parameters, order and data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The server's program [default: mariadbd in PATH and the usual places]
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// File for the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Go on with a stopped study: its folder, its name or the start of it, or `last`; other flags are not looked at
    #[arg(long, value_name = "STUDY")]
    resume: Option<String>,
    /// Results as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the study, or goes on with one, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    if let Some(name) = &args.resume {
        return published::resume(session, NAME, name, &show);
    }
    let setting = setting(session, args)?;
    let plan = plan(args, &setting)?;
    if !session.quiet {
        out::tell(&before(&plan, &setting));
    }
    published::start(session, &plan, &show)
}

fn setting(session: &Session, args: &Args) -> Result<Setting> {
    crate::server::place::check_workload(&args.workload)?;
    let targets = servers::targets(session, args)?;
    if args.duet && targets.len() < 2 {
        return Err(anyhow!("--duet asks several servers at once, and there is one"))
            .hint("name a second one, or leave --duet out");
    }
    let machine = Machine::read(None);
    Ok(Setting {
        targets,
        workload: args.workload.clone(),
        runs_of_start: args.runs,
        warm_up_s: seconds(args.warm_up.as_deref(), "--warm-up", (args, [2.0, 1.0, 10.0]), 0.0)?,
        duration_s: seconds(args.duration.as_deref(), "--duration", (args, [10.0, 3.0, 180.0]), 1.0)?,
        timeout_s: units::positive(&args.timeout, "--timeout")?.as_secs_f64(),
        duet: args.duet,
        data: DataRecord {
            ebs: args.ebs,
            items: args.items,
            seed: args.seed,
            via: args.via.name().to_owned(),
        },
        pool_percent: servers::pool(args)?,
        settings: servers::settings(args)?,
        server_cpus: servers::server_cpus(args)?,
        generator_cpus: servers::generator_cpus(args)?,
        may_differ: args.may_differ,
        machine: MachineRecord {
            processor: machine.processor.model,
            cpus: machine.cpus.as_ref().map(ToString::to_string),
            hypervisor: machine.hypervisor.name,
            server_binary: args.server_binary.as_ref().map(|path| path.display().to_string()),
        },
    })
}

/// A time by its flag, or what holds without it: usually, with --quick, with --full.
fn seconds(text: Option<&str>, flag: &str, (args, usual): (&Args, [f64; 3]), least: f64) -> Result<f64> {
    let Some(text) = text else { return Ok(by_extent(args, usual)) };
    let seconds = units::duration(text).with_context(|| format!("reading {flag}"))?.as_secs_f64();
    if seconds < least {
        return Err(anyhow!("{flag} {text} is too short to see anything")).hint("give it a second or more");
    }
    Ok(seconds)
}

fn by_extent<T: Copy>(args: &Args, [usual, quick, full]: [T; 3]) -> T {
    match (args.quick, args.full) {
        (true, _) => quick,
        (_, true) => full,
        _ => usual,
    }
}

fn plan(args: &Args, setting: &Setting) -> Result<Plan> {
    let ten: Vec<u32> = (1..=10).map(|tenth| 10 * tenth).collect();
    let mut levels = match (args.rate.as_slice(), args.load.as_slice()) {
        ([_, ..], _) => args.rate.clone(),
        (_, [_, ..]) => args.load.clone(),
        _ if args.full => ten,
        _ => vec![30, 60, 85],
    };
    levels.sort_unstable();
    levels.dedup();
    let extent = Extent {
        levels,
        are_rates: !args.rate.is_empty(),
        others: if args.quick { vec![30, 60] } else { vec![20, 50, 80] },
        storage: if args.quick { vec![60] } else { vec![20, 50, 80] },
        pools: if args.quick { vec![20, 60, 100] } else { vec![20, 40, 60, 80, 100] },
        starts: args.starts.unwrap_or_else(|| by_extent(args, [5, 3, 10])),
        other_starts: args.starts.unwrap_or_else(|| by_extent(args, [3, 2, 10])),
    };
    published::plan(NAME, args.seed, chosen(&args.parts, parts(setting, &extent))?, setting)
}

/// The parts asked for.
fn chosen(asked: &[String], all: Vec<Part>) -> Result<Vec<Part>> {
    let names: Vec<&str> = all.iter().map(|part| part.name.as_str()).collect();
    if let Some(unknown) = asked.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(anyhow!("there is no part {unknown:?} here")).hint(format!(
            "there is {}; the other parts take private servers without --duet, --rate and --workload",
            names.join(", ")
        ));
    }
    Ok(all.into_iter().filter(|part| asked.is_empty() || asked.contains(&part.name)).collect())
}

/// How much it will be, and how long it will take.
fn before(plan: &Plan, setting: &Setting) -> String {
    let runs: usize = plan.parts.iter().map(Part::runs).sum();
    let whole_s = time::whole_s(setting, &plan.parts);
    let lasts = match whole_s {
        short if short < 5_400.0 => format!("{:.0} minutes", (short / 60.0).max(1.0).ceil()),
        long => format!("{:.0} hours", (long / 3_600.0).ceil()),
    };
    format!(
        "{} on {}: about {lasts}\n",
        format::counted(runs, "run"),
        format::counted(setting.targets.len(), "server")
    )
}

#[cfg(test)]
mod tests;
