//! Flags of `evenkeel simulate`.

use super::{compare, components, coverage, noisy, size};
use std::path::PathBuf;

/// Flags of `evenkeel simulate`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:
  evenkeel simulate examples/scenarios/*.toml            every scenario with its own controller
  evenkeel simulate examples/scenarios/flash-sale.toml --controller fixed --trace
  evenkeel simulate --plants 100 --seed 7                random plants from limits 1, 8 and 1,024
  evenkeel simulate --plants 100 --wobble                the same on a machine that wobbles by 16 %
  evenkeel simulate --steps --controller fixed           4 -> 512 clients and back, measured curves
  evenkeel simulate --shares --mixes 100                 windows of hosts that share storage
  evenkeel simulate --mix 186 --seed 1                   one of these mixes, period by period
  evenkeel simulate --sessions 1000                      guarded sessions: what must never happen
  evenkeel simulate --sessions 1 --seed 17 --story       one of these histories, step by step
  evenkeel simulate coverage                             how often the intervals of a cell hold
  evenkeel simulate compare                              how often a comparison is wrong
  evenkeel simulate noisy                                how often the bounds of a profile hold
  evenkeel simulate components                           how often its own doubts are right
  evenkeel simulate size                                 how well a response is told that was left out

Exit codes: 0 done; 1 an expectation of a scenario is broken, or something happened to a session that must not; \
2 wrong use. Nothing is measured: the same seed gives the same figures on any machine.")]
pub struct Args {
    #[command(subcommand)]
    pub what: Option<What>,
    /// Scenario files; `examples/scenarios` shows every key
    #[arg(value_name = "FILE", required_unless_present_any = ["plants", "steps", "search", "shares", "mixes", "mix", "sessions"])]
    pub files: Vec<PathBuf>,
    /// fixed, reflection or evenkeel, in place of the scenario's own
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
    /// With --plants or --steps: `--controller aimd`, a peer, with the parameters that --search found
    #[arg(long)]
    pub fitted: bool,
    /// Search parameters for aimd (minutes)
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
    /// With --sessions: prints what happens in them, step by step
    #[arg(long, requires = "sessions")]
    pub story: bool,
    /// Print it as JSON
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
    /// How often variance components, the trust limit and the bounds of `--until` are right
    Components(components::Args),
    /// How well `evenkeel size` tells a response that was left out
    Size(size::Args),
}
