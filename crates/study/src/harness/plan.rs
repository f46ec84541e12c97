//! The plan of a published study as it stands in its folder.

use crate::store::{Attempt, Series, StoreError, StudyFolder, add, attempt_name, write_text};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_core::experiment::{combinations, shuffled};
use evenkeel_core::random::Seed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the plan and of the runs.
pub const FORMAT: u32 = 1;

/// `plan.json` of a published study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the file, [`FORMAT`].
    pub format: u32,
    pub id: String,
    pub kind: String,
    /// Seconds since 1970.
    pub created_unix_s: u64,
    pub tool: String,
    /// Command line, to be read by people: a resume goes by the plan.
    pub command: Vec<String>,
    pub seed: u64,
    pub parts: Vec<Part>,
    /// What else the study needs to know, in a form of its own.
    pub setting: serde_json::Value,
}

/// Runs that belong together: every combination of the levels of its factors, repeated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Name, of letters, digits and `-`.
    pub name: String,
    /// Empty of one that tables and pages leave out, because what it comes to is said with another one.
    pub title: String,
    pub about: String,
    /// Factors; figures are drawn against a numeric one.
    pub factors: Vec<Factor>,
    pub repeats: u32,
    /// Instants worth a mark where figures are drawn over time: seconds, and what happens then.
    pub marks: Vec<(f64, String)>,
}

/// What changes between the runs of a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Name, of letters, digits and `-`.
    pub name: String,
    pub levels: Vec<Level>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Name, of letters, digits, `.` and `-`; a number where the factor is numeric.
    pub name: String,
    /// What it is, in a few words; empty where the name says it.
    pub title: String,
}

impl Level {
    /// The title, or the name where there is none.
    pub fn words(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }
}

impl Factor {
    /// A factor whose levels are numbers.
    pub fn numeric(name: &str, levels: impl IntoIterator<Item = u32>) -> Self {
        let level = |number: u32| Level { name: number.to_string(), title: String::new() };
        Self { name: name.to_owned(), levels: levels.into_iter().map(level).collect() }
    }

    /// A factor of these levels, each with what it is in words.
    pub fn named<'a>(name: &str, levels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let level = |(name, title): (&str, &str)| Level { name: name.to_owned(), title: title.to_owned() };
        Self { name: name.to_owned(), levels: levels.into_iter().map(level).collect() }
    }

    /// Whether every level is a number, so that figures can be drawn against it.
    pub fn is_numeric(&self) -> bool {
        self.levels.iter().all(|level| level.name.parse::<f64>().is_ok())
    }
}

impl Part {
    pub fn new(
        name: &str,
        title: &str,
        about: impl Into<String>,
        factors: Vec<Factor>,
        repeats: u32,
    ) -> Self {
        let (name, title, about) = (name.to_owned(), title.to_owned(), about.into());
        Self { name, title, about, factors, repeats, marks: Vec::new() }
    }

    /// The levels of a factor; none where the part has no such factor.
    pub fn levels(&self, factor: &str) -> &[Level] {
        self.place(factor).map_or(&[][..], |place| self.factors[place].levels.as_slice())
    }

    /// Every combination of levels by name, in the order of the factors.
    pub fn combinations(&self) -> Vec<Vec<String>> {
        let counts: Vec<usize> = self.factors.iter().map(|factor| factor.levels.len()).collect();
        let named = |places: Vec<usize>| -> Vec<String> {
            let name = |(factor, place): (&Factor, usize)| factor.levels[place].name.clone();
            self.factors.iter().zip(places).map(name).collect()
        };
        combinations(&counts).into_iter().map(named).collect()
    }

    /// Whether its name and those of its levels can stand in the names of folders, as those that studies give do.
    pub fn is_named_well(&self) -> bool {
        let is_well = |name: &str| {
            !name.is_empty()
                && !name.starts_with('.')
                && name.chars().all(|letter| letter.is_alphanumeric() || ".-_+,=%:".contains(letter))
        };
        let levels = self.factors.iter().flat_map(|factor| &factor.levels);
        is_well(&self.name) && levels.map(|level| level.name.as_str()).all(is_well)
    }

    /// How long its runs take where one of these levels takes so many seconds.
    pub fn takes_s(&self, run: impl Fn(&[String]) -> f64) -> f64 {
        f64::from(self.repeats) * self.combinations().iter().map(|levels| run(levels)).sum::<f64>()
    }

    pub fn runs(&self) -> usize {
        let each = self.factors.iter().map(|factor| factor.levels.len());
        each.fold(self.repeats as usize, usize::saturating_mul)
    }

    /// All runs, by levels and repeat: repeat by repeat, in random order within each.
    pub fn order(&self, seed: u64) -> Vec<(Vec<String>, u32)> {
        let block = |repeat: u32| self.block(seed, repeat).into_iter().map(move |levels| (levels, repeat));
        (1..=self.repeats).flat_map(block).collect()
    }

    /// The levels of the runs of one repeat, in their order.
    pub fn block(&self, seed: u64, repeat: u32) -> Vec<Vec<String>> {
        shuffled(self.combinations(), Seed(seed).child(&self.name).numbered(u64::from(repeat)))
    }

    pub fn place(&self, factor: &str) -> Option<usize> {
        self.factors.iter().position(|known| known.name == factor)
    }
}

impl Plan {
    /// What tells this study from any other, also from one of the same name: its name, a space, and when it began.
    pub fn identity(&self) -> String {
        format!("{} {}", self.id, self.created_unix_s)
    }

    /// Name of its private server and of its files while it runs. A user may name a study as a sandbox of his, which is not to be lost.
    pub fn private_name(&self) -> String {
        format!("{}-{}", self.id, self.created_unix_s)
    }

    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }
}

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
            let text = format!("it belongs to run {name}, but its folder has another name");
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
