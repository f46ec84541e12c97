//! `evenkeel simulate`: controllers, guarded sessions and measured cells on the virtual clock.

mod compare;
mod components;
mod coverage;
mod flags;
mod many;
mod mix;
mod noisy;
mod plants;
mod played;
mod sessions;
pub mod shares;
mod show;
mod size;

use super::Session;
use crate::config::simulate::{self, Instead};
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_core::random::Seed;
use flags::What;
use played::play;
use std::process::ExitCode;

pub use flags::Args;

/// Runs scenarios, random plants, steps, sessions or the search.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.what {
        Some(What::Coverage(args)) => return coverage::run(session, args),
        Some(What::Noisy(args)) => return noisy::run(session, args),
        Some(What::Compare(args)) => return compare::run(session, args),
        Some(What::Components(args)) => return components::run(session, args),
        Some(What::Size(args)) => return size::run(session, args),
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
    if let Some(number) = args.mix {
        mix::show(args, Seed(args.seed.unwrap_or(1)), number)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

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
