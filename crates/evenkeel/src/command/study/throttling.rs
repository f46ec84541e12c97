//! `evenkeel study throttling`: its flags, and the plan that they make.

use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::server::sandbox::ServerArgs;
use crate::study::published::{self, Show};
use anyhow::{Context, Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use evenkeel_sense::{CpuSet, Domain, Machine};
use evenkeel_study::harness::{Part, Plan};
use evenkeel_study::throttling::parts::{self, CLIENTS_MAX, Sweep};
use evenkeel_study::throttling::record::{
    Load, MachineRecord, Second, Setting, Settle, StepPlan, Times, Treatment,
};
use std::path::PathBuf;
use std::process::ExitCode;

/// A value of a flag: its name, what it means, and what it is.
type Named<T> = (&'static str, &'static str, T);

const WAYS: [Named<Treatment>; 4] = [
    ("direct", "Nothing: clients at the server", Treatment::Direct),
    ("unlimited", "A guard that never limits: the cost of the proxy alone", Treatment::Unlimited),
    ("reflection", "A guard with the published controller", Treatment::Reflection),
    ("evenkeel", "A guard with our controller", Treatment::Evenkeel),
];
const SECONDS: [Named<Second>; 3] = [
    ("auto", "Only if the shopping mix does not lose 10 % of its throughput", Second::Auto),
    ("always", "Always measure it", Second::Always),
    ("never", "Never measure it", Second::Never),
];

/// Reads a value by its name, and shows all of them with what they mean in the help.
fn one_of<T: Copy + Send + Sync>(known: &'static [Named<T>]) -> impl TypedValueParser<Value = T> {
    let names = known.iter().map(|(name, words, _)| PossibleValue::new(*name).help(*words));
    let value = |name: String| known.iter().find(|known| known.0 == name).map(|known| known.2);
    PossibleValuesParser::new(names).try_map(move |name| value(name).ok_or("no such value"))
}

/// Flags of `evenkeel study throttling`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The shopping mix of TPC-W without think time on a private server, for each number of clients: without control, through \
a guard that never limits, with the published controller and with ours.")]
pub struct Args {
    /// A short version: nine minutes, and up to a minute more for each of 18 points of the published controller
    #[arg(long)]
    pub quick: bool,
    /// Numbers of clients [default: 1,2,4,8,16,32,64,128,256; --quick: 1,4,32,256]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(CLIENTS_MAX)))]
    pub clients: Vec<u32>,
    /// What is between clients and server [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = one_of(&WAYS))]
    pub ways: Vec<Treatment>,
    /// TPC-W NUM_EBS: 2,880 customers each [default: 10; --quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub ebs: Option<u32>,
    /// TPC-W NUM_ITEMS [default: 10000; --quick: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: Option<u32>,
    /// Measured time of a point [default: 20s; --quick: 2s]
    #[arg(long, short, value_name = "TIME")]
    pub duration: Option<String>,
    /// Load before measuring begins [default: 20s; --quick: 3s, and 8s for the second workload]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<String>,
    /// Time over which the published controller averages. Its point is measured after its limit has not moved for this time, or
    /// after ten times as long [default: 60s, as published; --quick: 6s, with a controller that is faster by as much]
    #[arg(long, value_name = "TIME")]
    pub span: Option<String>,
    /// Runs of each point [default: 5; --quick: 3, and 2 of the second workload]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repeats: Option<u32>,
    /// Time after the step in the number of clients [default: 120s; --quick: 10s]
    #[arg(long, value_name = "TIME")]
    pub step: Option<String>,
    /// When to measure a second workload, whose cache misses grow without lock waits
    #[arg(long, default_value = "auto", value_parser = one_of(&SECONDS))]
    pub second: Second,
    /// Seed of order, kinds and parameters
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// What the private server is like
    #[command(flatten)]
    pub server: ServerArgs,
    /// CPUs for clients and guard [default: the last one]
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// File for the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Continue a stopped study: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Results as JSON
    #[arg(long)]
    pub json: bool,
}

/// Makes the study, or goes on with one, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    match &args.resume {
        Some(name) => published::resume(session, evenkeel_study::throttling::NAME, name, &show),
        None => published::start(session, &plan(session, args)?, &show),
    }
}

/// The plan that the flags make.
///
/// # Errors
/// Names the flag and what to do.
fn plan(session: &Session, args: &Args) -> Result<Plan> {
    let mut clients = args.clients.clone();
    clients.sort_unstable();
    clients.dedup();
    let span_s = time(args.span.as_deref(), "--span", if args.quick { 6.0 } else { Settle::PUBLISHED_S })?;
    let setting = Setting {
        ebs: args.ebs.unwrap_or(if args.quick { 1 } else { 10 }),
        items: args.items.unwrap_or(if args.quick { 1_000 } else { 10_000 }),
        settle: Settle::of_span(span_s),
        shopping: times(args, Load::Shopping)?,
        reread: times(args, Load::Reread)?,
        second: args.second,
        step: step(args, &clients)?,
        place: place(session, args)?,
    };
    let parts = parts(args, &setting, &clients);
    published::plan(evenkeel_study::throttling::NAME, args.seed, parts, &setting)
}

/// The step is watched on the data of the shopping mix, and comes before the second workload takes its place.
fn parts(args: &Args, setting: &Setting, clients: &[u32]) -> Vec<Part> {
    let steps = args.repeats.unwrap_or(if args.quick { 1 } else { 3 });
    vec![
        parts::of_load(Load::Shopping, &sweep(args, Load::Shopping, clients)),
        parts::of_step(setting, &ways(args), steps),
        parts::of_load(Load::Reread, &sweep(args, Load::Reread, clients)),
    ]
}

fn ways(args: &Args) -> Vec<Treatment> {
    if args.ways.is_empty() { Treatment::ALL.to_vec() } else { args.ways.clone() }
}

/// More transactions than this would need minutes of their own: each reads megabytes from the disk.
const REREAD_MAX: u32 = 64;

fn sweep(args: &Args, load: Load, clients: &[u32]) -> Sweep {
    let counts: &[u32] = match (clients, load, args.quick) {
        ([_, ..], Load::Shopping, _) => clients,
        ([_, ..], Load::Reread, _) => &[clients[0], clients[clients.len() - 1].min(REREAD_MAX)],
        (_, Load::Shopping, true) => &[1, 4, 32, 256],
        (_, Load::Shopping, false) => &[1, 2, 4, 8, 16, 32, 64, 128, 256],
        (_, Load::Reread, true) => &[1, 4, 32],
        (_, Load::Reread, false) => &[1, 2, 4, 8, 16, 32, 64],
    };
    let mut ways = ways(args);
    if load == Load::Reread && args.quick {
        // The price of the hop is known by then.
        ways.retain(|way| *way != Treatment::Unlimited);
    }
    let mut clients = counts.to_vec();
    clients.dedup();
    let repeats = match (load, args.quick) {
        (_, false) => 5,
        (Load::Shopping, true) => 3,
        (Load::Reread, true) => 2,
    };
    Sweep { clients, ways, repeats: args.repeats.unwrap_or(repeats) }
}

/// Transactions of the second workload are long, and a controller learns once for some tens of them.
fn times(args: &Args, load: Load) -> Result<Times> {
    let warm_up_s = match (load, args.quick) {
        (_, false) => 20.0,
        (Load::Shopping, true) => 3.0,
        (Load::Reread, true) => 8.0,
    };
    Ok(Times {
        warm_up_s: time(args.warm_up.as_deref(), "--warm-up", warm_up_s)?,
        duration_s: time(args.duration.as_deref(), "--duration", if args.quick { 2.0 } else { 20.0 })?,
    })
}

fn step(args: &Args, clients: &[u32]) -> Result<StepPlan> {
    let high = clients.last().copied().unwrap_or(256);
    let after_s = time(args.step.as_deref(), "--step", if args.quick { 10.0 } else { 120.0 })?;
    Ok(StepPlan {
        clients: (4.min(high), high),
        before_s: (after_s / 3.0).min(20.0).floor().max(1.0),
        after_s,
    })
}

fn time(text: Option<&str>, flag: &str, default_s: f64) -> Result<f64> {
    let Some(text) = text else { return Ok(default_s) };
    let seconds = units::duration(text).with_context(|| format!("reading {flag}"))?.as_secs_f64();
    if seconds < 0.5 {
        return Err(anyhow!("{flag} {text} is too short to see anything")).hint("give it a second or more");
    }
    Ok(seconds)
}

fn place(session: &Session, args: &Args) -> Result<MachineRecord> {
    let own: Vec<u32> = Domain::Process(std::process::id()).cpus().iter().flat_map(CpuSet::iter).collect();
    let own = if own.is_empty() { vec![0] } else { own };
    let others: CpuSet = own[..(own.len() - 1).max(1)].iter().copied().collect();
    let last: CpuSet = own.last().copied().into_iter().collect();
    // Read once to refuse what is wrong before anything starts.
    let spec = crate::server::sandbox::spec(session, &args.server, "unused".to_owned())?;
    let generator = args
        .generator_cpus
        .as_deref()
        .map(|text| units::machine_cpus(text, "--generator-cpus"))
        .transpose()?;
    let machine = Machine::read(None);
    Ok(MachineRecord {
        processor: machine.processor.model,
        cpus: machine.cpus.as_ref().map(ToString::to_string),
        server_cpus: spec.cpus.unwrap_or(others).to_string(),
        generator_cpus: generator.unwrap_or(last).to_string(),
        hypervisor: machine.hypervisor.name,
        settings: spec.settings.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        server_binary: args.server.server_binary.as_ref().map(|path| path.display().to_string()),
        memory_bytes: spec.memory,
    })
}
