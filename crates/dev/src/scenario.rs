//! Scenario files: who asks which server for transactions, and what a controller is expected to make of it.

mod file;

use crate::control::Contender;
use crate::control::simulation::{Broken, Expect, Scenario, Trace, simulate_with};
use anyhow::{Context, Result};
pub use file::Instead;
use std::path::Path;

/// A scenario, its controller and what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioFile {
    pub name: String,
    pub contender: Contender,
    pub scenario: Scenario,
    pub expect: Vec<Expect>,
}

/// Reads a scenario; flags take the place of what the file says.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn load(path: &Path, instead: &Instead) -> Result<ScenarioFile> {
    let file = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(file)?;
    file::read(&text, instead).with_context(file)
}

/// A scenario that was played.
pub struct Played {
    pub trace: Trace,
    /// Decisions that changed the limit, in words.
    pub decisions: Vec<String>,
    pub broken: Vec<Broken>,
}

pub fn play(file: &ScenarioFile) -> Played {
    let mut controller = file.contender.build();
    let mut decisions = Vec::new();
    let mut limit = file.scenario.initial_limit;
    let trace = simulate_with(&file.scenario, controller.as_mut(), |step, decision| {
        if decision.limit != limit {
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
    use std::path::PathBuf;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
    }

    #[test]
    fn scenarios_meet_their_expectations_with_several_seeds() {
        let entries = std::fs::read_dir(folder()).expect("scenarios are there");
        let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
        assert!(paths.len() >= 10, "{paths:?}");
        for path in paths {
            for seed in 1..=5 {
                let file = load(&path, &Instead { controller: None, seed: Some(seed) }).unwrap();
                assert!(!file.expect.is_empty(), "{} expects nothing", path.display());
                let broken = play(&file).broken;
                assert!(broken.is_empty(), "{} seed {seed}: {broken:?}", path.display());
            }
        }
    }

    #[test]
    fn a_fixed_limit_that_is_too_high_breaks_the_flash_sale() {
        let instead = Instead { controller: Some("fixed".to_owned()), seed: None };
        let mut file = load(&folder().join("flash-sale.toml"), &instead).unwrap();
        file.contender = file.contender.starting_at(256);
        file.scenario.initial_limit = 256;
        assert!(!play(&file).broken.is_empty());
    }
}
