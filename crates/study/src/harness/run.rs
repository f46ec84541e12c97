//! A run of a published study, and its folder: `run.json`, and `series.csv` where something was watched over time.

use super::plan::FORMAT;
use crate::store::{Attempt, Series, StoreError, StudyFolder, add, attempt_name, write_text};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::disturbance::Disturbance;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A run. What was not available is absent, and never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of the file, [`FORMAT`].
    pub format: u32,
    pub part: String,
    pub levels: Vec<String>,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Seconds since 1970.
    pub started_unix_s: u64,
    /// What was measured, by name with unit. One of several hosts has its name behind: `ios_per_s@a`.
    pub figures: BTreeMap<String, f64>,
    /// What is no number, by name: why there are no counters, say.
    pub notes: BTreeMap<String, String>,
    /// Doubts about this run.
    #[serde(with = "crate::store::caveats")]
    pub caveats: Vec<Caveat>,
    /// Attempt at it, from 1; above where an earlier one was disturbed from outside.
    pub attempt: u32,
    /// What reached other attempts at it, which were set aside. Each stands in a folder of its own.
    #[serde(skip)]
    pub set_aside: Vec<Disturbance>,
    /// What was watched over time; in a file of its own.
    #[serde(skip)]
    pub series: Series,
}

impl Run {
    /// Adds a figure; what is not there or no finite number is left out.
    pub fn set(&mut self, name: &str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.figures.insert(name.to_owned(), value);
        }
    }

    /// A figure by its name; `None` where the run does not have it.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    pub fn name(part: &str, levels: &[String], repeat: u32) -> String {
        let levels: String = levels.iter().map(|level| format!("-{level}")).collect();
        format!("{part}{levels}-r{repeat}")
    }

    pub fn is(&self, part: &str, levels: &[String], repeat: u32) -> bool {
        (self.part.as_str(), self.levels.as_slice(), self.repeat) == (part, levels, repeat)
    }
}

impl Attempt for Run {
    fn is_same_run(&self, other: &Self) -> bool {
        self.is(&other.part, &other.levels, other.repeat)
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    /// By figures of these names, percent of CPU time.
    fn disturbance(&self) -> Disturbance {
        Disturbance { steal: self.figure("steal_percent"), other_load: self.figure("other_load_percent") }
    }

    fn attempts_set_aside(&self) -> usize {
        self.set_aside.len()
    }

    fn set_aside(&mut self, mut other: Self) {
        self.set_aside.push(other.disturbance());
        self.set_aside.append(&mut other.set_aside);
    }

    fn sort(_: &mut [Self]) {}
}

pub fn keep(folder: &StudyFolder, run: &Run) -> Result<(), StoreError> {
    let run = Run { format: FORMAT, ..run.clone() };
    let name = attempt_name(&Run::name(&run.part, &run.levels, run.repeat), run.attempt);
    folder.begin_run(&name)?;
    let series = |dir: &Path| match run.series.columns.is_empty() {
        true => Ok(()),
        false => write_text(&dir.join("series.csv"), &run.series.csv()),
    };
    folder.finish_run(&name, &run, series).map(drop)
}

/// All finished runs of a folder; of several attempts at one the least disturbed, which says so.
pub fn read(folder: &StudyFolder) -> Result<Vec<Run>, StoreError> {
    let mut runs = Vec::new();
    for (path, mut run) in folder.runs_named::<Run>()? {
        let name = attempt_name(&Run::name(&run.part, &run.levels, run.repeat), run.attempt);
        if path.file_name().is_none_or(|own| own.to_string_lossy() != name) {
            let text = format!("it is of the run {name}, which is not the name of its folder");
            return Err(StoreError::Unread { path: path.join("run.json"), text });
        }
        let series = path.join("series.csv");
        if series.exists() {
            run.series = Series::read(&series)?;
        }
        add(&mut runs, run);
    }
    for run in &mut runs {
        run.caveats.extend(Caveat::measured_again(&run.set_aside));
    }
    Ok(runs)
}
