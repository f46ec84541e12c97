//! What removes a slowdown, and what that costs the neighbour: remedies are tried one after the other until one is enough, those
//! first that cost the neighbour least. Each has a part of its own, with servers that were put up in the changed domains.

use super::jobs::{ALONE, Job};
use super::judge::{Trouble, troubles};
use super::setting::{PAIR, PART, Setting, Site};
use super::slowdown::{NAMED_FROM, within};
use crate::format::counted;
use crate::harness::{Factor, Judgement, Mark, Matrix, Number, Part, Plan, Run};
use evenkeel_core::statistics::{Estimate, Ratio, unpaired_ratio};
use evenkeel_sense::CpuOf;
use evenkeel_sense::cpu::CpuSet;
use evenkeel_site::sandbox::{DiskLimit, Domain};

/// Slowdowns that remedies are tried for, the worst first, and remedies for each.
const SLOWDOWNS: usize = 3;
const REMEDIES: usize = 4;
/// The only factor of these parts.
const NEIGHBOUR: &str = "neighbour";
const BESIDE: &str = "beside";
/// Notes of a run: what was changed, and why that could not be.
const REMEDY: &str = "remedy";
pub const REFUSED: &str = "refused";
/// Two servers start before the first run of a remedy.
pub const START_S: f64 = 8.0;

/// Usual is 100: four to one.
const WEIGHTS: [u32; 2] = [400, 100];
/// A limit that leaves the neighbour something to do, and one that leaves next to nothing: of a CPU, and of what it does on the disk.
const QUOTAS: [f64; 2] = [0.5, 0.05];
const DISK_SHARES: [f64; 2] = [0.25, 0.05];
/// Where the limit in bytes does not help: many small I/Os.
const DISK_IOPS: u64 = 50;

/// Parts for as many remedies as there may be; which those are, the runs of the pairs say.
pub fn parts(repeats: u32) -> Vec<Part> {
    let part = |slot, step| {
        let factor = Factor::named(NEIGHBOUR, [(BESIDE, ""), (ALONE, "")]);
        let about = "A victim beside its neighbour, in domains with a remedy.";
        // Without a title: what it comes to is said with the pairs.
        Part::new(&name(slot, step), "", about, vec![factor], repeats)
    };
    (0..SLOWDOWNS).flat_map(|slot| (0..REMEDIES).map(move |step| part(slot, step))).collect()
}

fn name(slot: usize, step: usize) -> String {
    format!("remedy-{}-{}", slot + 1, step + 1)
}

/// Number of the slowdown and of its remedy.
fn numbers(part: &Part) -> Option<(usize, usize)> {
    (0..SLOWDOWNS)
        .flat_map(|slot| (0..REMEDIES).map(move |step| (slot, step)))
        .find(|(slot, step)| name(*slot, *step) == part.name)
}

pub fn is_remedy(part: &Part) -> bool {
    numbers(part).is_some()
}

/// A remedy that is tried.
pub struct Trial {
    pub domains: [Domain; 2],
    jobs: [&'static Job; 2],
    /// What is changed.
    pub words: String,
    /// Place of the victim's domain, and whether it has the CPUs that it had.
    victim: (usize, bool),
}

impl Trial {
    /// What a part tries; `None` where there is no such slowdown, or no further remedy at hand.
    pub fn of(part: &Part, plan: &Plan, setting: &Setting, runs: &[Run]) -> Option<Self> {
        let (slot, step) = numbers(part)?;
        let trouble = troubles(plan, runs).into_iter().nth(slot)?;
        let (victim, job) = &trouble.victim;
        let (own, other) = (Job::named(job)?, Job::named(&trouble.neighbour)?);
        let machine = CpuOf::Host.cpus().unwrap_or_default();
        let [Site::Private(a), Site::Private(b)] = &setting.domains[..] else { return None };
        let before = [a.clone(), b.clone()];
        let domains = at_hand(&trouble, &before, &machine).into_iter().nth(step)?;
        Some(Self {
            words: changes(&before, &domains),
            victim: (*victim, before[*victim].cpus == domains[*victim].cpus),
            domains,
            jobs: if *victim == 0 { [own, other] } else { [other, own] },
        })
    }

    /// What runs at a level. The victim alone is measured again, by turns: another server of the same kind may be some 10 % faster.
    /// `None` where that would say nothing of the victim without the remedy.
    pub fn at(&self, levels: &[String]) -> Option<[Option<&'static Job>; 2]> {
        let (victim, has_its_cpus) = self.victim;
        let mut jobs = self.jobs.map(Some);
        if levels.iter().any(|level| level == ALONE) {
            jobs[1 - victim] = None;
            return has_its_cpus.then_some(jobs);
        }
        Some(jobs)
    }

    /// A run says which remedy it had, and why it could not have it.
    pub fn note(&self, run: &mut Run, refused: Option<&String>) {
        run.notes.insert(REMEDY.to_owned(), self.words.clone());
        run.notes.extend(refused.map(|why| (REFUSED.to_owned(), why.clone())));
    }
}

/// Whether a part is to be measured: there is such a remedy, and none before it was enough.
pub fn is_wanted(part: &Part, plan: &Plan, setting: &Setting, runs: &[Run]) -> bool {
    let Some((slot, step)) = numbers(part) else { return true };
    let all = troubles(plan, runs);
    let is_over = |trouble: &Trouble| {
        (0..step).any(|step| Outcome::of(trouble, &name(slot, step), runs).is_some_and(|of| of.is_enough()))
    };
    all.get(slot).is_some_and(|trouble| !is_over(trouble)) && Trial::of(part, plan, setting, runs).is_some()
}

/// Domains with a remedy each, in the order in which they are tried.
fn at_hand(trouble: &Trouble, domains: &[Domain; 2], machine: &CpuSet) -> Vec<[Domain; 2]> {
    let victim = trouble.victim.0;
    let (own, other) = (&domains[victim], &domains[1 - victim]);
    let both = |own: Domain, other: Domain| if victim == 0 { [own, other] } else { [other, own] };
    let limited = |other: Domain| both(own.clone(), other);
    let mut found = Vec::new();
    let (own_cpus, other_cpus) =
        (own.cpus.as_ref().unwrap_or(machine), other.cpus.as_ref().unwrap_or(machine));
    let waits_for_disk_alone = trouble.waits_for_disk && !trouble.waits_for_cpu;
    if !waits_for_disk_alone && !own_cpus.intersection(other_cpus).is_empty() {
        if let Some((of_own, of_other)) = apart(own_cpus, other_cpus, machine) {
            let on = |domain: &Domain, cpus| Domain { cpus: Some(cpus), ..domain.clone() };
            found.push(both(on(own, of_own), on(other, of_other)));
        }
        let weighs = |domain: &Domain, weight| Domain { weight: Some(weight), ..domain.clone() };
        found.push(both(weighs(own, WEIGHTS[0]), weighs(other, WEIGHTS[1])));
    }
    if trouble.waits_for_disk {
        let used = trouble.neighbour_mb_per_s.unwrap_or(0.0) * 1e6;
        let limits =
            DISK_SHARES.map(|share| DiskLimit { bytes_per_s: Some(mebibytes(share * used)), ..other.disk });
        let all = limits.into_iter().chain([DiskLimit { iops: Some(DISK_IOPS), ..other.disk }]);
        found.extend(all.map(|disk| limited(Domain { disk, ..other.clone() })));
    } else {
        // One above what the neighbour uses would hold nothing back.
        let has = trouble.neighbour_cpus.into_iter().chain(other.quota).fold(f64::INFINITY, f64::min);
        let tighter = |quota: &f64| *quota < has;
        let limits = QUOTAS.into_iter().filter(tighter);
        found.extend(limits.map(|quota| limited(Domain { quota: Some(quota), ..other.clone() })));
    }
    // A quota of all CPUs that a domain is left with would be refused.
    let fits = |domain: &Domain| {
        domain.quota.is_none_or(|quota| domain.cpus.as_ref().is_none_or(|cpus| quota < cpus.len() as f64))
    };
    found.retain(|domains| domains.iter().all(fits));
    found.truncate(REMEDIES);
    found
}

/// CPUs of their own for both: the neighbour gets those that are free, or else the last one; `None` where there is one for both.
fn apart(own: &CpuSet, other: &CpuSet, machine: &CpuSet) -> Option<(CpuSet, CpuSet)> {
    let free: Vec<u32> = machine.iter().filter(|cpu| !own.contains(*cpu)).collect();
    match (free.as_slice(), own.iter().last()) {
        ([], Some(last)) if own.len() > 1 => {
            Some((own.iter().filter(|cpu| *cpu != last).collect(), [last].into_iter().collect()))
        }
        ([], _) => None,
        (free, _) => Some((own.clone(), free.iter().copied().take(other.len()).collect())),
    }
}

/// Whole mebibytes, since a limit is written in them; at least one.
fn mebibytes(bytes: f64) -> u64 {
    ((bytes as u64) >> 20).max(1) << 20
}

/// What is not as it was: `b at quota=50%`.
fn changes(before: &[Domain; 2], after: &[Domain; 2]) -> String {
    let of = |place: usize| {
        let old = before[place].parts();
        let new = after[place].parts().into_iter().filter(|part| !old.contains(part));
        let words: Vec<String> = new.map(|(key, value)| format!("{key}={value}")).collect();
        (!words.is_empty()).then(|| format!("{} at {}", PAIR[place], words.join(",")))
    };
    (0..PAIR.len()).filter_map(of).collect::<Vec<_>>().join(" and ")
}

/// What a remedy came to.
struct Outcome {
    remedy: String,
    refused: Option<String>,
    /// Of the victim, against what it does alone with the CPUs that it had: a remedy that halves it is no cure.
    slowdown: Option<Ratio>,
    /// What the neighbour does with it beside the victim, of what it did there without.
    cost: Option<Ratio>,
    /// Surely below what is named, and surely below what it was.
    is_removed: bool,
    is_reduced: bool,
}

impl Outcome {
    /// `None` where no run was made.
    fn of(trouble: &Trouble, part: &str, runs: &[Run]) -> Option<Self> {
        let own: Vec<&Run> = runs.iter().filter(|run| run.part == part).collect();
        let note = |name: &str| own.iter().find_map(|run| run.notes.get(name).cloned());
        let rates = |level: &str, place: usize| -> Vec<f64> {
            let at = own.iter().filter(|run| run.levels.iter().any(|own| own == level));
            at.filter_map(|run| run.figure(&format!("rate@{}", PAIR[place]))).collect()
        };
        let victim = trouble.victim.0;
        let mut alone = rates(ALONE, victim);
        if alone.is_empty() {
            alone.clone_from(&trouble.alone_rates);
        }
        let slowdown = unpaired_ratio(&alone, &rates(BESIDE, victim));
        let most = slowdown.and_then(|ratio| ratio.interval).map(|(_, high)| high);
        Some(Self {
            remedy: note(REMEDY)?,
            refused: note(REFUSED),
            slowdown,
            cost: cost(&rates(BESIDE, 1 - victim), &trouble.neighbour_rates),
            is_removed: most.is_some_and(|most| most < NAMED_FROM),
            is_reduced: most.is_some_and(|most| most < trouble.least),
        })
    }

    /// Whether no further one is tried, certain or not: most of them cost more.
    fn is_enough(&self) -> bool {
        self.slowdown.is_some_and(|slowdown| slowdown.ratio < NAMED_FROM)
    }

    fn words(&self, trouble: &Trouble) -> String {
        let (victim, job) = (PAIR[trouble.victim.0], &trouble.victim.1);
        let remedy = &self.remedy;
        let Some(slowdown) = &self.slowdown else {
            let why = self.refused.as_deref().unwrap_or("no rate was measured");
            return format!("{remedy} cannot be tried for {}: {why}.", trouble.words());
        };
        let (neighbour, other) = (PAIR[1 - trouble.victim.0], &trouble.neighbour);
        let cost = self.cost.as_ref().map_or_else(String::new, |cost| {
            format!("; {neighbour}'s {other} then does {} times as much as before", within(cost))
        });
        let is_left = slowdown.interval.is_some_and(|(low, _)| low >= NAMED_FROM);
        let verdict = match (self.is_removed, self.is_reduced) {
            (true, _) => "removed",
            (false, true) => "reduced",
            _ if is_left => "not removed",
            _ => "not certain",
        };
        format!(
            "With {remedy}, {victim}'s {job} takes {} times as long as alone: {verdict}{cost}.",
            within(slowdown)
        )
    }

    fn row(&self, trouble: &Trouble) -> (String, Vec<Option<Mark>>) {
        let mark = |name: &str, ratio: &Option<Ratio>, is_strong| {
            Some(Mark { number: Number::of(name, ratio.as_ref()).pop()?, is_strong })
        };
        let places = vec![mark("slowdown", &self.slowdown, self.is_removed), mark("cost", &self.cost, false)];
        (format!("{}: {}", trouble.words(), self.remedy), places)
    }
}

/// What a neighbour does, of what it did: by the means, without an interval, where a limit let it do nothing in some run.
fn cost(rates: &[f64], before: &[f64]) -> Option<Ratio> {
    let of_means = || {
        let ratio = Estimate::of(rates)?.mean / Estimate::of(before)?.mean;
        Some(Ratio { n: rates.len() as u64, ratio, interval: None }).filter(|_| ratio.is_finite())
    };
    unpaired_ratio(rates, before).or_else(of_means)
}

/// What was said of the pairs, and what became of the worst with remedies.
pub fn said(mut said: Judgement, plan: &Plan, runs: &[Run]) -> Judgement {
    let all = troubles(plan, runs);
    if !plan.parts.iter().any(is_remedy) {
        return said;
    }
    if all.is_empty() {
        let none = "No remedy was tried, since no slowdown was named.";
        said.sentences.insert(said.sentences.len().saturating_sub(1), (PART.to_owned(), none.to_owned()));
        return said;
    }
    let (mut sentences, mut rows) = (Vec::new(), Vec::new());
    for (slot, trouble) in all.iter().take(SLOWDOWNS).enumerate() {
        let of = (0..REMEDIES).filter_map(|step| Outcome::of(trouble, &name(slot, step), runs));
        let tried: Vec<Outcome> = of.collect();
        sentences.extend(tried.iter().map(|one| one.words(trouble)));
        rows.extend(tried.iter().map(|one| one.row(trouble)));
    }
    let left = all.len().saturating_sub(SLOWDOWNS);
    if left > 0 {
        let left = counted(left, "slowdown");
        sentences.push(format!("Remedies were tried for the worst {SLOWDOWNS}; {left} left."));
    }
    // What was lost is said last.
    let last = said.sentences.len().saturating_sub(1);
    said.sentences.splice(last..last, sentences.into_iter().map(|text| (PART.to_owned(), text)));
    said.matrices.extend((!rows.is_empty()).then(|| Matrix {
        part: PART.to_owned(),
        title: "with a remedy".to_owned(),
        words: "Each was tried in domains of its own. Slower than the victim is alone, with the CPUs that it had. A frame marks what removed a slowdown: surely below 1.1.",
        fine: Some(1.0),
        columns: vec!["times slower".to_owned(), "the neighbour's work".to_owned()],
        rows,
    }));
    said
}

#[cfg(test)]
mod tests;
