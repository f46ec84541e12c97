//! `evenkeel share array`: the file of a simulated array.

use crate::config::units;
use crate::out;
use anyhow::{Context, Result, bail};
use evenkeel_core::share::{ArrayPlan, Cache, Cost, Service};
use evenkeel_share::backing::simulated;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel share array`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel share array test.sim                                   ten spindles of 2.9 ms, as in the published evaluation
  evenkeel share array ssd.sim --spindles 32 --service 120us --spread exponential
  evenkeel share array raid5.sim --write-cost 4 --cache 200us,100ms,1ms

All disks that name the file (`simulated = \"test.sim\"`) share this array: their I/Os queue behind each other. The file holds only \
the time until which each spindle is busy; the data of a disk is in its own backing.")]
pub struct ArrayArgs {
    /// The file to make
    file: PathBuf,
    /// Number of its spindles
    #[arg(long, value_name = "N", default_value_t = 10)]
    spindles: usize,
    /// Mean time that a spindle takes for a read of 16 KB
    #[arg(long, value_name = "TIME", default_value = "2.9ms")]
    service: String,
    /// Spread of service times: `exponential`, or the largest deviation as a share of the mean, 0 to 1
    #[arg(long, value_name = "SPREAD", default_value = "0.6")]
    spread: String,
    /// Cost of 256 KB, if 16 KB cost 1
    #[arg(long, value_name = "COST", default_value_t = 1.4)]
    large_cost: f64,
    /// Cost of a write, if a read costs 1
    #[arg(long, value_name = "COST", default_value_t = 1.0)]
    write_cost: f64,
    /// Write cache: time of an answer, largest backlog of a spindle, time of a flush
    #[arg(long, value_name = "TIME,TIME,TIME")]
    cache: Option<String>,
}

/// Makes the file.
pub fn run(args: &ArrayArgs) -> Result<ExitCode> {
    let mean_s = units::duration(&args.service).context("--service")?.as_secs_f64();
    let service = match args.spread.as_str() {
        "exponential" => Service::Exponential,
        text => Service::Uniform(text.parse().with_context(|| format!("--spread {text:?} is not a number"))?),
    };
    let per_byte = (args.large_cost - 1.0) / f64::from((256 - 16) * 1_024);
    let cache = args.cache.as_deref().map(cache).transpose()?;
    let plan = ArrayPlan {
        spindles: args.spindles,
        mean_s,
        service,
        cost: Cost { per_byte, write: args.write_cost },
        cache,
    };
    if args.file.symlink_metadata().is_ok() {
        bail!("{} is there already; remove it first", args.file.display());
    }
    simulated::create(&args.file, &plan)?;
    let most = args.spindles as f64 / mean_s;
    out::line(format!(
        "{}: {} spindles, at most {most:.0} reads of 16 KB per second",
        args.file.display(),
        args.spindles
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn cache(text: &str) -> Result<Cache> {
    let times: Vec<f64> = text
        .split(',')
        .map(|time| Ok(units::duration(time)?.as_secs_f64()))
        .collect::<Result<_>>()
        .with_context(|| format!("--cache {text:?}"))?;
    let &[answer_s, behind_s, flush_s] = times.as_slice() else {
        bail!("--cache {text:?} must be three times: of an answer, behind, of a flush");
    };
    Ok(Cache { answer_s, behind_s, flush_s })
}
