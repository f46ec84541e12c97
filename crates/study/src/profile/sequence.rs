//! Runs one by one, each where it tightens the bounds most, until they are as tight as was wanted or the time is up.

use super::objective::objective;
use super::run::{End, Study, Turns};
use super::spec::{Budget, StudySpec};
use super::{StudyError, StudyEvent, answer, cells, length, order, summary};
use crate::store::format::CellRecord;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RATE_MAX;
use evenkeel_core::bounds::{Answer, Fate, RATES_FIRST, Responses, RunAt, Sequence, Step, Wanted, middle};
use evenkeel_core::digits::nearest;
use std::collections::VecDeque;

/// A rate at which so many more runs failed than held, by their own generator or by errors of the server, is given up, and the
/// sequence with it: further runs would fail as well.
const FAILED_MAX: usize = 5;

/// Where the generator fails, a lower rate is tried if it is lower by this factor.
const NEAREST: f64 = 1.07;

/// Runs of a study at most, however tight the bounds are to be: a server whose capacity wanders never gets them.
const RUNS_MAX: usize = 2_000;

/// Runs of the two rates that a study begins with: what the first bounds cost.
pub const RUNS_FIRST: u32 = 6;

/// What a server carries may differ by this factor from one search to the next.
const CHANGED: f64 = 3.0;

/// Refuses to go on at rates that would now be far too high.
fn still_carries(begun: f64, now: f64) -> Result<(), StudyError> {
    if begun <= CHANGED * now {
        return Ok(());
    }
    let [begun, now] = [begun, now].map(nearest);
    Err(StudyError::Slower { begun, now })
}

impl Study<'_> {
    /// The next run; `None` at the end of the sequence. What the folder has already counts.
    pub(super) fn next_of_sequence(
        &mut self,
        budget: Budget,
    ) -> Result<Option<(CellRecord, u32)>, StudyError> {
        let mut turns = match self.turns.take() {
            Some(turns) => turns,
            None => self.begin(budget)?,
        };
        let end = loop {
            if let Some((series, rate)) = turns.runs.pop_front() {
                if self.time_is_up(budget, series, rate) {
                    break End::TimeIsUp;
                }
                self.turns = Some(turns);
                return self.once_more(series, rate).map(Some);
            }
            let Some(group) = turns.groups.pop_front() else { break turns.end };
            match self.next_rate(&group, budget) {
                Ok(rate) => {
                    turns.runs.extend(group.iter().map(|series| (*series, rate)));
                    turns.groups.push_back(group);
                }
                Err(end) => turns.end = turns.end.max(end),
            }
        };
        self.plan.ended = Some(end.words().to_owned());
        self.folder.write("plan.json", &self.plan)?;
        Ok(None)
    }

    /// The rates that every group begins with. A server that others use is asked gently again where a study goes on.
    fn begin(&mut self, budget: Budget) -> Result<Turns, StudyError> {
        let groups = summary::groups(&self.plan);
        for group in &groups {
            self.first_rates(group)?;
        }
        self.plan.rates_known = true;
        self.folder.write("plan.json", &self.plan)?;
        self.tell_plan();
        self.warn_of_little_time(budget);
        Ok(Turns { groups: groups.into(), runs: VecDeque::new(), end: End::Enough })
    }

    /// Whether no group has a run that would tell more.
    pub(super) fn sequence_has_ended(&self, budget: Budget) -> bool {
        summary::groups(&self.plan).iter().all(|group| self.next_rate(group, budget).is_err())
    }

    /// The rate of the next run; an end where there is none.
    fn next_rate(&self, group: &[usize], budget: Budget) -> Result<f64, End> {
        if self.runs.len() >= RUNS_MAX {
            return Err(End::TooMany);
        }
        if let Some(rate) = self.opening(group) {
            return Ok(rate);
        }
        let sequence = Sequence { runs_left: self.runs_left(budget), ..sequence(self.spec, budget) };
        let cells = cells::summarise(&self.plan, &self.runs);
        let unsure = summary::unsure_rates(&cells, &self.plan, &self.runs, group);
        let mut end = End::Enough;
        for series in group {
            let runs = answer::runs_of(&self.plan, &self.runs, *series);
            let objective =
                objective(self.plan.settings.objective_p95_ms, &cells, &Answer::of(&runs).carried, *series);
            match sequence.next(&runs, &Responses { unsure: &unsure, objective }) {
                Some(Step::Run(rate)) => match without_fault(&runs, rate) {
                    Err(fault) => end = end.max(fault),
                    Ok(rate) => return Ok(rate),
                },
                Some(Step::Enough) => {}
                Some(Step::Exhausted) => end = end.max(End::Exhausted),
                Some(Step::TooFewArrivals) => end = end.max(End::TooFewArrivals),
                None => match runs.first().map(|run| (run.rate, fault(&runs, run.rate))) {
                    Some((rate, None)) => return Ok(rate),
                    Some((_, Some(fault))) => end = end.max(fault),
                    None => end = end.max(End::GeneratorFails),
                },
            }
        }
        Err(end)
    }

    /// A rate that the group began with and that has too few runs, valid or not, on some of its servers. Where the search found far too
    /// much, the higher one gives way to a lower one.
    fn opening(&self, group: &[usize]) -> Option<f64> {
        let at = |series: usize| self.plan.cells.iter().filter(move |cell| cell.series == series);
        let mut first: Vec<f64> = at(*group.first()?).take(RATES_FIRST).map(|cell| cell.rate_per_s).collect();
        let of_first = |series: &usize| {
            let runs = answer::runs_of(&self.plan, &self.runs, *series);
            runs.into_iter().filter(|run| first.contains(&run.rate)).collect::<Vec<_>>()
        };
        let nearer = group.iter().filter_map(|series| Sequence::nearer(&of_first(series))).reduce(f64::max);
        if let (Some(highest), Some(nearer)) = (first.last_mut(), nearer) {
            *highest = nearer;
        }
        let made = |cell: &CellRecord| self.runs.iter().filter(|run| run.cell == cell.id).count();
        let of_series = |series: usize, rate: f64| {
            at(series).find(|cell| order::is_same_rate(cell.rate_per_s, rate)).map_or(0, made)
        };
        Sequence::opening(&first, |rate| {
            group.iter().map(|series| of_series(*series, rate)).min().unwrap_or(usize::MAX)
        })
    }

    fn once_more(&mut self, series: usize, rate: f64) -> Result<(CellRecord, u32), StudyError> {
        let known = self.plan.cells.len();
        let cell = order::cell_of(&mut self.plan, series, rate);
        if self.plan.cells.len() > known {
            self.folder.write("plan.json", &self.plan)?;
        }
        let done = self.runs.iter().filter(|run| run.cell == cell.id).count();
        Ok((cell, u32::try_from(done + 1).unwrap_or(u32::MAX)))
    }

    /// Rates to begin with, the same for all series of a group.
    fn first_rates(&mut self, group: &[usize]) -> Result<(), StudyError> {
        let of_group = self.plan.cells.iter().filter(|cell| group.contains(&cell.series));
        let begun = of_group.take(RATES_FIRST * group.len()).map(|cell| cell.rate_per_s).reduce(f64::max);
        let is_of_others = group.iter().any(|one| self.spec.sites[self.spec.series[*one].site].of_others);
        if begun.is_some() && !is_of_others {
            return Ok(());
        }
        let saturation = self.lowest_saturation(group)?;
        let sequence = sequence(self.spec, self.spec.budget.unwrap_or_default());
        let first = sequence.first(saturation, is_of_others);
        if let Some(begun) = begun {
            return still_carries(begun, first.iter().copied().fold(0.0, f64::max));
        }
        for rate in first {
            for series in group {
                order::cell_of(&mut self.plan, *series, rate);
            }
        }
        Ok(self.folder.write("plan.json", &self.plan)?)
    }

    /// Whether a run at this rate would end behind the budget.
    fn time_is_up(&self, budget: Budget, series: usize, rate_per_s: f64) -> bool {
        let cost = self.cell_cost(&CellRecord { id: 0, series, rate_per_s });
        budget.within.is_some_and(|within| self.clock.now() + cost > within)
    }

    /// Runs of each series that there is time for.
    fn runs_left(&self, budget: Budget) -> usize {
        let Some(within) = budget.within else { return usize::MAX };
        let left = (within - self.clock.now()).0 / self.run_cost().0.max(1);
        usize::try_from(left).unwrap_or(usize::MAX) / self.plan.series.len().max(1)
    }

    /// Runs that there is time for, with those that are made.
    pub(super) fn runs_expected(&self, budget: Budget) -> u32 {
        let done = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        let left = budget.within.map_or(Nanos::ZERO, |within| within - self.clock.now());
        let fit = u32::try_from(left.0 / self.run_cost().0.max(1)).unwrap_or(u32::MAX);
        let at_least = if budget.within.is_some() { 0 } else { RUNS_FIRST.saturating_sub(done).max(1) };
        done.saturating_add(fit.max(at_least))
    }

    fn warn_of_little_time(&mut self, budget: Budget) {
        let fit = self.runs_expected(budget);
        let needed = RUNS_FIRST * u32::try_from(self.plan.series.len()).unwrap_or(u32::MAX);
        if budget.within.is_some() && fit < needed {
            (self.tell)(StudyEvent::Warning(format!(
                "there is time for {fit} runs, and bounds need {needed}: give it more by --within, or shorter runs by --duration"
            )));
        }
    }
}

fn sequence(spec: &StudySpec, budget: Budget) -> Sequence {
    // Without a width the whole time is used.
    let wanted = Wanted { width: budget.until.unwrap_or(0.0) };
    Sequence {
        wanted,
        rate_min: length::rate_min(spec.duration, budget),
        rate_max: RATE_MAX,
        runs_left: usize::MAX,
    }
}

/// The rate, or where the generator fails at it, one nearer to the highest rate that was carried: a generator that shares the server's
/// CPUs fails in deep overload, and nearer to the limit it may not.
fn without_fault(runs: &[RunAt], mut rate: f64) -> Result<f64, End> {
    let carried = Answer::of(runs).carried.rates;
    let carried = carried.iter().rev().find(|known| known.fate == Fate::Carried && known.rate < rate);
    while let Some(fault) = fault(runs, rate) {
        let nearer = carried.filter(|_| fault == End::GeneratorFails).map(|known| middle(known.rate, rate));
        rate = nearer.filter(|nearer| *nearer * NEAREST < rate).ok_or(fault)?;
    }
    Ok(rate)
}

/// By what runs at a rate fail again and again; `None` where they do not.
fn fault(runs: &[RunAt], rate: f64) -> Option<End> {
    let here = || runs.iter().filter(|run| run.rate == rate);
    let spoilt = here().filter(|run| !run.valid || run.is_failing()).count();
    let by_errors = here().filter(|run| run.is_failing()).count();
    let end = if 2 * by_errors > spoilt { End::RequestsFail } else { End::GeneratorFails };
    (2 * spoilt >= here().count() + FAILED_MAX).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_generator_fails_a_rate_nearer_to_the_carried_one_is_tried() {
        let run = |rate: f64, valid, failed| RunAt {
            rate,
            seconds: 10.0,
            arrivals: 10_000,
            completed: (10.0 * rate) as u64,
            settled: Some(true),
            valid,
            failed,
            ..RunAt::default()
        };
        let carried = vec![run(1_000.0, true, 0.0); 3];
        let spoilt = |rate| vec![run(rate, false, 0.0); FAILED_MAX];
        let with = |more: &[Vec<RunAt>]| [carried.clone(), more.concat()].concat();
        assert_eq!(without_fault(&carried, 2_000.0), Ok(2_000.0));
        assert_eq!(without_fault(&with(&[spoilt(2_000.0)]), 2_000.0), Ok(1_410.0));
        assert_eq!(without_fault(&with(&[spoilt(2_000.0), spoilt(1_410.0)]), 2_000.0), Ok(1_190.0));
        let close = with(&[spoilt(1_100.0)]);
        assert_eq!(without_fault(&close, 1_100.0), Err(End::GeneratorFails), "it fails at the limit itself");
        assert_eq!(without_fault(&spoilt(2_000.0), 2_000.0), Err(End::GeneratorFails), "nothing is carried");
        let failing = with(&[vec![run(2_000.0, true, 0.9); FAILED_MAX]]);
        assert_eq!(without_fault(&failing, 2_000.0), Err(End::RequestsFail));
    }

    #[test]
    fn a_rate_is_given_up_by_what_spoils_most_of_its_runs() {
        let run = |valid, failed| RunAt { rate: 100.0, valid, failed, ..RunAt::default() };
        let sound = || vec![run(true, 0.0); 3];
        let with = |spoilt: RunAt, count: usize| [sound(), vec![spoilt; count]].concat();
        assert_eq!(fault(&sound(), 100.0), None);
        assert_eq!(fault(&with(run(false, 0.0), 7), 100.0), None);
        assert_eq!(fault(&with(run(false, 0.0), 8), 100.0), Some(End::GeneratorFails));
        assert_eq!(fault(&with(run(true, 0.02), 8), 100.0), Some(End::RequestsFail));
        assert_eq!(fault(&with(run(false, 0.9), 8), 100.0), Some(End::RequestsFail));
        assert_eq!(fault(&with(run(true, 0.005), 8), 100.0), None, "few failures spoil nothing");
        assert_eq!(fault(&with(run(true, 0.02), 8), 120.0), None);
    }
}
