//! `evenkeel simulate`: controllers, guarded sessions and measured cells on the virtual clock.

mod compare;
mod coverage;
mod many;
mod mix;
mod noisy;
mod plants;
mod sessions;
pub mod shares;
mod show;

use super::Session;
use crate::config::simulate::{self, Instead, ScenarioFile};
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_core::control::simulation::{Broken, Trace, simulate_with};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel simulate`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:
  evenkeel simulate examples/scenarios/*.toml            every scenario with its own controller
  evenkeel simulate collapse.toml --controller vegas --trace
  evenkeel simulate --plants 100 --seed 7                random plants from limits 1, 8 and 1,024
  evenkeel simulate --plants 100 --wobble                the same on a machine that wobbles by 16 %
  evenkeel simulate --steps --controller aimd            4 -> 512 and 512 -> 4 clients on measured curves
  evenkeel simulate --shares --mixes 100                 windows of hosts that share storage
  evenkeel simulate --mix 186 --seed 1                   one of these mixes, period by period
  evenkeel simulate --sessions 1000                      guarded sessions: what must never happen
  evenkeel simulate --sessions 1 --seed 17 --story       one of these histories, step by step
  evenkeel simulate coverage                             how often the intervals of a cell hold
  evenkeel simulate compare                              how often a comparison is wrong
  evenkeel simulate noisy                                how often the bounds of a profile hold beside a neighbour

Exit code 1 when an expectation of a scenario is broken, or something happened to a session that must not.")]
pub struct Args {
    #[command(subcommand)]
    pub what: Option<What>,
    /// Scenario files; `examples/scenarios` shows every key
    #[arg(value_name = "FILE", required_unless_present_any = ["plants", "steps", "search", "shares", "mixes", "mix", "sessions"])]
    pub files: Vec<PathBuf>,
    /// fixed, aimd, vegas, gradient2, reflection or evenkeel, in place of the scenario's own
    #[arg(long, value_name = "NAME")]
    pub controller: Option<String>,
    /// Seed of every draw, in place of the scenario's own
    #[arg(long)]
    pub seed: Option<u64>,
    /// Show every decision that changed the limit, and why
    #[arg(long)]
    pub trace: bool,
    /// Judge the controller on this many random plants
    #[arg(long, value_name = "N", conflicts_with = "files")]
    pub plants: Option<u64>,
    /// With --plants: on a machine whose speed wobbles by 16 % over 100 ms, with a memory of 0.3 s, as one that was
    /// measured; halves last until the mean of one is known to 5 %, and a plant takes half an hour of virtual time
    #[arg(long, requires = "plants")]
    pub wobble: bool,
    /// With --wobble: halves as short as on a steady machine
    #[arg(long, requires = "wobble")]
    pub short_halves: bool,
    /// Lost transactions after steps of the number of clients, on the measured curves
    #[arg(long, conflicts_with = "files")]
    pub steps: bool,
    /// With --plants or --steps: the published controllers with the parameters that --search found
    #[arg(long)]
    pub fitted: bool,
    /// Search parameters for aimd, vegas and gradient2 (minutes)
    #[arg(long, conflicts_with_all = ["files", "plants", "steps"])]
    pub search: bool,
    /// Windows of hosts that share storage: the published experiments, uncontrolled, by the published law and by ours
    #[arg(long, conflicts_with = "files")]
    pub shares: bool,
    /// How our windows do on this many random arrays and mixes of hosts
    #[arg(long, value_name = "N", conflicts_with = "files")]
    pub mixes: Option<u64>,
    /// One of them, period by period, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with = "files")]
    pub mix: Option<u64>,
    /// Plays this many histories of guarded sessions, from --seed on, up to the first that breaks a rule
    #[arg(long, value_name = "COUNT", conflicts_with = "files")]
    pub sessions: Option<u64>,
    /// With --sessions: tells what happens in them, step by step
    #[arg(long, requires = "sessions")]
    pub story: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// What is simulated besides controllers.
#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// How often the intervals of a cell hold, on queues whose figures are known
    Coverage(coverage::Args),
    /// How often the bounds of a profile hold beside a neighbour that takes CPU, on a server whose capacity is known
    Noisy(noisy::Args),
    /// How often `evenkeel compare` is wrong, and whether the runs that it asks for are enough
    Compare(compare::Args),
}

/// Runs scenarios, random plants, steps, sessions or the search.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.what {
        Some(What::Coverage(args)) => return coverage::run(session, args),
        Some(What::Noisy(args)) => return noisy::run(session, args),
        Some(What::Compare(args)) => return compare::run(session, args),
        None => {}
    }
    if args.search {
        return plants::search(args);
    }
    if args.steps {
        plants::steps(args)?;
    }
    if let Some(count) = args.plants {
        plants::judge(session, args, count)?;
    }
    shares::show(session, args)?;
    if let Some(count) = args.sessions {
        return sessions::show(session, args, count);
    }
    let mut broken = false;
    for path in &args.files {
        let instead = Instead { controller: args.controller.clone(), seed: args.seed };
        let file = simulate::load(path, &instead).hint("examples/scenarios shows every key")?;
        let played = play(&file, args.trace && !args.json);
        let text = if args.json { show::json(&file, &played)? } else { show::text(&file, &played) };
        out::write(&text)?;
        broken |= !played.broken.is_empty();
    }
    Ok(ExitCode::from(u8::from(broken)))
}

/// A scenario that was played.
pub struct Played {
    trace: Trace,
    /// Decisions that changed the limit, in words.
    decisions: Vec<String>,
    broken: Vec<Broken>,
}

fn play(file: &ScenarioFile, wants_decisions: bool) -> Played {
    let mut controller = file.controller.build();
    let mut decisions = Vec::new();
    let mut limit = file.scenario.initial_limit;
    let trace = simulate_with(&file.scenario, controller.as_mut(), |step, decision| {
        if wants_decisions && decision.limit != limit {
            decisions.push(format!("{:8.2} s  {decision}", step.end.as_secs_f64()));
        }
        limit = decision.limit;
    });
    let broken = file.expect.iter().flat_map(|expect| expect.broken_by(&trace)).collect();
    Played { trace, decisions, broken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shipped() -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios");
        let entries = std::fs::read_dir(folder).expect("shipped scenarios are there");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn shipped_scenarios_meet_their_expectations_with_several_seeds() {
        let paths = shipped();
        assert!(paths.len() >= 6, "{paths:?}");
        for path in paths {
            for seed in 1..=5 {
                let instead = Instead { controller: None, seed: Some(seed) };
                let file = simulate::load(&path, &instead).unwrap();
                assert!(!file.expect.is_empty(), "{} expects nothing", path.display());
                let broken = play(&file, false).broken;
                assert!(broken.is_empty(), "{} seed {seed}: {broken:?}", path.display());
            }
        }
    }

    #[test]
    fn a_fixed_limit_that_is_too_high_breaks_the_flash_sale() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios/flash-sale.toml");
        let instead = Instead { controller: Some("fixed".to_owned()), seed: None };
        let mut file = simulate::load(&path, &instead).unwrap();
        file.controller = file.controller.starting_at(256);
        file.scenario.initial_limit = 256;
        let played = play(&file, true);
        assert!(!played.broken.is_empty());
        assert!(show::text(&file, &played).contains("seed"));
    }
}
