use super::case::{Case, capitalised};
use super::number;
use super::plans::{PlansOfStarts, beside_plans, of_starts};
use super::reads::Reads;
use super::timed::{STATES_MISSING, Scale, disk, more_reads, syncs};
use super::verdict::{
    Compared, Facts, LITTLE, NEIGHBOURS_MIN, Observation, Ruling, SHARE_MIN, STOLEN_MIN, Suspect, Verdict,
    Why, gap_of, units,
};
use crate::statistics::Sample;
use std::collections::BTreeSet;

impl Why {
    /// From all runs that are to be compared; `names` are those of the targets by their numbers. `None` without runs.
    pub fn of(runs: &[Observation], facts: &Facts, names: &[String]) -> Option<Self> {
        judge(runs, facts, names)
    }
}

fn judge(runs: &[Observation], facts: &Facts, names: &[String]) -> Option<Why> {
    let targets: BTreeSet<usize> = runs.iter().map(|run| run.target).collect();
    let mean = |target: usize| {
        let taus = runs.iter().filter(|run| run.target == target).map(|run| run.tau_ms);
        taus.collect::<Sample>().mean().unwrap_or_default()
    };
    let by_tau = |one: &&usize, other: &&usize| mean(**one).total_cmp(&mean(**other));
    let (fast, slow) = (*targets.iter().min_by(by_tau)?, *targets.iter().max_by(by_tau)?);
    let fast_ms = mean(fast);
    let begun = unless_disturbed(super::start(runs, slow, fast, fast_ms), runs);
    let plans = PlansOfStarts::of(runs, slow, fast);
    if fast == slow {
        let verdicts = Suspect::ALL.into_iter().map(|suspect| alone(suspect, &begun, plans)).collect();
        return Some(Why { slow, fast, fast_ms, gap: None, halves_ms: 0.0, unexplained_ms: None, verdicts });
    }
    let units = units(runs, slow, fast);
    let pairs = targets.len() * (targets.len() - 1) / 2;
    let gap = gap_of(&units, pairs, |run| Some(run.tau_ms));
    let Some(gap) = gap else {
        let verdicts = Suspect::ALL.into_iter().map(too_few).collect();
        return Some(Why { slow, fast, fast_ms, gap: None, halves_ms: 0.0, unexplained_ms: None, verdicts });
    };
    let halves_ms = if facts.side_by_side { 0.0 } else { halves(runs, slow).max(halves(runs, fast)) };
    let mut why =
        Why { slow, fast, fast_ms, gap: Some(gap), halves_ms, unexplained_ms: None, verdicts: Vec::new() };
    let differs = why.differs();
    // What servers do not differ by has no share of it.
    let least_ms = if differs { SHARE_MIN * gap.mean } else { LITTLE * fast_ms };
    let slow_name = names.get(slow).cloned().unwrap_or_else(|| (slow + 1).to_string());
    let case = Case { units, scale: Scale { gap, differs, least_ms, slow: slow_name, pairs }, facts };
    why.verdicts = case.verdicts(plans, begun);
    why.unexplained_ms = if differs { case.unexplained_ms(&why) } else { None };
    Some(why)
}

/// By how much the first half of a target's runs and the second differ: as much as a server differs from itself, whatever the reason.
fn halves(runs: &[Observation], target: usize) -> f64 {
    let mut own: Vec<&Observation> = runs.iter().filter(|run| run.target == target).collect();
    own.sort_by_key(|run| (run.start, run.run));
    let mean = |half: &[&Observation]| half.iter().map(|run| run.tau_ms).collect::<Sample>().mean();
    let (first, second) = own.split_at(own.len() / 2);
    mean(first).zip(mean(second)).map_or(0.0, |(first, second)| (first - second).abs())
}

/// Neighbours that come and go within minutes reach one start and not the next one, and are in no difference by what a start makes.
fn unless_disturbed(start: Verdict, runs: &[Observation]) -> Verdict {
    let taken = runs.iter().filter_map(|run| run.seen.neighbours_percent).collect::<Sample>().mean();
    match (start.ruling, taken) {
        (Ruling::Cause, Some(taken)) if taken >= NEIGHBOURS_MIN => {
            let taken = number(taken);
            let why = "of the CPUs during the runs, and that may vary from start to start.";
            start.but(Ruling::Undecided, &format!("Neighbours took {taken} % {why}"))
        }
        _ => start,
    }
}

/// A single target has nothing to be compared with, but its starts.
fn alone(suspect: Suspect, start: &Verdict, plans: PlansOfStarts) -> Verdict {
    let is_cause = start.ruling == Ruling::Cause;
    match suspect {
        Suspect::Start if is_cause && plans != PlansOfStarts::Same => return beside_plans(start.clone()),
        Suspect::Start => return start.clone(),
        Suspect::Plan if is_cause && plans != PlansOfStarts::Same => {
            let (ruling, words) = match plans {
                PlansOfStarts::Slower => (Ruling::Cause, ", and those with one of them are slower"),
                _ => (Ruling::Undecided, ""),
            };
            let evidence = format!("Plans differ between starts{words}. {}", start.evidence);
            return Verdict { suspect, ruling, evidence, figure: None };
        }
        _ => {}
    }
    Verdict::undecided(suspect, "Not known: there is one target, and nothing to compare it with.")
}

fn too_few(suspect: Suspect) -> Verdict {
    Verdict::undecided(suspect, "Not known: there are not two pairs of runs yet.")
}

impl Case<'_> {
    fn verdicts(&self, plans: PlansOfStarts, start: Verdict) -> Vec<Verdict> {
        let reads = Reads::of(&self.units, self.scale.pairs, self.facts.pools_differ);
        let plan = self.plan(more_reads(Suspect::Plan, &reads, &self.scale).ruling == Ruling::Cause);
        let (disk, layout, pool) = (disk(&reads, &self.scale), self.layout(&reads), self.pool(&reads));
        let (network, syncs) = (self.network(), syncs(&self.units, &self.scale));
        let is_by_reads = any_cause([&disk, &layout, &pool, &plan]);
        let (work, wait) = self.work_and_wait(is_by_reads);
        let is_explained = is_by_reads || any_cause([&network, &syncs, &work, &wait]);
        let locks = self.locks(is_explained);
        let is_explained = is_explained || any_cause([&locks]);
        let stolen = self.taken(Suspect::Stolen, STOLEN_MIN, is_explained, |seen| seen.stolen_percent);
        let (wait, neighbours) = self.neighbours(wait, is_explained);
        let data_syncs = self.data_syncs(is_explained || any_cause([&stolen, &neighbours]));
        let network = match is_explained || any_cause([&stolen, &neighbours, &data_syncs]) {
            true => network,
            false => self.unless_narrow(network),
        };
        // What starts are slow by is no cause of what servers differ by, so that it keeps no other suspect from being judged.
        let plan = match (plans, start.ruling) {
            (PlansOfStarts::Slower, Ruling::Cause) => of_starts(plan),
            _ => plan,
        };
        let start = match (plans, start.ruling) {
            (PlansOfStarts::Same, _) => start,
            (_, Ruling::Cause) => beside_plans(start),
            _ => start,
        };
        vec![
            network, disk, syncs, data_syncs, locks, layout, pool, plan, work, wait, neighbours, stolen,
            start,
        ]
    }

    /// The difference without the times of the causes. Another plan takes CPU time, waits for CPUs and reads.
    fn unexplained_ms(&self, why: &Why) -> Option<f64> {
        let ms_of = |suspect: Suspect| {
            let figure = why.verdicts.iter().find(|one| one.suspect == suspect)?.figure?;
            figure.name.ends_with("_ms").then_some(figure.value)
        };
        let of_cause = |suspect: Suspect| match suspect {
            Suspect::Start => Some(0.0),
            Suspect::Plan => {
                let parts = [Suspect::Work, Suspect::CpuWait, Suspect::Layout];
                Some(parts.into_iter().filter_map(ms_of).sum())
            }
            _ => ms_of(suspect),
        };
        let explained: Option<Vec<f64>> = why.causes().map(of_cause).collect();
        Some((self.scale.gap.mean - explained?.iter().sum::<f64>()).max(0.0))
    }

    /// The network, where it cannot be a busy server that keeps its threads waiting for a CPU and lets nobody see how long.
    fn network(&self) -> Verdict {
        let (spends, missing) =
            (("spends", "between client and server"), "the delay of the network was not measured");
        let part = self.gap(|seen| seen.network_ms);
        let verdict = self.scale.part(Suspect::Network, "network_ms", part, spends, missing);
        match (verdict.ruling, self.of_slow(|seen| seen.cpu_wait_ms)) {
            (Ruling::Cause, None) if !self.is_idle() => verdict.but(
                Ruling::Undecided,
                "The waits of its threads for a CPU are in that and were not measured, and its CPUs may have been busy.",
            ),
            _ => verdict,
        }
    }

    /// Small packets do not tell what a narrow link makes of large answers, so that where nothing explains the difference it may be that.
    fn unless_narrow(&self, network: Verdict) -> Verdict {
        match network.ruling {
            Ruling::NotTheCause if self.facts.by_probes && self.scale.differs => network.but(
                Ruling::Undecided,
                "That is the delay of small packets: the time of large answers on a slow link is not in it, and \
                 nothing else explains the difference.",
            ),
            _ => network,
        }
    }

    /// Whatever keeps a transaction longer keeps its locks longer.
    fn locks(&self, is_explained: bool) -> Verdict {
        let waits = ("waits", "for locks of rows and tables");
        let part = self.gap(|seen| seen.lock_ms);
        let verdict = self.scale.part(Suspect::Locks, "lock_ms", part, waits, STATES_MISSING);
        match verdict.ruling {
            Ruling::Cause if is_explained => verdict
                .but(Ruling::Undecided, "Transactions may hold their locks longer because of another cause."),
            _ => verdict,
        }
    }

    /// Another plan reads other pages, pages that lie alike are not read more often for how they lie, and of pages that nobody saw it is
    /// not known: a colder or smaller buffer pool reads more of them too. Nor is it how they lie where that would make few reads.
    fn layout(&self, reads: &Reads) -> Verdict {
        let verdict = more_reads(Suspect::Layout, reads, &self.scale);
        // A table that differs is named first, and names keep their case.
        let pages = match &self.facts.pages {
            Compared::Different(pages) => pages.clone(),
            other => capitalised(other.words()),
        };
        let verdict = match verdict.figure {
            Some(_) => verdict.because(&format!("{pages}{}.", reads.accounted())),
            None => verdict,
        };
        let undecided = |why: &str| verdict.clone().but(Ruling::Undecided, why);
        match (verdict.ruling, &self.facts.pages) {
            (Ruling::Cause, Compared::Alike(_)) => Verdict { ruling: Ruling::NotTheCause, ..verdict },
            (Ruling::Cause, _) if self.has_other_plan() => undecided("Another plan reads other pages."),
            (Ruling::Cause, Compared::Unknown(_)) => undecided("It reads more, and the reason is not known."),
            (Ruling::Cause, _) if self.facts.pools_differ => undecided("Its buffer pool has another size."),
            (Ruling::Cause, _) if is_little(reads) => {
                undecided("The page layout explains less than a quarter of them.")
            }
            _ => verdict,
        }
    }

    /// The buffer pool, where neither the plan nor the pages make it read more.
    fn pool(&self, reads: &Reads) -> Verdict {
        let verdict = more_reads(Suspect::Pool, reads, &self.scale);
        let because = |ruling: Ruling, why: &str| verdict.clone().but(ruling, why);
        match (verdict.ruling, &self.facts.pages) {
            (Ruling::Cause, _) if self.has_other_plan() => {
                because(Ruling::Undecided, "Another plan reads other pages.")
            }
            (Ruling::Cause, _) if !matches!(self.facts.plans, Compared::Alike(_)) => {
                because(Ruling::Undecided, "Whether its plan is the same is not known.")
            }
            (Ruling::Cause, Compared::Alike(_)) if self.facts.pools_differ => {
                because(Ruling::Cause, "Its buffer pool has another size.")
            }
            (Ruling::Cause, Compared::Alike(_)) => because(
                Ruling::Cause,
                "Plan and pages are alike and the buffer pools equally large, so less of the pages is in its pool: it is colder.",
            ),
            (Ruling::Cause, Compared::Different(_)) if !self.facts.pools_differ && !is_little(reads) => {
                because(Ruling::NotTheCause, "That is the storage layout.")
            }
            (Ruling::Cause, _) => because(Ruling::Undecided, "The pages may be the reason."),
            _ => verdict,
        }
    }
}

/// Whether pages and plan predict less than a good part of what it reads more.
fn is_little(reads: &Reads) -> bool {
    reads.share_predicted().is_some_and(|share| share < SHARE_MIN)
}

fn any_cause<const N: usize>(verdicts: [&Verdict; N]) -> bool {
    verdicts.iter().any(|one| one.ruling == Ruling::Cause)
}
