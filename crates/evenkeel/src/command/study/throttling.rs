//! `evenkeel study throttling`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::config::units;
use crate::profile::flags::split_cpus;
use crate::study::published;
use anyhow::Result;
use clap::value_parser;
use evenkeel_study::harness::Plan;
use evenkeel_study::throttling::parts;
use evenkeel_study::throttling::parts::{CLIENTS_MAX, Sweep};
use evenkeel_study::throttling::record::{
    Load, MachineRecord, Second, Setting, Settle, StepPlan, Times, Treatment,
};
pub use evenkeel_study::throttling::{NAME, QUESTION};
use std::path::PathBuf;

/// The shopping mix of TPC-W without think time on a private server, for each number of clients: without control, through
/// a guard that never limits, with the published controller and with ours.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study throttling --quick
      nine minutes, and up to a minute more for each of 18 points of the published controller
  evenkeel study throttling clients=1,4,16,64,256 duration=30s --repeats 5")]
pub struct Settings {
    /// Numbers of clients [default: 1,2,4,8,16,32,64,128,256; --quick: 1,4,32,256]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value_parser!(u32).range(1..=i64::from(CLIENTS_MAX)))]
    clients: Vec<u32>,
    /// What is between clients and server: direct (nothing), unlimited (a guard that never limits: the cost of the proxy
    /// alone), reflection (a guard with the published controller), evenkeel (a guard with ours) [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    ways: Vec<String>,
    /// Measured time of a point [default: 20s; --quick: 2s]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    duration: Option<f64>,
    /// Load before measuring begins [default: 20s; --quick: 3s, and 8s for the second workload]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    warm_up: Option<f64>,
    /// Time over which the published controller averages. Its point is measured after its limit has not moved for this time, or
    /// after ten times as long [default: 60s, as published; --quick: 6s, with a controller that is faster by as much]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    span: Option<f64>,
    /// Time after the step in the number of clients [default: 120s; --quick: 10s]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    step: Option<f64>,
    /// Whether to measure a second workload, whose cache misses grow without lock waits: auto (if the shopping mix does not
    /// lose 10 % of its throughput), always, never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = when)]
    second: Second,
    /// CPUs of the server; clients and guard have the last one [default: all but the last]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// The server's program [default: mariadbd in PATH and the usual places]
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// Seed of order, kinds and parameters
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn when(text: &str) -> Result<Second, &'static str> {
    match text {
        "auto" => Ok(Second::Auto),
        "always" => Ok(Second::Always),
        "never" => Ok(Second::Never),
        _ => Err("it is auto, always or never"),
    }
}

/// The plan that the settings make.
pub fn plan(_: &Session, args: &Args) -> Result<Plan> {
    let mut of: Settings = keys::read(NAME, &args.settings)?;
    of.clients.sort_unstable();
    of.clients.dedup();
    let quick = args.quick;
    let ways = keys::chosen(&of.ways, Treatment::ALL.to_vec(), |way| way.name(), "")?;
    let span_s = of.span.unwrap_or(if quick { 6.0 } else { Settle::PUBLISHED_S });
    // Transactions of the second workload are long, and a controller learns once for some tens of them.
    let warm_ups_s = if quick { [3.0, 8.0] } else { [20.0, 20.0] };
    let [shopping, reread] = warm_ups_s.map(|warm_up_s| Times {
        warm_up_s: of.warm_up.unwrap_or(warm_up_s),
        duration_s: of.duration.unwrap_or(if quick { 2.0 } else { 20.0 }),
    });
    let (others, last) = split_cpus();
    let server = of.cpus.as_deref().map(|text| units::machine_cpus(text, "cpus=")).transpose()?;
    let setting = Setting {
        ebs: if quick { 1 } else { 10 },
        items: if quick { 1_000 } else { 10_000 },
        settle: Settle::of_span(span_s),
        shopping,
        reread,
        second: of.second,
        step: step(&of, quick),
        server_cpus: server.unwrap_or(others).to_string(),
        generator_cpus: last.to_string(),
        machine: MachineRecord::here(of.server_binary.as_deref()),
    };
    let steps = args.repeats.unwrap_or(if quick { 1 } else { 3 });
    // The step is watched on the data of the shopping mix, and comes before the second workload takes its place.
    let parts = vec![
        parts::of_load(Load::Shopping, &sweep(args, &of, Load::Shopping, &ways)),
        parts::of_step(&setting, &ways, steps),
        parts::of_load(Load::Reread, &sweep(args, &of, Load::Reread, &ways)),
    ];
    published::plan(NAME, of.seed, parts, &setting)
}

/// More transactions than this would need minutes of their own: each reads megabytes from the disk.
const REREAD_MAX: u32 = 64;

fn sweep(args: &Args, of: &Settings, load: Load, ways: &[Treatment]) -> Sweep {
    let (counts, repeats): (&[u32], u32) = match (load, args.quick) {
        (Load::Shopping, true) => (&[1, 4, 32, 256], 3),
        (Load::Shopping, false) => (&[1, 2, 4, 8, 16, 32, 64, 128, 256], 5),
        (Load::Reread, true) => (&[1, 4, 32], 2),
        (Load::Reread, false) => (&[1, 2, 4, 8, 16, 32, 64], 5),
    };
    let mut clients = match (load, of.clients.as_slice()) {
        (_, []) => counts.to_vec(),
        (Load::Shopping, asked) => asked.to_vec(),
        (Load::Reread, asked) => vec![asked[0], asked[asked.len() - 1].min(REREAD_MAX)],
    };
    clients.dedup();
    let mut ways = ways.to_vec();
    if load == Load::Reread && args.quick {
        // The price of the hop is known by then.
        ways.retain(|way| *way != Treatment::Unlimited);
    }
    Sweep { clients, ways, repeats: args.repeats.unwrap_or(repeats) }
}

fn step(of: &Settings, quick: bool) -> StepPlan {
    let high = of.clients.last().copied().unwrap_or(256);
    let after_s = of.step.unwrap_or(if quick { 10.0 } else { 120.0 });
    StepPlan { clients: (4.min(high), high), before_s: (after_s / 3.0).min(20.0).floor().max(1.0), after_s }
}
