//! What the runs come to: slowdowns with their intervals, which of them are named, and why they are.

use super::jobs::{ALONE, CLONE, Job};
use super::setting::{PAIR, PART, Setting};
use crate::format::{counted, significant};
use crate::harness::{Cell, Judgement, Mark, Matrix, Number, Part, Plan, Run, cells, doubts, of_runs};
use evenkeel_core::statistics::{Compared, Estimate, Ratio, first_over_others, holm};

/// A slowdown below this is nobody's trouble, however sure.
pub const NAMED_FROM: f64 = 1.1;
/// So many are said in words, the worst first.
const NAMES_MAX: usize = 8;
/// Of all slowdowns of a study together, how probable a false one is.
const ALPHA: f64 = 0.05;
/// A domain waits for CPU where its threads together wait so long in a second, and so much longer than alone.
const WAITS_FROM: f64 = 0.1;
const WAITS_MORE: f64 = 0.05;
/// A domain uses the disk from so many MB/s on, and waits for it where an I/O takes so many times as long as alone.
const DISK_MB_FROM: f64 = 0.1;
const DISK_SLOWER: f64 = 1.2;

/// A domain uses the network from so many Mbit/s on.
const NET_MBIT_FROM: f64 = 10.0;

/// A job in a domain.
type Place<'a> = (usize, &'a str);

struct Slowdown<'a> {
    part: &'a Part,
    victim: Place<'a>,
    /// What there is in the other domains.
    others: Vec<String>,
    compared: Compared,
    is_named: bool,
}

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let Some(part) = plan.part(PART) else { return Judgement::default() };
    let (cells, found) = (cells(plan, runs), slowdowns(part, runs));
    let named = worst_first(&found);
    let mut sentences: Vec<String> = named.iter().take(NAMES_MAX).map(|one| one.words(&cells)).collect();
    let more = named.len().saturating_sub(NAMES_MAX);
    sentences
        .extend((more > 0).then(|| format!("{} more: the tables mark them.", counted(more, "slowdown"))));
    sentences.push(losses(part, runs));
    let matrices =
        (0..part.factors.len()).map(|domain| matrix(part, domain, &found)).chain([together(part, runs)]);
    let clones = part.factors.iter().any(|factor| factor.levels.iter().any(|level| level.name == CLONE));
    let domains =
        part.factors.iter().zip(&setting.domains).map(|(factor, site)| format!("{}: {site}", factor.name));
    Judgement {
        headline: headline(&named, &found),
        rule: format!(
            "A slowdown is named where it is {NAMED_FROM} or more and, counting all of {}, by chance in one study of 20 at most.{}",
            counted(found.len(), "pair"),
            if clones { " A clone is made outside the limits of its domain, and its CPU time is not counted." } else { "" }
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
        caveats: doubts(std::iter::once(part), runs).chain(of_runs(runs)).collect(),
        ..Judgement::default()
    }
}

/// Those that are named.
fn worst_first<'a, 'b>(found: &'b [Slowdown<'a>]) -> Vec<&'b Slowdown<'a>> {
    let mut named: Vec<&Slowdown<'_>> = found.iter().filter(|one| one.is_named).collect();
    named.sort_by(|one, other| other.compared.ratio.ratio.total_cmp(&one.compared.ratio.ratio));
    named
}

/// A slowdown that is named, as remedies need it.
pub struct Trouble {
    /// Place of its domain, and the job there.
    pub victim: (usize, String),
    /// The job of the other domain.
    pub neighbour: String,
    /// Times slower.
    pub ratio: f64,
    pub waits_for_disk: bool,
    /// What the neighbour did meanwhile: on the disk, and its rates.
    pub neighbour_mb_per_s: Option<f64>,
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
    let (cells, found) = (cells(plan, runs), slowdowns(part, runs));
    let trouble = |one: &&Slowdown<'_>| {
        let seen = Seen::of(one, &cells);
        let of_neighbour = |figure: &str| format!("{figure}@{}", PAIR[1 - one.victim.0]);
        Trouble {
            victim: (one.victim.0, one.victim.1.to_owned()),
            neighbour: one.others.concat(),
            ratio: one.compared.ratio.ratio,
            waits_for_disk: seen.waits_for_disk(),
            neighbour_mb_per_s: seen.beside.and_then(|cell| cell.mean(&of_neighbour("disk_mb_per_s"))),
            neighbour_rates: seen.beside.map_or_else(Vec::new, |cell| cell.values(&of_neighbour("rate"))),
        }
    };
    worst_first(&found).iter().map(trouble).collect()
}

/// The jobs of a domain that do something.
fn victims(part: &Part, domain: usize) -> impl Iterator<Item = &str> {
    let levels = part.factors[domain].levels.iter().map(|level| level.name.as_str());
    levels.filter(|name| Job::named(name).is_some_and(Job::is_busy))
}

/// What there is in the other domains, first of all no job in any.
fn conditions(part: &Part, domain: usize) -> Vec<Vec<String>> {
    let mut others = part.clone();
    others.factors.remove(domain);
    others.combinations()
}

fn is_alone(others: &[String]) -> bool {
    others.iter().all(|level| level == ALONE)
}

/// Levels of the run in which a domain has a job and the others these.
fn levels((domain, own): Place<'_>, others: &[String]) -> Vec<String> {
    let mut all = others.to_vec();
    all.insert(domain, own.to_owned());
    all
}

/// Names of the domains beside one that have a job, each with its job.
fn beside<'a>(
    part: &'a Part,
    domain: usize,
    others: &'a [String],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let names = part.factors.iter().enumerate().filter(move |(place, _)| *place != domain);
    let all = names.map(|(_, factor)| factor.name.as_str()).zip(others.iter().map(String::as_str));
    all.filter(|(_, job)| *job != ALONE)
}

/// Those in words.
fn neighbours(part: &Part, domain: usize, others: &[String]) -> String {
    beside(part, domain, others).map(|(name, job)| format!("{name}'s {job}")).collect::<Vec<_>>().join(" + ")
}

fn rate(part: &Part, runs: &[Run], victim: Place<'_>, others: &[String], repeat: u32) -> Option<f64> {
    let wanted = levels(victim, others);
    let run = runs.iter().find(|run| run.part == PART && run.repeat == repeat && run.levels == wanted)?;
    run.figure(&format!("rate@{}", part.factors[victim.0].name))
}

fn slowdowns<'a>(part: &'a Part, runs: &[Run]) -> Vec<Slowdown<'a>> {
    let mut found = Vec::new();
    for domain in 0..part.factors.len() {
        for victim in victims(part, domain).map(|job| (domain, job)) {
            // Neighbours beside whom it never had a rate say nothing of the others.
            let has_rate = |others: &Vec<String>| {
                (1..=part.repeats).any(|repeat| rate(part, runs, victim, others, repeat).is_some())
            };
            let conditions: Vec<_> = conditions(part, domain).into_iter().filter(has_rate).collect();
            if !conditions.first().is_some_and(|first| is_alone(first)) {
                continue;
            }
            let block =
                |repeat| conditions.iter().map(|others| rate(part, runs, victim, others, repeat)).collect();
            let blocks: Vec<Vec<f64>> = (1..=part.repeats).filter_map(block).collect();
            let Some(all) = first_over_others(&blocks) else { continue };
            let others = conditions.into_iter().skip(1).zip(all);
            found.extend(others.map(|(others, compared)| Slowdown {
                part,
                victim,
                others,
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

impl Slowdown<'_> {
    fn words(&self, cells: &[Cell<'_>]) -> String {
        let seen = Seen::of(self, cells);
        let why = match seen.reasons().as_slice() {
            [] => "nothing that was watched says why".to_owned(),
            some => some.join(", "),
        };
        let got = seen.own(seen.beside, "cpus").zip(seen.own(seen.alone, "cpus"));
        let got = got.map_or_else(String::new, |(beside, alone)| {
            format!(" ({} CPUs instead of {})", significant(beside, 2), significant(alone, 2))
        });
        format!("{}: {why}{got}.", self.in_short())
    }

    fn in_short(&self) -> String {
        let (domain, job) = self.victim;
        let (victim, ratio) = (&self.part.factors[domain].name, within(&self.compared.ratio));
        let neighbours = neighbours(self.part, domain, &self.others);
        format!("{victim}'s {job} is {ratio} times slower beside {neighbours}")
    }
}

/// `1.9 (1.7 to 2.1)`.
pub fn within(ratio: &Ratio) -> String {
    let within = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", significant(low, 2), significant(high, 2))
    });
    format!("{}{within}", significant(ratio.ratio, 2))
}

/// The runs of a victim without and with its neighbours.
struct Seen<'a, 'b> {
    victim: &'b str,
    neighbours: Vec<&'b str>,
    alone: Option<&'b Cell<'a>>,
    beside: Option<&'b Cell<'a>>,
}

impl<'a, 'b> Seen<'a, 'b> {
    fn of(one: &'b Slowdown<'_>, cells: &'b [Cell<'a>]) -> Self {
        let found = |others: &[String]| {
            let wanted = levels(one.victim, others);
            cells.iter().find(|cell| cell.part.name == PART && cell.levels == wanted)
        };
        let neighbours = beside(one.part, one.victim.0, &one.others).map(|(name, _)| name);
        Self {
            victim: &one.part.factors[one.victim.0].name,
            neighbours: neighbours.collect(),
            alone: found(&vec![ALONE.to_owned(); one.others.len()]),
            beside: found(&one.others),
        }
    }

    /// A figure of the victim.
    fn own(&self, of: Option<&Cell<'_>>, figure: &str) -> Option<f64> {
        of?.mean(&format!("{figure}@{}", self.victim))
    }

    /// Whether each neighbour has so much of a figure.
    fn all(&self, figure: &str, least: f64) -> bool {
        let mean = |name: &&str| self.beside?.mean(&format!("{figure}@{name}"));
        self.neighbours.iter().all(|name| mean(name).is_some_and(|value| value >= least))
    }

    /// What was seen that makes the victim slow.
    fn reasons(&self) -> Vec<String> {
        let own = |figure: &str| self.own(self.beside, figure).unwrap_or(0.0);
        let who = if self.neighbours.len() > 1 { "all" } else { "both" };
        let mut found = Vec::new();
        let waits = own("waiting");
        if waits >= WAITS_FROM && waits >= WAITS_MORE + self.own(self.alone, "waiting").unwrap_or(0.0) {
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

    fn waits_for_disk(&self) -> bool {
        let io_ms = |of: Option<&Cell<'_>>| self.own(of, "disk_ms");
        let is_slower = io_ms(self.beside)
            .zip(io_ms(self.alone))
            .is_some_and(|(beside, alone)| beside >= DISK_SLOWER * alone);
        let used = self.own(self.beside, "disk_mb_per_s").unwrap_or(0.0);
        is_slower && used >= DISK_MB_FROM && self.all("disk_mb_per_s", DISK_MB_FROM)
    }
}

fn headline(named: &[&Slowdown<'_>], found: &[Slowdown<'_>]) -> String {
    let of = counted(found.len(), "pair");
    match named.first() {
        Some(first) => format!("{} of {of} interfere; most of all, {}.", named.len(), first.in_short()),
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
fn losses(part: &Part, runs: &[Run]) -> String {
    let of = |figure: &str| {
        let names: Vec<String> =
            part.factors.iter().map(|factor| format!("{figure}@{}", factor.name)).collect();
        runs.iter().flat_map(move |run| names.iter().filter_map(|name| run.figure(name)).collect::<Vec<_>>())
    };
    let (errors, faults) = (of("errors").sum::<f64>(), of("faults").sum::<f64>());
    let lines: Vec<f64> = runs.iter().filter_map(|run| run.figure("kernel_lines")).collect();
    let log = match lines.iter().sum::<f64>() {
        _ if lines.is_empty() => "it cannot be read here (that takes root)".to_owned(),
        0.0 => "nothing".to_owned(),
        some => format!("{} of trouble, see the doubts", counted(some as usize, "line")),
    };
    let log = format!("Kernel log: {log}.");
    if errors + faults == 0.0 {
        return format!(
            "No error and no loss: tables pass CHECK TABLE, no checksum changed, and no committed row is missing. {log}"
        );
    }
    let said = |run: &Run| {
        part.factors.iter().find_map(|factor| run.notes.get(&format!("error@{}", factor.name)).cloned())
    };
    let first = runs.iter().find_map(|run| Some((Run::name(&run.part, &run.levels, run.repeat), said(run)?)));
    let first = first.map_or_else(String::new, |(run, text)| format!("; the first one in {run}: {text}"));
    format!(
        "{} and {}{first}. {log}",
        counted(errors as usize, "error"),
        counted(faults as usize, "fault of a table")
    )
}

/// How much slower the jobs of a domain are beside those of the others.
fn matrix(part: &Part, domain: usize, found: &[Slowdown<'_>]) -> Matrix {
    let own = &part.factors[domain].name;
    let columns = &conditions(part, domain)[1..];
    let place = |job: &str, column: &Vec<String>| {
        let one = found.iter().find(|one| one.victim == (domain, job) && one.others == *column)?;
        let Ratio { ratio, interval, .. } = one.compared.ratio;
        let number = Number { name: "slowdown".to_owned(), value: ratio, interval };
        Some(Mark { number, is_strong: one.is_named })
    };
    let row =
        |job: &str| (format!("{own}'s {job}"), columns.iter().map(|column| place(job, column)).collect());
    Matrix {
        part: PART.to_owned(),
        title: format!("times slower in {own}"),
        words: "Rows are victims, columns their neighbours, with 95 % intervals. The darker the slower; a frame marks what is named.",
        fine: Some(1.0),
        columns: columns.iter().map(|others| neighbours(part, domain, others)).collect(),
        rows: victims(part, domain).map(row).collect(),
    }
}

/// What the first domain's jobs and their neighbours do together, of what each does alone: as many as they are where nobody minds the
/// others, 1 where they take turns.
fn together(part: &Part, runs: &[Run]) -> Matrix {
    let is_busy = |name: &String| name == ALONE || Job::named(name).is_some_and(Job::is_busy);
    let columns: Vec<Vec<String>> =
        conditions(part, 0).into_iter().skip(1).filter(|others| others.iter().all(is_busy)).collect();
    let place = |job: &str, others: &[String]| {
        let all = levels((0, job), others);
        let share = |domain: usize, repeat| {
            let (mut others, alone) = (all.clone(), vec![ALONE.to_owned(); all.len() - 1]);
            let victim = others.remove(domain);
            let rate = |others: &[String]| rate(part, runs, (domain, &victim), others, repeat);
            if victim == ALONE { Some(0.0) } else { Some(rate(&others)? / rate(&alone)?) }
        };
        let sum = |repeat| (0..all.len()).map(|domain| share(domain, repeat)).sum::<Option<f64>>();
        let sums: Vec<f64> = (1..=part.repeats).filter_map(sum).collect();
        Some(Mark { number: Number::mean("together", &Estimate::of(&sums)?), is_strong: false })
    };
    let own = &part.factors[0].name;
    let row =
        |job: &str| (format!("{own}'s {job}"), columns.iter().map(|others| place(job, others)).collect());
    Matrix {
        part: PART.to_owned(),
        title: "together, of what each does alone".to_owned(),
        words: "As many as there are jobs where none minds the others, 1 where they take turns.",
        fine: None,
        columns: columns.iter().map(|others| neighbours(part, 0, others)).collect(),
        rows: if columns.is_empty() { Vec::new() } else { victims(part, 0).map(row).collect() },
    }
}

#[cfg(test)]
mod tests;
