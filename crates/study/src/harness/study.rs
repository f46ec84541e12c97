//! What a published study says of itself, and what is told of it while it goes on.

use super::judgement::Judgement;
use super::plan::{Part, Plan, Run};
use crate::store::StoreError;
use evenkeel_lab::data::DataProgress;

pub trait Study {
    /// Why it cannot go on.
    type Error: From<StoreError>;

    fn figures(&self) -> &'static [Figure];

    /// Whether a part is measured, by what is known before it. A part that was passed over is asked of again in a resume.
    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        let _ = (part, runs);
        true
    }

    /// How often a run that something from outside disturbed is measured again at most, at the end of its block; of its attempts the
    /// least disturbed stands. What disturbed it are its figures `steal_percent` and `other_load_percent`. Of all runs of a part
    /// a third is measured again at most.
    fn retries(&self) -> u32 {
        1
    }

    /// How long a run takes at most, seconds; for the time that is told.
    fn takes_s(&self, part: &Part, levels: &[String]) -> f64;

    /// For all of a plan, seconds.
    fn whole_s(&self, plan: &Plan) -> f64 {
        plan.parts.iter().map(|part| part.takes_s(|levels| self.takes_s(part, levels))).sum()
    }

    /// Puts up what the runs of a part need, by what was measured before. It is called before the first run of a part that is missing.
    fn prepare(&mut self, part: &Part, runs: &[Run], tell: Notify<'_>) -> Result<(), Self::Error>;

    /// Makes a run; `None` where somebody asked to stop. The harness says which run it is.
    fn run(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>, Self::Error>;

    /// What the runs say, of the published finding too.
    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement;
}

pub type Notify<'a> = &'a mut dyn FnMut(Event);

#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub part: &'a Part,
    pub levels: &'a [String],
    /// Repeat, from 1.
    pub repeat: u32,
    /// Attempt at it, from 1.
    pub attempt: u32,
}

impl Order<'_> {
    /// The level of a factor; empty where the part has no such factor.
    pub fn level(&self, factor: &str) -> &str {
        self.part.place(factor).and_then(|place| self.levels.get(place)).map_or("", String::as_str)
    }

    pub fn name(&self) -> String {
        Run::name(&self.part.name, self.levels, self.repeat)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something begins that has no measure.
    Step(String),
    Data(DataProgress),
    RunBegins {
        /// The run's name, as that of its folder.
        run: String,
        /// Place among the missing runs of its part, from 1.
        number: usize,
        of: usize,
        /// For all that is still to come, at most, seconds.
        left_s: f64,
    },
}

/// A figure of runs: its name, its unit and how it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name in runs, with unit.
    pub key: &'static str,
    /// Head of its column, and the unit below it.
    pub head: [&'static str; 2],
    /// How it is drawn; `None` where it stands in the table alone.
    pub chart: Option<Chart>,
    /// Whether it is 1 where something was so and 0 where it was not: shown as `2 of 3`.
    pub is_flag: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chart {
    pub heading: &'static str,
    pub axis: &'static str,
    pub words: &'static str,
    pub unit: Unit,
    pub scale: Scale,
    /// A level that says nothing here and is not drawn: the limit of a guard that has none.
    pub without: &'static str,
    /// Whether it is a heat map over the last two factors of its part.
    pub is_heat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things per second.
    PerSecond,
    /// A time in milliseconds.
    Milliseconds,
    /// A share in percent.
    Percent,
    /// A number without a unit.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly from zero.
    Linear,
    /// By powers of ten.
    Logarithmic,
    /// Evenly around the values.
    Fitting,
}

impl Figure {
    /// One that stands in the table alone.
    pub const fn plain(key: &'static str, head: [&'static str; 2]) -> Self {
        Self { key, head, chart: None, is_flag: false }
    }

    /// One that is drawn on a linear axis of numbers without a unit; `heading` is that of the chart.
    pub const fn drawn(
        key: &'static str,
        head: [&'static str; 2],
        heading: &'static str,
        axis: &'static str,
    ) -> Self {
        let (unit, scale) = (Unit::Plain, Scale::Linear);
        Self {
            key,
            head,
            chart: Some(Chart { heading, axis, words: "", unit, scale, without: "", is_heat: false }),
            is_flag: false,
        }
    }

    /// What its chart shows, in words.
    pub const fn words(self, words: &'static str) -> Self {
        let Some(chart) = self.chart else { return self };
        Self { chart: Some(Chart { words, ..chart }), ..self }
    }

    pub const fn on(self, unit: Unit, scale: Scale) -> Self {
        let Some(chart) = self.chart else { return self };
        Self { chart: Some(Chart { unit, scale, ..chart }), ..self }
    }

    /// As a heat map: the last factor of its part across, the one before down, and a map for each combination of the others.
    pub const fn heat(self) -> Self {
        let Some(chart) = self.chart else { return self };
        Self { chart: Some(Chart { is_heat: true, ..chart }), ..self }
    }

    /// Without the line of one level.
    pub const fn without(self, level: &'static str) -> Self {
        let Some(chart) = self.chart else { return self };
        Self { chart: Some(Chart { without: level, ..chart }), ..self }
    }

    /// One that is 1 where something was so and 0 where it was not.
    pub const fn flag(key: &'static str, head: [&'static str; 2]) -> Self {
        Self { key, head, chart: None, is_flag: true }
    }
}
