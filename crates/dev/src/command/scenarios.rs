//! Scenario files, played on the virtual clock.

use anyhow::Result;
use evenkeel_dev::scenario::{Instead, load, play};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario files; crates/dev/scenarios shows every key
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A controller in place of the scenario's own
    #[arg(long)]
    controller: Option<String>,
    /// Seed of every draw, in place of the scenario's own
    #[arg(long)]
    seed: Option<u64>,
    /// Show every decision that changed the limit, and why
    #[arg(long)]
    trace: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let instead = Instead { controller: args.controller.clone(), seed: args.seed };
    let mut is_broken = false;
    for path in &args.files {
        let file = load(path, &instead)?;
        let played = play(&file);
        if args.trace {
            played.decisions.iter().for_each(|decision| println!("{decision}"));
        }
        let verdict = match &played.broken[..] {
            [] => "as expected".to_owned(),
            broken => broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        };
        println!("{}, {}, seed {}: {verdict}", file.name, file.contender.name(), file.scenario.seed.0);
        is_broken |= !played.broken.is_empty();
    }
    Ok(ExitCode::from(u8::from(is_broken)))
}
