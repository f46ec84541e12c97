use super::timed::{Reads, Scale, disk, layout, network};
use super::verdict::{
    Clue, Compared, Facts, LITTLE, NEIGHBOURS_MIN, OWN_MAX, Observation, ROWS_MIN, Ruling, SHARE_MIN,
    STOLEN_MIN, Seen, Suspect, Unit, Verdict, Why, gap_of, units,
};
use super::{number, with_interval};
use crate::statistics::{Estimate, Sample, difference};
use std::collections::{BTreeMap, BTreeSet};

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
        return Some(Why { slow, fast, fast_ms, gap: None, halves_ms: 0.0, verdicts });
    }
    let units = units(runs, slow, fast);
    let pairs = targets.len() * (targets.len() - 1) / 2;
    let gap = gap_of(&units, pairs, |run| Some(run.tau_ms));
    let Some(gap) = gap else {
        let verdicts = Suspect::ALL.into_iter().map(too_few).collect();
        return Some(Why { slow, fast, fast_ms, gap: None, halves_ms: 0.0, verdicts });
    };
    let halves_ms = halves(runs, slow).max(halves(runs, fast));
    let mut why = Why { slow, fast, fast_ms, gap: Some(gap), halves_ms, verdicts: Vec::new() };
    let differs = why.differs();
    // What servers do not differ by has no share of it.
    let least_ms = if differs { SHARE_MIN * gap.mean } else { LITTLE * fast_ms };
    let slow_name = names.get(slow).cloned().unwrap_or_else(|| (slow + 1).to_string());
    let case = Case { units, scale: Scale { gap, differs, least_ms, slow: slow_name, pairs }, facts };
    why.verdicts = case.verdicts(plans, begun);
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

/// Starts that have other plans are not blamed for what those take.
fn beside_plans(start: Verdict) -> Verdict {
    start.but(Ruling::Undecided, "Plans differ between starts too.")
}

/// Plans differ between starts, and starts with one of them are slower: that is a cause, whatever servers differ by.
fn of_starts(plan: Verdict) -> Verdict {
    plan.but(Ruling::Cause, "Plans differ between its starts, and those with one of them are slower.")
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

struct Case<'a> {
    units: Vec<Unit<'a>>,
    scale: Scale,
    facts: &'a Facts,
}

impl Case<'_> {
    fn verdicts(&self, plans: PlansOfStarts, start: Verdict) -> Vec<Verdict> {
        let reads = Reads::of(&self.units, self.scale.pairs, self.facts.pools_differ);
        let network = self.network();
        let more_reads = layout(&reads, &self.scale, self.facts.pages.words());
        let plan = self.plan(more_reads.ruling == Ruling::Cause);
        let (disk, layout) = (disk(&reads, &self.scale), self.layout(more_reads, &reads));
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
        let is_explained =
            is_explained || [&stolen, &neighbours].iter().any(|one| one.ruling == Ruling::Cause);
        let network = if is_explained { network } else { self.unless_narrow(network) };
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
        vec![network, disk, layout, plan, start, stolen, neighbours]
    }

    /// The network, where it cannot be a busy server that keeps its threads waiting for a CPU and lets nobody see how long.
    fn network(&self) -> Verdict {
        let verdict = network(&self.units, &self.scale);
        let of = |figure: fn(&Seen) -> Option<f64>| {
            let all = self.units.iter().filter_map(|unit| Some(unit.means(|run| figure(&run.seen))?.0));
            all.collect::<Sample>().mean()
        };
        let is_idle = of(|seen| seen.theta_percent).is_some_and(|theta| theta < OWN_MAX);
        match (verdict.ruling, of(|seen| seen.cpu_wait_ms)) {
            (Ruling::Cause, None) if !is_idle => verdict.but(
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

    /// Another plan reads other pages, pages that lie alike are not read more often for how they lie, and of pages that nobody saw it is
    /// not known: a colder or smaller buffer pool reads more of them too. Nor is it how they lie where that would make few reads.
    fn layout(&self, verdict: Verdict, reads: &Reads) -> Verdict {
        let undecided = |why: &str| verdict.clone().but(Ruling::Undecided, why);
        match (verdict.ruling, &self.facts.pages) {
            (Ruling::Cause, Compared::Alike(_)) => Verdict { ruling: Ruling::NotTheCause, ..verdict },
            (Ruling::Cause, _) if self.has_other_plan() => undecided("Another plan reads other pages."),
            (Ruling::Cause, Compared::Unknown(_)) => undecided("It reads more, and the reason is not known."),
            (Ruling::Cause, _) if self.facts.pools_differ => undecided("Its buffer pool has another size."),
            (Ruling::Cause, _) if reads.share_foretold().is_some_and(|share| share < SHARE_MIN) => {
                undecided("The page layout explains less than a quarter of them.")
            }
            _ => verdict,
        }
    }

    /// In how many blocks plans are known, and in how many of these they differ.
    fn plans(&self) -> (usize, usize) {
        let plan = |runs: &[&Observation]| runs.iter().find_map(|run| run.seen.plan);
        let known = self.units.iter().filter_map(|unit| Some(plan(&unit.slow)? != plan(&unit.fast)?));
        known.fold((0, 0), |(known, differing), differs| (known + 1, differing + usize::from(differs)))
    }

    fn has_other_plan(&self) -> bool {
        let (known, differing) = self.plans();
        2 * differing > known
    }

    /// Another plan is the cause where it touches more rows, or pages from disk so many more that these are a cause and cannot be more
    /// for how they lie.
    fn plan(&self, reads_more: bool) -> Verdict {
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
            "Threads of {} wait {} more for a CPU per request, and it takes {} longer. It uses less than \
             half of its CPUs itself.",
            self.scale.slow,
            with_interval(&more, " ms"),
            with_interval(&self.scale.gap, " ms")
        );
        let figure = Some(Clue::of("cpu_wait_ms", &more));
        Some(Verdict { suspect: Suspect::Neighbours, ruling, evidence, figure })
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
            return Verdict::undecided(
                suspect,
                format!("Not known: {} cannot be seen here.", suspect.words()),
            );
        };
        let ruling = match () {
            () if more.high < least => Ruling::NotTheCause,
            () if self.scale.differs && !is_explained && more.low > 0.0 && more.mean >= least => {
                Ruling::Cause
            }
            () => Ruling::Undecided,
        };
        let mut evidence = format!(
            "CPU time of {} taken by {}: {} more.",
            self.scale.slow,
            if suspect == Suspect::Stolen { "the hypervisor" } else { "neighbours" },
            with_interval(&more, " points")
        );
        if ruling == Ruling::Undecided && is_explained {
            evidence.push_str(" Its effect cannot be separated from the known cause.");
        } else if ruling == Ruling::Undecided {
            evidence.push_str(&format!(" A cause needs {} points at least.", number(least)));
        }
        Verdict { suspect, ruling, evidence, figure: Some(Clue::of("points_more", &more)) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlansOfStarts {
    Same,
    Differ,
    /// Some have another one, and these are slower, or faster, than the others.
    Slower,
}

impl PlansOfStarts {
    /// Of the slow target; where the fast one's differ, that is known too.
    fn of(runs: &[Observation], slow: usize, fast: usize) -> Self {
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

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
