//! What the runs come to: which slowdowns are named, what remedies need of them, and what was lost.

use super::jobs::CLONE;
use super::matrices::{slower, together};
use super::setting::{PAIR, PART, Setting};
use super::slowdown::{NAMED_FROM, Slowdown, key, mean, others, slowdowns, stalls};
use crate::format::{counted, significant};
use crate::harness::{Judgement, Part, Plan, Run, cells, doubts, of_runs};

/// So many are said in words, the worst first.
const NAMES_MAX: usize = 8;
/// An interval up to so many times says nothing.
const TOO_WIDE: f64 = 100.0;

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let Some(part) = plan.part(PART) else { return Judgement::default() };
    let cells = cells(plan, runs);
    let found = slowdowns(part, &cells);
    let (named, stalls) = (worst_first(&found), stalls(part, &cells));
    let mut sentences: Vec<String> = named.iter().take(NAMES_MAX).map(|one| one.words()).collect();
    let more = named.len().saturating_sub(NAMES_MAX);
    sentences
        .extend((more > 0).then(|| format!("{} more: the tables mark them.", counted(more, "slowdown"))));
    sentences.push(losses(runs));
    let matrices =
        (0..part.factors.len()).map(|domain| slower(part, domain, &found)).chain([together(part, &cells)]);
    let has_runs = |part: &&Part| runs.iter().any(|run| run.part == part.name);
    let begun = plan.parts.iter().filter(|own| own.name == PART || has_runs(own));
    let clones = part.factors.iter().any(|factor| factor.levels.iter().any(|level| level.name == CLONE));
    let domains =
        part.factors.iter().zip(&setting.domains).map(|(factor, site)| format!("{}: {site}", factor.name));
    Judgement {
        headline: headline(&stalls, &named, &found),
        rule: format!(
            "A slowdown is named where it is {NAMED_FROM} or more and certain: of studies in which nobody slows anybody, at most one in 100 names any of {}.{}",
            counted(found.len(), "pair"),
            if clones {
                " A clone is made outside the limits of its domain, and its CPU time is not counted."
            } else {
                ""
            }
        ),
        setting: format!(
            "{}; {} s for each pair, seed {}",
            domains.collect::<Vec<_>>().join("; "),
            setting.seconds,
            plan.seed
        ),
        place: setting.place.known(),
        matrices: matrices.filter(|matrix| !matrix.rows.is_empty()).collect(),
        sentences: sentences.into_iter().map(|text| (PART.to_owned(), text)).collect(),
        caveats: doubts(begun, runs).chain(of_runs(runs)).collect(),
        ..Judgement::default()
    }
}

/// Those that are named.
fn worst_first<'a>(found: &'a [Slowdown<'a>]) -> Vec<&'a Slowdown<'a>> {
    let mut named: Vec<_> = found.iter().filter(|one| one.is_named).collect();
    named.sort_by(|one, other| other.compared.ratio.ratio.total_cmp(&one.compared.ratio.ratio));
    named
}

/// A slowdown that is named, as remedies need it.
pub struct Trouble {
    /// Place of its domain, and the job there.
    pub victim: (usize, String),
    /// The job of the other domain.
    pub neighbour: String,
    /// Times slower at least, at 95 %.
    pub least: f64,
    /// The victim's rates alone.
    pub alone_rates: Vec<f64>,
    pub waits_for_cpu: bool,
    pub waits_for_disk: bool,
    /// What the neighbour did meanwhile: on the disk, on CPUs, and its rates.
    pub neighbour_mb_per_s: Option<f64>,
    pub neighbour_cpus: Option<f64>,
    pub neighbour_rates: Vec<f64>,
}

impl Trouble {
    /// `a's read beside b's cpu`.
    pub fn words(&self) -> String {
        let (victim, job) = &self.victim;
        format!("{}'s {job} beside {}'s {}", PAIR[*victim], PAIR[1 - victim], self.neighbour)
    }
}

/// All that are named, the worst first; none of more than a pair of domains, which have no remedies.
pub fn troubles(plan: &Plan, runs: &[Run]) -> Vec<Trouble> {
    let Some(part) = plan.part(PART).filter(|part| part.factors.len() == PAIR.len()) else {
        return Vec::new();
    };
    let cells = cells(plan, runs);
    let found = slowdowns(part, &cells);
    let trouble = |one: &&Slowdown<'_>| {
        let neighbours = others(part, one.beside.levels, one.domain);
        Trouble {
            victim: (one.domain, one.beside.levels[one.domain].clone()),
            neighbour: neighbours.map(|(_, job)| job).collect(),
            least: one.compared.ratio.interval.map_or(1.0, |(low, _)| low),
            alone_rates: one.alone.values(&key("rate", part, one.domain)),
            waits_for_cpu: one.waits_for_cpu(),
            waits_for_disk: one.waits_for_disk(),
            neighbour_mb_per_s: mean(one.beside, "disk_mb_per_s", 1 - one.domain),
            neighbour_cpus: mean(one.beside, "cpus", 1 - one.domain),
            neighbour_rates: one.beside.values(&key("rate", part, 1 - one.domain)),
        }
    };
    worst_first(&found).iter().map(trouble).collect()
}

fn headline(stalls: &[String], named: &[&Slowdown<'_>], found: &[Slowdown<'_>]) -> String {
    let of = counted(found.len(), "pair");
    if !stalls.is_empty() {
        let others = if found.is_empty() { String::new() } else { headline(&[], named, found) };
        return format!("{}. {others}", stalls.join("; ")).trim_end().to_owned();
    }
    match named.first() {
        Some(first) => {
            let verb = if named.len() == 1 { "interferes" } else { "interfere" };
            format!("{} of {of} {verb}. Worst: {}.", named.len(), first.in_short())
        }
        None if found.iter().all(|one| one.compared.ratio.interval.is_none()) => {
            "Nothing can be said yet: it takes two runs of each pair.".to_owned()
        }
        // How far the intervals reach says what could not have been seen.
        None => {
            let highs = found.iter().filter_map(|one| Some(one.compared.ratio.interval?.1));
            match highs.fold(1.0, f64::max) {
                most if most < TOO_WIDE => {
                    let most = significant(most, 2);
                    format!(
                        "No slowdown is certain in {of}; by the 95 % intervals none is above {most} times."
                    )
                }
                _ => format!(
                    "No slowdown is certain in {of}: the intervals are too wide. Take more --repeats."
                ),
            }
        }
    }
}

/// Errors of statements, what was wrong with tables afterwards, and what the kernel's log had of trouble.
fn losses(runs: &[Run]) -> String {
    let sum = |figure: &str| -> f64 {
        let all = runs.iter().flat_map(|run| &run.figures);
        all.filter(|(key, _)| key.starts_with(figure)).map(|(_, value)| value).sum()
    };
    let (errors, faults) = (sum("errors@"), sum("faults@"));
    let lines: Vec<f64> = runs.iter().filter_map(|run| run.figure("kernel_lines")).collect();
    let log = match lines.iter().sum::<f64>() {
        _ if lines.is_empty() => "it cannot be read here (that takes root)".to_owned(),
        0.0 => "nothing".to_owned(),
        some => format!("{} of trouble, see the doubts", counted(some as usize, "line")),
    };
    let log = format!("Kernel log: {log}.");
    let is_checked = |run: &Run| run.figures.keys().any(|key| key.starts_with("faults@"));
    if errors == 0.0 && !runs.iter().any(is_checked) {
        return format!("No table was checked: no job has worked on one. {log}");
    }
    if errors + faults == 0.0 {
        return format!(
            "No error and no loss: tables pass CHECK TABLE, no checksum changed, and no committed row is missing. {log}"
        );
    }
    let mut said = runs.iter().flat_map(|run| run.notes.iter().map(move |(key, text)| (run, key, text)));
    let first = said.find(|(_, key, _)| key.starts_with("error@"));
    let first = first.map_or_else(String::new, |(run, _, text)| {
        format!("; the first one in {}: {text}", Run::name(&run.part, &run.levels, run.repeat))
    });
    format!(
        "{} and {}{first}. {log}",
        counted(errors as usize, "error"),
        counted(faults as usize, "fault of a table")
    )
}

#[cfg(test)]
mod tests;
