//! From runs to verdicts.

use super::gap::{Gap, Unit, units};
use super::observation::{Compared, Facts, Observation, Seen};
use super::start;
use super::threshold::{LITTLE, NEIGHBOURS_MIN, OWN_MAX, ROWS_MIN, SHARE_MIN, STOLEN_MIN};
use super::timed::{Reads, Scale, disk, layout, network};
use super::verdict::{Figure, Ruling, Suspect, Verdict, Why};
use super::words::{number, with_interval};
use crate::statistics::Sample;
use std::collections::BTreeSet;

impl Why {
    /// From all runs that are to be compared; `names` are those of the targets by their numbers. `None` without runs.
    pub fn of(runs: &[Observation], facts: &Facts, names: &[String]) -> Option<Self> {
        judge(runs, facts, names)
    }
}

/// All suspects, in their order.
fn judge(runs: &[Observation], facts: &Facts, names: &[String]) -> Option<Why> {
    let targets: BTreeSet<usize> = runs.iter().map(|run| run.target).collect();
    let mean = |target: usize| {
        let taus = runs.iter().filter(|run| run.target == target).map(|run| run.tau_ms);
        taus.collect::<Sample>().mean().unwrap_or_default()
    };
    let by_tau = |one: &&usize, other: &&usize| mean(**one).total_cmp(&mean(**other));
    let (fast, slow) = (*targets.iter().min_by(by_tau)?, *targets.iter().max_by(by_tau)?);
    let fast_ms = mean(fast);
    let begun = unless_disturbed(start::start(runs, slow, fast, fast_ms), runs);
    if fast == slow {
        let varies = plan_varies(runs) && begun.ruling == Ruling::Cause;
        let verdicts = Suspect::ALL.into_iter().map(|suspect| alone(suspect, &begun, varies)).collect();
        return Some(Why { slow, fast, fast_ms, gap: None, verdicts });
    }
    let units = units(runs, slow, fast);
    let pairs = targets.len() * (targets.len() - 1) / 2;
    let gap = gap_of(&units, pairs, |run| Some(run.tau_ms));
    let Some(gap) = gap else {
        let verdicts = Suspect::ALL.into_iter().map(too_few).collect();
        return Some(Why { slow, fast, fast_ms, gap: None, verdicts });
    };
    let least_ms = (SHARE_MIN * gap.mean).max(LITTLE * fast_ms);
    let differs = gap.low > 0.0 && gap.mean >= LITTLE * fast_ms;
    let slow_name = names.get(slow).cloned().unwrap_or_else(|| (slow + 1).to_string());
    let case = Case { units, scale: Scale { gap, differs, least_ms, slow: slow_name, pairs }, facts };
    Some(Why { slow, fast, fast_ms, gap: Some(gap), verdicts: case.verdicts(runs, begun) })
}

/// Neighbours that come and go within minutes reach one start and not the next one, and are in no difference by what a start makes.
fn unless_disturbed(start: Verdict, runs: &[Observation]) -> Verdict {
    let taken = runs.iter().filter_map(|run| run.seen.neighbours_percent).collect::<Sample>().mean();
    match (start.ruling, taken) {
        (Ruling::Cause, Some(taken)) if taken >= NEIGHBOURS_MIN => Verdict {
            ruling: Ruling::Undecided,
            evidence: format!(
                "{} Neighbours took {} % of the CPUs meanwhile, which may come and go from start to start.",
                start.evidence,
                number(taken)
            ),
            ..start
        },
        _ => start,
    }
}

/// Starts that have other plans are not blamed for what those take.
fn beside_plans(start: Verdict) -> Verdict {
    let evidence = format!("{} Plans differ between starts too.", start.evidence);
    Verdict { ruling: Ruling::Undecided, evidence, ..start }
}

/// A single target has nothing to be compared with, but its starts.
fn alone(suspect: Suspect, start: &Verdict, varies: bool) -> Verdict {
    match suspect {
        Suspect::Start if varies => return beside_plans(start.clone()),
        Suspect::Start => return start.clone(),
        Suspect::Plan if varies => {
            let evidence = format!("Plans differ between starts. {}", start.evidence);
            return Verdict { suspect, ruling: Ruling::Cause, evidence, figure: None };
        }
        _ => {}
    }
    let evidence = "Not known: there is one target, and nothing to compare it with.".to_owned();
    Verdict { suspect, ruling: Ruling::Undecided, evidence, figure: None }
}

fn too_few(suspect: Suspect) -> Verdict {
    let evidence = "Not known: there are not two pairs of runs yet.".to_owned();
    Verdict { suspect, ruling: Ruling::Undecided, evidence, figure: None }
}

fn gap_of(units: &[Unit<'_>], pairs: usize, figure: impl Fn(&Observation) -> Option<f64>) -> Option<Gap> {
    let differences: Option<Vec<f64>> =
        units.iter().map(|unit| unit.means(&figure).map(|(slow, fast)| slow - fast)).collect();
    Gap::of(&differences?, pairs)
}

/// Two targets that are compared.
struct Case<'a> {
    units: Vec<Unit<'a>>,
    scale: Scale,
    facts: &'a Facts,
}

impl Case<'_> {
    fn verdicts(&self, runs: &[Observation], start: Verdict) -> Vec<Verdict> {
        let varies = plan_varies(runs);
        let reads = Reads::of(&self.units, self.scale.pairs);
        let network = network(&self.units, &self.scale);
        let more_reads = layout(&reads, &self.scale, self.facts.pages.words());
        let plan = self.plan(varies && start.ruling == Ruling::Cause, more_reads.ruling == Ruling::Cause);
        let (disk, layout) = (disk(&reads, &self.scale), self.layout(more_reads, plan.ruling));
        let is_explained = [&network, &disk, &layout, &plan].iter().any(|one| one.ruling == Ruling::Cause);
        let stolen = self.taken(Suspect::Stolen, STOLEN_MIN, is_explained, |seen| seen.stolen_percent);
        let neighbours =
            self.taken(Suspect::Neighbours, NEIGHBOURS_MIN, is_explained, |seen| seen.neighbours_percent);
        let neighbours = match self.waited(is_explained) {
            Some(waited) if waited.ruling == Ruling::Cause || neighbours.ruling == Ruling::NotTheCause => {
                waited
            }
            _ => neighbours,
        };
        let start = match (varies, start.ruling) {
            (true, Ruling::Cause) => beside_plans(start),
            _ => start,
        };
        vec![network, disk, layout, plan, start, stolen, neighbours]
    }

    /// Another plan reads other pages, pages that lie alike are not read more often for how they lie, and of pages that nobody saw it is
    /// not known: a colder buffer pool reads more of them too.
    fn layout(&self, verdict: Verdict, plan: Ruling) -> Verdict {
        match (verdict.ruling, plan, &self.facts.pages) {
            (Ruling::Cause, Ruling::Cause, _) => Verdict {
                ruling: Ruling::Undecided,
                evidence: format!("{} Another plan reads other pages.", verdict.evidence),
                ..verdict
            },
            (Ruling::Cause, _, Compared::Alike(_)) => Verdict { ruling: Ruling::NotTheCause, ..verdict },
            (Ruling::Cause, _, Compared::Unknown(_)) => Verdict {
                ruling: Ruling::Undecided,
                evidence: format!("{} More is read, and why is not known.", verdict.evidence),
                ..verdict
            },
            _ => verdict,
        }
    }

    /// Another plan is the cause where it touches more rows, or pages from disk so many more that these are a cause.
    fn plan(&self, is_start: bool, reads_more: bool) -> Verdict {
        let known: Vec<bool> = self
            .units
            .iter()
            .filter_map(|unit| {
                let plan = |runs: &[&Observation]| runs.iter().find_map(|run| run.seen.plan);
                Some(plan(&unit.slow)? != plan(&unit.fast)?)
            })
            .collect();
        let differing = known.iter().filter(|differs| **differs).count();
        let is_other = 2 * differing > known.len();
        let rows = gap_of(&self.units, self.scale.pairs, |run| run.seen.rows);
        let base = self.units.iter().filter_map(|unit| Some(unit.means(|run| run.seen.rows)?.1));
        let least = ROWS_MIN * base.collect::<Sample>().mean().unwrap_or_default();
        let has_more = rows.is_some_and(|rows| rows.low > 0.0 && rows.mean >= least);
        let ruling = match () {
            () if self.scale.differs && is_other && (has_more || reads_more) || is_start => Ruling::Cause,
            () if !known.is_empty() && differing == 0 && rows.is_none_or(|rows| rows.high < least) => {
                Ruling::NotTheCause
            }
            () => Ruling::Undecided,
        };
        let touched = rows.map_or_else(
            || "rows that a request touches were not seen".to_owned(),
            |rows| format!("a request to {} touches {} rows more", self.scale.slow, with_interval(&rows, "")),
        );
        let figure = rows.map(|rows| Figure {
            name: "rows_more",
            value: rows.mean,
            interval: Some((rows.low, rows.high)),
        });
        let odd = match (is_other, has_more) {
            (true, false) if ruling == Ruling::Undecided && rows.is_some() => {
                " That the other plan takes more is not known."
            }
            (false, true) => " With the same plan more rows are those of other data, or of other statistics.",
            _ => "",
        };
        let evidence = format!("{}; {touched}.{odd}", capitalised(self.facts.plans.words()));
        Verdict { suspect: Suspect::Plan, ruling, evidence, figure }
    }

    /// Neighbours by what the server's threads waited for a CPU, which is a time; `None` where that does not tell of any. It tells of them also
    /// where others take what is left of all CPUs anyway, so that it is not how much they take that differs.
    fn waited(&self, is_explained: bool) -> Option<Verdict> {
        let more = gap_of(&self.units, self.scale.pairs, |run| run.seen.cpu_wait_ms)?;
        let own = self.units.iter().filter_map(|unit| Some(unit.means(|run| run.seen.theta_percent)?.0));
        let is_idle = own.collect::<Sample>().mean()? < OWN_MAX;
        let ruling = self.scale.weigh(&more);
        if is_explained || !is_idle || ruling == Ruling::NotTheCause {
            return None;
        }
        let evidence = format!(
            "Threads of {} wait {} more for a CPU with each request, though it uses less than half of its CPUs itself, and it takes {} \
             longer.",
            self.scale.slow,
            with_interval(&more, " ms"),
            with_interval(&self.scale.gap, " ms")
        );
        let figure = Figure { name: "cpu_wait_ms", value: more.mean, interval: Some((more.low, more.high)) };
        Some(Verdict { suspect: Suspect::Neighbours, ruling, evidence, figure: Some(figure) })
    }

    /// What others took of the CPUs. No time is known of it, so that it has to stand back where another cause is known.
    fn taken(
        &self,
        suspect: Suspect,
        least: f64,
        is_explained: bool,
        figure: impl Fn(&Seen) -> Option<f64>,
    ) -> Verdict {
        let Some(more) = gap_of(&self.units, self.scale.pairs, |run| figure(&run.seen)) else {
            let evidence = format!("Not known: {} cannot be seen here.", suspect.words());
            return Verdict { suspect, ruling: Ruling::Undecided, evidence, figure: None };
        };
        let ruling = match () {
            () if more.high < least => Ruling::NotTheCause,
            () if self.scale.differs && !is_explained && more.low > 0.0 && more.mean >= least => {
                Ruling::Cause
            }
            () => Ruling::Undecided,
        };
        let mut evidence = format!(
            "At {} {} of its CPU time more are taken by {}.",
            self.scale.slow,
            with_interval(&more, " points"),
            if suspect == Suspect::Stolen { "the hypervisor" } else { "neighbours" }
        );
        if ruling == Ruling::Undecided && is_explained {
            evidence.push_str(" What that makes cannot be told beside the cause that is known.");
        } else if ruling == Ruling::Undecided {
            evidence.push_str(&format!(" A cause takes {} points at least.", number(least)));
        }
        let interval = Some((more.low, more.high));
        Verdict {
            suspect,
            ruling,
            evidence,
            figure: Some(Figure { name: "points_more", value: more.mean, interval }),
        }
    }
}

/// Whether starts of one target have different plans.
fn plan_varies(runs: &[Observation]) -> bool {
    let targets: BTreeSet<usize> = runs.iter().map(|run| run.target).collect();
    let plans = |target: usize| -> BTreeSet<u64> {
        runs.iter().filter(|run| run.target == target).filter_map(|run| run.seen.plan).collect()
    };
    targets.into_iter().any(|target| plans(target).len() > 1)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
