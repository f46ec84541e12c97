//! `evenkeel study shares`: the published experiments of hosts that share storage, made again on the virtual clock.

use crate::clock::unix_time;
use crate::command::Session;
use crate::command::simulate::shares::{HEADER, as_json, as_text};
use crate::config::units;
use crate::report::shares::{Made, Setting, Study, html};
use crate::{format, out};
use anyhow::{Context, Result, bail};
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{Experiment, Way, judge, published};
use evenkeel_core::share::simulation::run as simulate;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `evenkeel study shares`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study shares
  evenkeel study shares --period 500ms --seed 7 --out shares.html

Nothing of this machine is in the figures. `bench/realtime` makes some of the experiments in real time, with fio as the
clients of `evenkeel share disk`.")]
pub struct Args {
    /// Seed of the array and the clients
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// From one window to the next
    #[arg(long, value_name = "TIME", default_value = "2s")]
    period: String,
    /// Print a line of JSON for each experiment and way
    #[arg(long)]
    json: bool,
    /// Where to write the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Makes the study and says where the page is.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let period_s = units::duration(&args.period).context("--period")?.as_secs_f64();
    if !(0.05..=10.0).contains(&period_s) {
        bail!("--period must be between 50ms and 10s, and is {period_s} s");
    }
    let setting = Setting { seed: args.seed, period_s };
    if !args.json {
        out::write(HEADER)?;
    }
    let mut studies = Vec::new();
    for experiment in published() {
        studies.push(make(session, args, setting, experiment)?);
    }
    let now = unix_time().as_secs();
    let id = format!("shares-{}-{:04x}", format::stamp(now), std::process::id() & 0xffff);
    let folder = session.home.join("studies").join(&id);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    write(&folder.join("periods.csv"), &periods(&studies))?;
    let page = args.out.clone().unwrap_or_else(|| folder.join("report.html"));
    write(&page, &html(&id, setting, &studies))?;
    if !session.quiet && !args.json {
        out::line(format!(
            "\nreport: {}\nevery period: {}",
            page.display(),
            folder.join("periods.csv").display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn make(session: &Session, args: &Args, setting: Setting, experiment: Experiment) -> Result<Study> {
    let mut made = Vec::new();
    for way in Way::ALL {
        if session.stop.is_set() {
            bail!("stopped before {} under {}", experiment.name, way.name());
        }
        let trace = simulate(&experiment.scenario(way, setting.period_s, Seed(setting.seed)));
        let outcome = judge(&experiment, &trace);
        out::write(&match args.json {
            true => format!("{}\n", as_json(&experiment, way, &outcome, None)),
            false => as_text(&experiment, way, &outcome, None),
        })?;
        made.push(Made { way, trace, outcome });
    }
    Ok(Study { experiment, made })
}

/// Every period of every host.
fn periods(studies: &[Study]) -> String {
    let mut text =
        String::from("experiment,way,at_s,host,window,outstanding,completions,latency_s,cost_per_s\n");
    for study in studies {
        for made in &study.made {
            for row in &made.trace.rows {
                let latency = row.latency_s.map_or_else(String::new, |seconds| format!("{seconds:.6}"));
                let _ = writeln!(
                    text,
                    "{},{},{:.3},{},{:.3},{:.3},{},{latency},{:.1}",
                    study.experiment.name,
                    made.way.name(),
                    row.at_s,
                    row.host + 1,
                    row.window,
                    row.outstanding,
                    row.completions,
                    row.cost_per_s
                );
            }
        }
    }
    text
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
