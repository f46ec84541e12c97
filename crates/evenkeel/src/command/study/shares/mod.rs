//! `evenkeel study shares`: the published experiments of hosts that share storage, made again on the virtual clock, or in
//! real time with a process for each host, and fio or two databases as the clients.

mod databases;
mod fio;
mod live;

use crate::clock::unix_time;
use crate::command::simulate::shares::{HEADER, as_json, as_text};
use crate::command::{Session, profile};
use crate::config::units;
use crate::failure::{Stopped, WithHint};
use crate::progress::{Mode, ProgressEvent, View};
use crate::report::shares::{Made, Setting, Study, html};
use crate::{format, out};
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{Experiment, Way, judge, published};
use evenkeel_core::share::simulation::{Trace, run as simulate};
use live::Live;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Seconds between two windows in the published experiments.
const PUBLISHED_S: f64 = 2.0;
/// And in real time unless said otherwise: a quarter of it, so that two hours become half an hour.
const LIVE_S: f64 = 0.5;

/// Flags of `evenkeel study shares`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study shares
  evenkeel study shares --period 500ms --seed 7 --out shares.html
  evenkeel study shares --live
  evenkeel study shares --live --experiments table-3,figure-8 --json
  evenkeel study shares --databases --rounds 3

Without --live nothing of this machine is in the figures. With it every host is a process,
`evenkeel share disk`, and its clients are fio; they meet in one simulated array. A period takes a
quarter of the published one unless --period says otherwise, and all times with it, so that there
are as many periods: half an hour for all.

With --databases it is the publication's table 7: two MariaDBs with a DVD Store each, on mounted
disks of two hosts over one simulated array, shares 1 and 4, threshold 15 ms; their redo logs on a
second array that nothing bounds. Clients order as fast as they are answered: uncontrolled (each
window fixed at the most), by the published law, and by ours. Each way starts from a copy of the
same data. 8 minutes a round, --quick two in all. Needs root, /dev/fuse, loop devices and mariadbd.
Ctrl-C takes all down and keeps the runs that are made.")]
pub struct Args {
    /// Seed of the array and the clients
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// From one window to the next [default: 2s, live or with databases 500ms]
    #[arg(long, value_name = "TIME")]
    period: Option<String>,
    /// In real time, with fio as the clients
    #[arg(long)]
    live: bool,
    /// Only these, by their names
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    experiments: Vec<String>,
    /// Print a line of JSON for each experiment and way, or each run
    #[arg(long)]
    json: bool,
    /// Where to write the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    databases: databases::Flags,
}

/// Makes the study and says where the page is.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.databases.databases {
        return databases::run(session, args);
    }
    let setting = setting(args)?;
    let experiments = chosen(args, setting)?;
    if args.live {
        fio::check()?;
    }
    if !args.json {
        out::write(HEADER)?;
    }
    let id = format!("shares-{}-{:04x}", format::stamp(unix_time().as_secs()), std::process::id() & 0xffff);
    let folder = session.home.join("studies").join(&id);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let page = args.out.clone().unwrap_or_else(|| folder.join("report.html"));
    let mode = if args.json { Mode::Quiet } else { profile::mode(session, false) };
    let mut work = Work { session, args, setting, folder: &folder, view: View::new(mode) };
    let mut studies = Vec::new();
    for experiment in experiments {
        let study = work.study(experiment).inspect_err(|_| {
            // Goes only where nothing is in it.
            let _ = fs::remove_dir(&folder);
        })?;
        studies.push(study);
        // What is made stays, whatever becomes of the rest.
        write(&folder.join("periods.csv"), &periods(&studies))?;
        write(&page, &html(&id, setting, &studies))?;
    }
    if !session.quiet && !args.json {
        out::line(format!(
            "\nreport: {}\nevery period: {}",
            page.display(),
            folder.join("periods.csv").display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
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
    Ok(Setting { seed: args.seed, period_s, live: args.live })
}

/// The experiments asked for; in real time as many periods as were published.
fn chosen(args: &Args, setting: Setting) -> Result<Vec<Experiment>> {
    let (all, factor) = (published(), setting.period_s / PUBLISHED_S);
    let names: Vec<&str> = all.iter().map(|experiment| experiment.name).collect();
    if let Some(unknown) = args.experiments.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(anyhow!("there is no experiment {unknown:?}"))
            .hint(format!("they are {}", names.join(", ")));
    }
    let asked = |experiment: &Experiment| {
        args.experiments.is_empty() || args.experiments.iter().any(|name| name == experiment.name)
    };
    let chosen = all.into_iter().filter(asked);
    Ok(chosen.map(|one| if args.live { one.scaled(factor) } else { one }).collect())
}

/// What every run of a study needs.
struct Work<'a> {
    session: &'a Session,
    args: &'a Args,
    setting: Setting,
    folder: &'a Path,
    view: View,
}

impl Work<'_> {
    fn study(&mut self, experiment: Experiment) -> Result<Study> {
        let mut made = Vec::new();
        for way in Way::ALL {
            if self.session.stop.is_set() {
                return Err(Stopped(format!("before {} under {}", experiment.name, way.name())).into());
            }
            let trace = self.trace(&experiment, way)?;
            let outcome = judge(&experiment, &trace);
            out::write(&match self.args.json {
                true => format!("{}\n", as_json(&experiment, way, &outcome, None)),
                false => as_text(&experiment, way, &outcome, None),
            })?;
            made.push(Made { way, trace, outcome });
        }
        Ok(Study { experiment, made })
    }

    fn trace(&mut self, experiment: &Experiment, way: Way) -> Result<Trace> {
        let Setting { seed, period_s, live } = self.setting;
        if !live {
            return Ok(simulate(&experiment.scenario(way, period_s, Seed(seed))));
        }
        let text = format!("{} under {}, {:.0} s", experiment.name, way.name(), experiment.duration_s);
        self.view.show(&ProgressEvent::Step { text });
        let folder = self.folder.join(format!("{}-{}", experiment.name, way.name()));
        Live { experiment, way, period_s, seed, folder }.run(self.session)
    }
}

/// Every period of every host.
fn periods(studies: &[Study]) -> String {
    let mut text = String::from(
        "experiment,way,at_s,host,window,outstanding,completions,latency_s,cost_per_s,wanted,beta\n",
    );
    for study in studies {
        for made in &study.made {
            for row in &made.trace.rows {
                let latency = row.latency_s.map_or_else(String::new, |seconds| format!("{seconds:.6}"));
                let _ = writeln!(
                    text,
                    "{},{},{:.3},{},{:.3},{:.3},{},{latency},{:.1},{:.3},{:.3}",
                    study.experiment.name,
                    made.way.name(),
                    row.at_s,
                    row.host + 1,
                    row.window,
                    row.outstanding,
                    row.completions,
                    row.cost_per_s,
                    row.wanted,
                    study.experiment.k * row.used
                );
            }
        }
    }
    text
}

fn write(path: &Path, text: &str) -> Result<()> {
    out::file(path, text).with_context(|| format!("writing {}", path.display()))
}
