//! Published claims as a table: which figure of which runs is compared with what, and what shows the claim.

use super::judgement::{Finding, Number, Outcome, above};
use super::plan::{Part, Plan, Run};
use crate::format;
use evenkeel_core::statistics::{Estimate, Ratio, unpaired_ratio};

type Levels = &'static [&'static str];

/// A claim about a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub name: &'static str,
    /// `None` where it is judged in each part of the plan.
    pub part: Option<&'static str>,
    pub published: &'static str,
    pub figure: &'static str,
    /// Levels of the runs, in the order of the factors.
    pub of: Levels,
    /// Levels of the runs that they are compared with; `None` where the figure is a ratio itself.
    pub over: Option<Levels>,
    pub rule: Rule,
    /// Name of the ratio among the numbers.
    pub number: &'static str,
    /// What is said of the ratio, which stands for `{}`.
    pub here: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Holds where the whole interval is above 1.
    Above,
    /// Sameness: holds where the whole interval is within this share of 1, and does not where none of it is.
    Near(f64),
}

impl Claim {
    pub const fn above(
        name: &'static str,
        part: Option<&'static str>,
        figure: &'static str,
        of: Levels,
        over: Option<Levels>,
    ) -> Self {
        Self { name, part, published: "", figure, of, over, rule: Rule::Above, number: "", here: "" }
    }

    /// One of runs that take longer than others.
    pub const fn longer(name: &'static str, part: &'static str, [of, over]: [Levels; 2]) -> Self {
        Self::above(name, Some(part), "seconds", of, Some(over))
    }

    pub const fn published(self, published: &'static str) -> Self {
        Self { published, ..self }
    }

    pub const fn here(self, number: &'static str, here: &'static str) -> Self {
        Self { number, here, ..self }
    }

    pub const fn rule(self, rule: Rule) -> Self {
        Self { rule, ..self }
    }

    /// How one cell compares with the other; `None` where one of them was not measured.
    fn ratio(&self, part: &str, cells: &[Cell<'_>]) -> Option<Ratio> {
        let values = |levels| Some(cell(cells, part, levels)?.values(self.figure));
        let of = values(self.of)?;
        if let Some(over) = self.over {
            return unpaired_ratio(&of, &values(over)?);
        }
        let mean = Estimate::of(&of)?;
        Some(Ratio { n: mean.n, ratio: mean.mean, interval: mean.low().zip(mean.high()) })
    }

    fn finding(&self, part: &str, published: String, cells: &[Cell<'_>]) -> Finding {
        let ratio = self.ratio(part, cells);
        let here =
            ratio.as_ref().map(|ratio| format!("Here {}.", self.here.replace("{}", &format::ratio(ratio))));
        Finding {
            name: self.name,
            part: part.to_owned(),
            outcome: Outcome::of(self.rule.holds(ratio.as_ref())),
            published,
            here: here.unwrap_or_else(|| "It was not measured.".to_owned()),
            numbers: Number::of(self.number, ratio.as_ref()),
        }
    }
}

impl Rule {
    fn holds(self, ratio: Option<&Ratio>) -> Option<bool> {
        let Self::Near(little) = self else { return above(ratio, 1.0) };
        match ratio?.interval? {
            (low, high) if low >= 1.0 / (1.0 + little) && high <= 1.0 + little => Some(true),
            (low, high) if low > 1.0 + little || high < 1.0 / (1.0 + little) => Some(false),
            _ => None,
        }
    }
}

/// What the runs say of each claim.
pub(crate) fn findings(claims: &[Claim], plan: &Plan, cells: &[Cell<'_>]) -> Vec<Finding> {
    let of_claim = |claim: &Claim| match claim.part {
        Some(part) => vec![claim.finding(part, claim.published.to_owned(), cells)],
        None => {
            let in_part = |title: &str| format!("{title}: {}", claim.published);
            plan.parts.iter().map(|part| claim.finding(&part.name, in_part(&part.title), cells)).collect()
        }
    };
    claims.iter().flat_map(of_claim).collect()
}

/// For how many of the claims the direction holds.
pub(crate) fn direction(findings: &[Finding]) -> String {
    let count = |outcome| findings.iter().filter(|finding| finding.outcome == outcome).count();
    format!(
        "Of {} published findings the direction holds here for {}, does not for {}, and is undecided for {}.",
        findings.len(),
        count(Outcome::Holds),
        count(Outcome::DoesNotHold),
        count(Outcome::NotTestable)
    )
}

/// A combination of levels over its repeats.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Where it belongs.
    pub part: &'a Part,
    pub levels: &'a [String],
    pub runs: Vec<&'a Run>,
}

impl Cell<'_> {
    pub fn values(&self, figure: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.figure(figure)).collect()
    }

    /// Mean of a figure with its interval; `None` where no run has it.
    pub fn estimate(&self, figure: &str) -> Option<Estimate> {
        Estimate::of(&self.values(figure))
    }

    /// Mean of a figure.
    pub fn mean(&self, figure: &str) -> Option<f64> {
        self.estimate(figure).map(|estimate| estimate.mean)
    }

    /// The level of a factor; empty where the part has no such factor.
    pub fn level(&self, factor: &str) -> &str {
        self.part.place(factor).and_then(|place| self.levels.get(place)).map_or("", String::as_str)
    }

    pub fn number(&self, factor: &str) -> Option<f64> {
        self.level(factor).parse().ok()
    }

    pub fn words(&self, factor: &str) -> &str {
        let level = self.level(factor);
        let place = self.part.place(factor);
        let known =
            place.and_then(|place| self.part.factors[place].levels.iter().find(|known| known.name == level));
        known.map_or(level, super::plan::Level::words)
    }
}

pub fn cells<'a>(plan: &'a Plan, runs: &'a [Run]) -> Vec<Cell<'a>> {
    let mut found = Vec::new();
    for part in &plan.parts {
        for levels in part.combinations() {
            let mut of: Vec<&Run> =
                runs.iter().filter(|run| run.part == part.name && run.levels == levels).collect();
            of.sort_by_key(|run| run.repeat);
            if let Some(first) = of.first() {
                found.push(Cell { part, levels: &first.levels, runs: of });
            }
        }
    }
    found
}

/// The cell with these levels, in the order of the part's factors.
pub(crate) fn cell<'a, 'b>(cells: &'b [Cell<'a>], part: &str, levels: &[&str]) -> Option<&'b Cell<'a>> {
    cells.iter().find(|cell| cell.part.name == part && cell.levels == levels)
}

/// A figure at an instant, over repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    pub at_s: f64,
    /// Mean over the repeats.
    pub mean: f64,
    /// Least and largest of the repeats.
    pub range: (f64, f64),
}

/// What a figure did over time: row by row, over the repeats that have it then.
pub fn moments(cell: &Cell<'_>, figure: &str) -> Vec<Moment> {
    let runs: Vec<Vec<(f64, f64)>> = cell.runs.iter().map(|run| run.series.over_time(figure)).collect();
    let length = runs.iter().map(Vec::len).max().unwrap_or(0);
    let moment = |row: usize| {
        let at: Vec<(f64, f64)> = runs.iter().filter_map(|run| run.get(row).copied()).collect();
        let values: Vec<f64> = at.iter().map(|(_, value)| *value).collect();
        let range = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
        Some(Moment { at_s: at.first()?.0, mean: Estimate::of(&values)?.mean, range })
    };
    (0..length).filter_map(moment).collect()
}
