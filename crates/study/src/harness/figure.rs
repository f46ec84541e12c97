//! What figures a study has, and how each is shown: one list for the table, the page, CSV and JSON.

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
            chart: Some(Chart { heading, axis, words: "", unit, scale, without: "" }),
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
