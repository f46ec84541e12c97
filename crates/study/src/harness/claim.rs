//! Published claims as a table: which figure of which runs is compared with what, and what shows the claim.

use super::cells::{Cell, cell};
use super::judgement::{Finding, Number, Outcome, above};
use super::plan::Plan;
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
