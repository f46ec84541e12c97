//! The commands: what each simulates, and the lines that it prints.

mod compare;
mod components;
mod coverage;
mod many;
mod plants;
mod probe;
mod shares;
mod size;

use anyhow::Result;

/// Simulations whose truth is known. Nothing is measured: the same seed gives the same figures on any machine.
#[derive(Debug, clap::Parser)]
#[command(name = "evenkeel-dev", version)]
pub struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Judge a controller on random plants
    Plants(plants::Args),
    /// What steps of the number of clients cost a controller on the measured curves
    Steps(plants::StepsArgs),
    /// Published experiments with hosts that share storage, uncontrolled, by the published law and by ours
    Shares(shares::Args),
    /// How our windows do on random arrays and mixes of hosts
    Mixes(shares::MixesArgs),
    /// How often the intervals of a cell hold, on queues whose figures are known
    Coverage(coverage::Args),
    /// How often the bounds of a profile hold beside a neighbour that takes CPU
    Noisy(coverage::NoisyArgs),
    /// How often `evenkeel compare` is wrong, and whether the runs that it asks for are enough
    Compare(compare::Args),
    /// How often variance components, the trust limit and the bounds of `--until` are right
    Components(components::Args),
    /// How well `evenkeel size` predicts a response that was left out
    Size(size::Args),
    /// Measure what a place gives: the machine, or the domain of a private server. Nothing of it is simulated
    Probe(probe::Args),
    /// Serve a disk that forgets what was not flushed when this process is killed, until the standard input ends
    Volatile(probe::Volatile),
}

impl Cli {
    pub fn run(self) -> Result<()> {
        match self.what {
            What::Plants(args) => plants::judge(&args),
            What::Steps(args) => plants::steps(&args),
            What::Shares(args) => shares::run_all(&args),
            What::Mixes(args) => shares::mixes(&args),
            What::Coverage(args) => coverage::run(&args),
            What::Noisy(args) => coverage::noisy(&args),
            What::Compare(args) => compare::run(&args),
            What::Components(args) => components::run(&args),
            What::Size(args) => size::run(&args),
            What::Probe(args) => probe::run(&args),
            What::Volatile(args) => evenkeel_dev::volatile::serve(&args.folder, args.lies),
        }
    }
}
