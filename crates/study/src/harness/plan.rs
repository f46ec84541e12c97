//! The plan of a published study as it stands in its folder.

use evenkeel_core::experiment::{combinations, shuffled};
use evenkeel_core::random::Seed;
use serde::{Deserialize, Serialize};

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
