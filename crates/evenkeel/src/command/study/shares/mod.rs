//! `evenkeel study shares`: the published experiments of hosts that share storage, made again on the virtual clock, or in
//! real time with a process for each host, and fio or two databases as the clients.

mod databases;

use crate::command::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::study::published::{self, Show};
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::share::experiment::{Experiment, published as experiments};
use evenkeel_study::databases::needs;
use evenkeel_study::shares::{self, PUBLISHED_S, Setting, fio};
use std::path::PathBuf;
use std::process::ExitCode;

/// In real time a window is set so often unless said otherwise: a quarter of the published one, so that two hours become half
/// an hour.
const LIVE_S: f64 = 0.5;

/// Flags of `evenkeel study shares`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study shares
  evenkeel study shares --period 500ms --seed 7 --out shares.html
  evenkeel study shares --live
  evenkeel study shares --live --experiments table-3,figure-8 --json
  evenkeel study shares --resume last
  evenkeel study shares --databases --rounds 3

Without --live everything is simulated, and this machine has no influence on the figures. With
--live each host is a process, `evenkeel share disk`, with fio as its clients, and all use one
simulated array. Periods and all times are a quarter of the published ones, unless --period is
given: half an hour for all.

With --databases it repeats table 7 of the publication: two MariaDB servers with a DVD Store each,
on mounted disks of two hosts over one simulated array, shares 1 and 4, threshold 15 ms. Their redo
logs are on a second array without limits. Clients order without think time: uncontrolled (each
window fixed at its maximum), by the published law, and by ours. Each way starts from a copy of the
same data. A round takes 8 minutes, --quick two in all. It needs root, /dev/fuse, loop devices and
mariadbd. Ctrl-C stops everything and keeps finished runs; --databases --resume last continues.")]
pub struct Args {
    /// Seed of the array and the clients
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Time from one window to the next [default: 2s, live or with databases 500ms]
    #[arg(long, value_name = "TIME")]
    period: Option<String>,
    /// In real time, with fio as the clients
    #[arg(long)]
    live: bool,
    /// Only these experiments, by name
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    experiments: Vec<String>,
    /// Results as JSON
    #[arg(long)]
    json: bool,
    /// Continue a stopped study: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY")]
    resume: Option<String>,
    /// Where to write the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    databases: databases::Flags,
}

/// Makes the study, or goes on with one, and says where the page is.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    if args.databases.databases {
        return with_databases(session, args, &show);
    }
    if let Some(name) = &args.resume {
        return published::resume(session, shares::NAME, name, &show);
    }
    let setting = setting(args)?;
    let parts = shares::parts(&chosen(args)?, setting);
    if args.live {
        fio::check()?;
    }
    published::start(session, &published::plan(shares::NAME, args.seed, parts, &setting)?, &show)
}

fn with_databases(session: &Session, args: &Args, show: &Show<'_>) -> Result<ExitCode> {
    if let Some(name) = &args.resume {
        return published::resume(session, evenkeel_study::databases::NAME, name, show);
    }
    needs::check()?;
    let (setting, parts) = args.databases.setting(args.period.as_deref())?;
    let plan = published::plan(evenkeel_study::databases::NAME, args.seed, parts, &setting)?;
    published::start(session, &plan, show)
}

fn setting(args: &Args) -> Result<Setting> {
    let period_s = match &args.period {
        Some(text) => units::duration(text).context("--period")?.as_secs_f64(),
        None if args.live => LIVE_S,
        None => PUBLISHED_S,
    };
    let least_s = if args.live { 0.2 } else { 0.05 };
    if !(least_s..=10.0).contains(&period_s) {
        bail!("--period must be between {:.0}ms and 10s, and is {period_s} s", 1e3 * least_s);
    }
    Ok(Setting { period_s, live: args.live })
}

/// The experiments asked for.
fn chosen(args: &Args) -> Result<Vec<Experiment>> {
    let all = experiments();
    let names: Vec<&str> = all.iter().map(|experiment| experiment.name).collect();
    if let Some(unknown) = args.experiments.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(anyhow!("there is no experiment {unknown:?}"))
            .hint(format!("they are {}", names.join(", ")));
    }
    let asked = |experiment: &Experiment| {
        args.experiments.is_empty() || args.experiments.iter().any(|name| name == experiment.name)
    };
    Ok(all.into_iter().filter(asked).collect())
}
