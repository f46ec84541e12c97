//! What the runs come to: slowdowns with their intervals, which of them are named, and why they are.

mod matrices;

use super::jobs::{ALONE, CLONE, Job};
use super::setting::{PAIR, PART, Setting};
use crate::format::{counted, significant};
use crate::harness::{Cell, Judgement, Part, Plan, Run, cells, doubts, of_runs};
use evenkeel_core::statistics::{Compared, Ratio, first_over_others, holm};
use matrices::{slower, together};

/// A slowdown below this is nobody's trouble, however sure.
pub const NAMED_FROM: f64 = 1.1;
/// So many are said in words, the worst first.
const NAMES_MAX: usize = 8;
/// Of all slowdowns of a study together, how probable a false one is.
const ALPHA: f64 = 0.01;
/// A domain waits for CPU where its threads together wait so long in a second, and so much longer than alone.
const WAITS_FROM: f64 = 0.1;
const WAITS_MORE: f64 = 0.05;
/// A domain uses the disk from so many MB/s on, and waits for it where an I/O takes so many times as long as alone.
const DISK_MB_FROM: f64 = 0.1;
const DISK_SLOWER: f64 = 1.2;

/// A domain uses the network from so many Mbit/s on.
const NET_MBIT_FROM: f64 = 10.0;

/// A victim beside its neighbours, over itself alone.
struct Slowdown<'a> {
    /// Place of the victim's domain.
    domain: usize,
    alone: &'a Cell<'a>,
    beside: &'a Cell<'a>,
    compared: Compared,
    is_named: bool,
}

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
    // Of remedies only those that were begun: which others follow, their runs say.
    let has_runs = |part: &&Part| runs.iter().any(|run| run.part == part.name);
    let begun: Vec<&Part> = plan.parts.iter().filter(|own| own.name == PART || has_runs(own)).collect();
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
        caveats: doubts(begun.into_iter(), runs).chain(of_runs(runs)).collect(),
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

/// All that are named, the worst first.
pub fn troubles(plan: &Plan, runs: &[Run]) -> Vec<Trouble> {
    let Some(part) = plan.part(PART) else { return Vec::new() };
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

/// The jobs of a domain that do something.
fn victims(part: &Part, domain: usize) -> impl Iterator<Item = &str> {
    let levels = part.factors[domain].levels.iter().map(|level| level.name.as_str());
    levels.filter(|name| Job::named(name).is_some_and(Job::is_busy))
}

/// Places and jobs of the domains beside one that have a job.
fn others<'a>(part: &Part, levels: &'a [String], domain: usize) -> impl Iterator<Item = (usize, &'a str)> {
    let all = (0..part.factors.len()).zip(levels.iter().map(String::as_str));
    all.filter(move |(place, job)| *place != domain && *job != ALONE)
}

/// Those in words.
fn neighbours(part: &Part, levels: &[String], domain: usize) -> String {
    let words =
        others(part, levels, domain).map(|(place, job)| format!("{}'s {job}", part.factors[place].name));
    words.collect::<Vec<_>>().join(" + ")
}

fn key(figure: &str, part: &Part, domain: usize) -> String {
    format!("{figure}@{}", part.factors[domain].name)
}

fn mean(cell: &Cell<'_>, figure: &str, domain: usize) -> Option<f64> {
    cell.mean(&key(figure, cell.part, domain))
}

fn rate(cell: &Cell<'_>, domain: usize, repeat: u32) -> Option<f64> {
    cell.runs.iter().find(|run| run.repeat == repeat)?.figure(&key("rate", cell.part, domain))
}

fn slowdowns<'a>(part: &Part, cells: &'a [Cell<'a>]) -> Vec<Slowdown<'a>> {
    let mut found = Vec::new();
    for domain in 0..part.factors.len() {
        for job in victims(part, domain) {
            // Neighbours beside whom it had no rate, or stalled, say nothing of the others.
            let is_its = |cell: &&Cell<'_>| {
                let rates = cell.values(&key("rate", part, domain));
                cell.part.name == PART
                    && cell.levels[domain] == job
                    && !rates.is_empty()
                    && rates.iter().all(|rate| *rate > 0.0)
            };
            let own: Vec<&Cell<'_>> = cells.iter().filter(is_its).collect();
            let Some((alone, rest)) = own.split_first() else { continue };
            let block = |repeat| own.iter().map(|cell| rate(cell, domain, repeat)).collect();
            let blocks: Vec<Vec<f64>> = (1..=part.repeats).filter_map(block).collect();
            let all =
                first_over_others(&blocks).filter(|_| others(part, alone.levels, domain).next().is_none());
            let all = rest.iter().zip(all.into_iter().flatten());
            found.extend(all.map(|(beside, compared)| Slowdown {
                domain,
                alone,
                beside,
                compared,
                is_named: false,
            }));
        }
    }
    let p: Vec<f64> = found.iter().map(|one| one.compared.p).collect();
    for (one, stands) in found.iter_mut().zip(holm(&p, ALPHA)) {
        let Ratio { ratio, interval, .. } = one.compared.ratio;
        one.is_named = stands && ratio >= NAMED_FROM && interval.is_some_and(|(low, _)| low > 1.0);
    }
    found
}

/// Jobs that did not finish two pieces in some run, in words.
fn stalls(part: &Part, cells: &[Cell<'_>]) -> Vec<String> {
    let words = |(cell, domain): (&Cell<'_>, usize)| {
        let rates = cell.values(&key("rate", part, domain));
        let count = rates.iter().filter(|rate| **rate <= 0.0).count();
        let beside = format!("beside {}", neighbours(part, cell.levels, domain));
        let beside = if beside.ends_with(' ') { ALONE } else { &beside };
        let (name, job, of) = (&part.factors[domain].name, &cell.levels[domain], counted(rates.len(), "run"));
        let errors = cell.values(&key("errors", part, domain));
        let what = if errors.iter().any(|count| *count > 0.0) {
            "failed or did not finish"
        } else {
            "did not finish"
        };
        (count > 0).then(|| format!("{name}'s {job} {what} {beside} in {count} of {of}"))
    };
    let own = cells.iter().filter(|cell| cell.part.name == PART);
    own.flat_map(|cell| (0..cell.levels.len()).map(move |domain| (cell, domain))).filter_map(words).collect()
}

impl Slowdown<'_> {
    fn words(&self) -> String {
        if self.beside.levels[self.domain] == CLONE {
            // It is no process of the domain, so that nothing is known of what it waits for.
            return format!("{}.", self.in_short());
        }
        let why = match (self.reasons().as_slice(), self.unseen()) {
            ([], Some(name)) => format!("cause not known, since CPU and disk of {name} were not seen"),
            ([], None) => "cause not found (caches and memory bandwidth are not watched)".to_owned(),
            (some, _) => some.join(", "),
        };
        let got = mean(self.beside, "cpus", self.domain).zip(mean(self.alone, "cpus", self.domain));
        let got = got.map_or_else(String::new, |(beside, alone)| {
            format!(" ({} CPUs instead of {})", significant(beside, 2), significant(alone, 2))
        });
        format!("{}: {why}{got}.", self.in_short())
    }

    fn in_short(&self) -> String {
        let (part, levels) = (self.beside.part, self.beside.levels);
        let (victim, job) = (&part.factors[self.domain].name, &levels[self.domain]);
        let (ratio, neighbours) = (within(&self.compared.ratio), neighbours(part, levels, self.domain));
        format!("{victim}'s {job} is {ratio} times slower beside {neighbours}")
    }

    /// Whether each neighbour has so much of a figure.
    fn all(&self, figure: &str, least: f64) -> bool {
        let mut others = others(self.beside.part, self.beside.levels, self.domain);
        others.all(|(place, _)| mean(self.beside, figure, place).is_some_and(|value| value >= least))
    }

    /// What was seen that makes the victim slow.
    fn reasons(&self) -> Vec<String> {
        let own = |figure: &str| mean(self.beside, figure, self.domain).unwrap_or(0.0);
        let count = others(self.beside.part, self.beside.levels, self.domain).count();
        let who = if count > 1 { "all" } else { "both" };
        let mut found = Vec::new();
        if self.waits_for_cpu() {
            let all = self.all("waiting", WAITS_FROM);
            found.push(if all { format!("{who} wait for CPU") } else { "it waits for CPU".to_owned() });
        }
        if self.waits_for_disk() {
            found.push(format!("{who} wait for the disk"));
        }
        if own("net_mbit") >= NET_MBIT_FROM && self.all("net_mbit", NET_MBIT_FROM) {
            found.push(format!("{who} send over the same network"));
        }
        found
    }

    fn waits_for_cpu(&self) -> bool {
        let own = |cell| mean(cell, "waiting", self.domain).unwrap_or(0.0);
        own(self.beside) >= WAITS_FROM.max(WAITS_MORE + own(self.alone))
    }

    /// A domain of which nobody saw whether it waits.
    fn unseen(&self) -> Option<&str> {
        let beside = others(self.beside.part, self.beside.levels, self.domain).map(|(place, _)| place);
        let mut all = std::iter::once(self.domain).chain(beside);
        let unseen = all.find(|place| mean(self.beside, "waiting", *place).is_none())?;
        Some(&self.beside.part.factors[unseen].name)
    }

    fn waits_for_disk(&self) -> bool {
        let own = |cell, figure: &str| mean(cell, figure, self.domain);
        let io_ms = own(self.beside, "disk_ms").zip(own(self.alone, "disk_ms"));
        let used = own(self.beside, "disk_mb_per_s").unwrap_or(0.0);
        io_ms.is_some_and(|(beside, alone)| beside >= DISK_SLOWER * alone)
            && used >= DISK_MB_FROM
            && self.all("disk_mb_per_s", DISK_MB_FROM)
    }
}

/// `1.9 (1.7 to 2.1)`.
pub fn within(ratio: &Ratio) -> String {
    let within = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", significant(low, 2), significant(high, 2))
    });
    format!("{}{within}", significant(ratio.ratio, 2))
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
            let most = significant(highs.fold(1.0, f64::max), 2);
            format!("No slowdown is certain in {of}; by the 95 % intervals none is above {most} times.")
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
