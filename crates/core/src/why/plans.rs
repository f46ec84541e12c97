use super::case::{Case, capitalised};
use super::verdict::{Clue, Compared, Observation, ROWS_MIN, Ruling, Suspect, Verdict, gap_of};
use super::with_interval;
use crate::statistics::{Estimate, Sample, difference};
use std::collections::BTreeMap;

/// Starts that have other plans are not blamed for what those take.
pub(super) fn beside_plans(start: Verdict) -> Verdict {
    start.but(Ruling::Undecided, "Plans differ between starts too.")
}

/// Plans differ between starts, and starts with one of them are slower: that is a cause, whatever servers differ by.
pub(super) fn of_starts(plan: Verdict) -> Verdict {
    plan.but(Ruling::Cause, "Plans differ between its starts, and those with one of them are slower.")
}

impl Case<'_> {
    /// In how many blocks plans are known, and in how many of these they differ.
    fn plans(&self) -> (usize, usize) {
        let plan = |runs: &[&Observation]| runs.iter().find_map(|run| run.seen.plan);
        let known = self.units.iter().filter_map(|unit| Some(plan(&unit.slow)? != plan(&unit.fast)?));
        known.fold((0, 0), |(known, differing), differs| (known + 1, differing + usize::from(differs)))
    }

    pub(super) fn has_other_plan(&self) -> bool {
        let (known, differing) = self.plans();
        2 * differing > known
    }

    /// Another plan is the cause where it touches more rows, or pages from disk so many more that these are a cause and cannot be more
    /// for how they lie.
    pub(super) fn plan(&self, reads_more: bool) -> Verdict {
        let (known, differing) = self.plans();
        let is_other = self.has_other_plan();
        let rows = gap_of(&self.units, self.scale.pairs, |run| run.seen.rows);
        let base = self.units.iter().filter_map(|unit| Some(unit.means(|run| run.seen.rows)?.1));
        let least = ROWS_MIN * base.collect::<Sample>().mean().unwrap_or_default();
        let has_more = rows.is_some_and(|rows| rows.low > 0.0 && rows.mean >= least);
        let lies_alike = matches!(self.facts.pages, Compared::Alike(_)) && !self.facts.pools_differ;
        let ruling = match () {
            () if self.scale.differs && is_other && (has_more || reads_more && lies_alike) => Ruling::Cause,
            () if known > 0 && differing == 0 && rows.is_none_or(|rows| rows.high < least) => {
                Ruling::NotTheCause
            }
            () => Ruling::Undecided,
        };
        let touched = rows.map_or_else(
            || "the rows that a request touches were not counted".to_owned(),
            |rows| format!("a request to {} touches {} rows more", self.scale.slow, with_interval(&rows, "")),
        );
        let figure = rows.map(|rows| Clue::of("rows_more", &rows));
        let odd = match (is_other, has_more) {
            (true, false) if ruling == Ruling::Undecided && rows.is_some() => {
                " Whether the other plan takes more is not known."
            }
            (false, true) => " With the same plan, more rows come from other data or other statistics.",
            _ => "",
        };
        let evidence = format!("{}; {touched}.{odd}", capitalised(self.facts.plans.words()));
        Verdict { suspect: Suspect::Plan, ruling, evidence, figure }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlansOfStarts {
    Same,
    Differ,
    /// Some have another one, and these are slower, or faster, than the others.
    Slower,
}

impl PlansOfStarts {
    /// Of the slow target; where the fast one's differ, that is known too.
    pub(super) fn of(runs: &[Observation], slow: usize, fast: usize) -> Self {
        match (by_plan(runs, slow).as_slice(), by_plan(runs, fast).len()) {
            ([one, other], _) if are_apart(one, other) => Self::Slower,
            ([] | [_], 0 | 1) => Self::Same,
            _ => Self::Differ,
        }
    }
}

/// Mean response times of a target's starts, by their plan.
fn by_plan(runs: &[Observation], target: usize) -> Vec<Estimate> {
    let mut starts: BTreeMap<u32, (Option<u64>, Sample)> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.target == target) {
        let (plan, taus) = starts.entry(run.start).or_default();
        *plan = plan.or(run.seen.plan);
        taus.push(run.tau_ms);
    }
    let mut plans: BTreeMap<u64, Sample> = BTreeMap::new();
    for (plan, taus) in starts.into_values() {
        if let Some((plan, mean)) = plan.zip(taus.mean()) {
            plans.entry(plan).or_default().push(mean);
        }
    }
    plans.into_values().filter_map(|means| means.estimate()).collect()
}

/// Whether starts with one plan take longer than those with the other, be it which.
fn are_apart(one: &Estimate, other: &Estimate) -> bool {
    let found = difference(one, other, (one.n as f64 - 1.0, other.n as f64 - 1.0));
    found.error.is_some_and(|error| error.low > 0.0 || error.high < 0.0)
}
