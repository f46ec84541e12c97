//! What the runs come to: slowdowns with their intervals, which of them are named, and why they are.

use super::jobs::{ALONE, Job};
use super::setting::{DOMAINS, PART, Setting};
use crate::format::{counted, significant};
use crate::harness::{Cell, Judgement, Mark, Matrix, Number, Part, Plan, Run, cell, cells, doubts, of_runs};
use evenkeel_core::statistics::{Compared, Estimate, Ratio, first_over_others, holm};

/// A slowdown below this is nobody's trouble, however sure.
pub const NAMED_FROM: f64 = 1.1;
/// Of all slowdowns of a study together, how probable a false one is.
const ALPHA: f64 = 0.05;
/// A domain waits for CPU where its threads together wait so long in a second, and so much longer than alone.
const WAITS_FROM: f64 = 0.1;
const WAITS_MORE: f64 = 0.05;
/// A domain uses the disk from so many MB/s on, and waits for it where an I/O takes so many times as long as alone.
const DISK_MB_FROM: f64 = 0.1;
const DISK_SLOWER: f64 = 1.2;

/// A job in a domain.
type Place<'a> = (usize, &'a str);

struct Slowdown<'a> {
    victim: Place<'a>,
    neighbour: Place<'a>,
    compared: Compared,
    is_named: bool,
}

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let Some(part) = plan.part(PART) else { return Judgement::default() };
    let (cells, found) = (cells(plan, runs), slowdowns(part, runs));
    let named = worst_first(&found);
    let mut sentences: Vec<String> = named.iter().map(|one| one.words(&cells)).collect();
    sentences.push(losses(runs));
    let matrices =
        (0..DOMAINS.len()).map(|domain| matrix(part, domain, &found)).chain([together(part, runs)]);
    Judgement {
        headline: headline(&named, &found),
        rule: format!(
            "A slowdown is named where it is {NAMED_FROM} or more and, counting all of {}, by chance in one study of 20 at most.",
            counted(found.len(), "pair")
        ),
        setting: format!(
            "a: {}; b: {}; {} s for each pair, seed {}",
            setting.domains[0], setting.domains[1], setting.seconds, plan.seed
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
        format!("{}'s {job} beside {}'s {}", DOMAINS[*victim], DOMAINS[1 - victim], self.neighbour)
    }
}

/// All that are named, the worst first.
pub fn troubles(plan: &Plan, runs: &[Run]) -> Vec<Trouble> {
    let Some(part) = plan.part(PART) else { return Vec::new() };
    let (cells, found) = (cells(plan, runs), slowdowns(part, runs));
    let trouble = |one: &&Slowdown<'_>| {
        let seen = Seen::of(one, &cells);
        let of_neighbour = |figure: &str| format!("{figure}@{}", DOMAINS[one.neighbour.0]);
        Trouble {
            victim: (one.victim.0, one.victim.1.to_owned()),
            neighbour: one.neighbour.1.to_owned(),
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
    let levels = part.levels(DOMAINS[domain]).iter().map(|level| level.name.as_str());
    levels.filter(|name| Job::named(name).is_some_and(Job::is_busy))
}

/// What there is in the other domain, first of all no job.
fn conditions(part: &Part, domain: usize) -> Vec<&str> {
    let levels = part.levels(DOMAINS[1 - domain]).iter().map(|level| level.name.as_str());
    [ALONE].into_iter().chain(levels.filter(|name| *name != ALONE)).collect()
}

/// Levels of the run in which a domain has a job and the other one another.
fn levels<'a>((domain, own): Place<'a>, other: &'a str) -> [&'a str; 2] {
    if domain == 0 { [own, other] } else { [other, own] }
}

fn rate(runs: &[Run], victim: Place<'_>, other: &str, repeat: u32) -> Option<f64> {
    let wanted = levels(victim, other);
    let run = runs.iter().find(|run| run.part == PART && run.repeat == repeat && run.levels == wanted)?;
    run.figure(&format!("rate@{}", DOMAINS[victim.0]))
}

fn slowdowns<'a>(part: &'a Part, runs: &[Run]) -> Vec<Slowdown<'a>> {
    let mut found = Vec::new();
    for domain in 0..DOMAINS.len() {
        for victim in victims(part, domain).map(|job| (domain, job)) {
            // A neighbour beside whom it never had a rate says nothing of the others.
            let has_rate =
                |other: &&str| (1..=part.repeats).any(|repeat| rate(runs, victim, other, repeat).is_some());
            let conditions: Vec<&str> = conditions(part, domain).into_iter().filter(has_rate).collect();
            if conditions.first() != Some(&ALONE) {
                continue;
            }
            let block = |repeat| conditions.iter().map(|other| rate(runs, victim, other, repeat)).collect();
            let blocks: Vec<Vec<f64>> = (1..=part.repeats).filter_map(block).collect();
            let Some(all) = first_over_others(&blocks) else { continue };
            let others = conditions[1..].iter().zip(all);
            found.extend(others.map(|(other, compared)| Slowdown {
                victim,
                neighbour: (1 - domain, *other),
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
        let got = seen.own(seen.alone, "cpus").zip(seen.own(seen.beside, "cpus"));
        let got = got.map_or_else(String::new, |(alone, beside)| {
            format!(" ({} CPUs instead of {})", significant(beside, 2), significant(alone, 2))
        });
        format!("{}: {why}{got}.", self.in_short())
    }

    fn in_short(&self) -> String {
        let [(victim, job), (neighbour, other)] = [self.victim, self.neighbour];
        let (victim, neighbour, ratio) = (DOMAINS[victim], DOMAINS[neighbour], within(&self.compared.ratio));
        format!("{victim}'s {job} is {ratio} times slower beside {neighbour}'s {other}")
    }
}

/// `1.9 (1.7 to 2.1)`.
pub fn within(ratio: &Ratio) -> String {
    let within = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", significant(low, 2), significant(high, 2))
    });
    format!("{}{within}", significant(ratio.ratio, 2))
}

/// The runs of a victim without and with its neighbour.
struct Seen<'a, 'b> {
    victim: usize,
    alone: Option<&'b Cell<'a>>,
    beside: Option<&'b Cell<'a>>,
}

impl<'a, 'b> Seen<'a, 'b> {
    fn of(one: &Slowdown<'_>, cells: &'b [Cell<'a>]) -> Self {
        let found = |other| cell(cells, PART, &levels(one.victim, other));
        Self { victim: one.victim.0, alone: found(ALONE), beside: found(one.neighbour.1) }
    }

    /// A figure of the victim.
    fn own(&self, of: Option<&Cell<'_>>, figure: &str) -> Option<f64> {
        of?.mean(&format!("{figure}@{}", DOMAINS[self.victim]))
    }

    /// What was seen that makes the victim slow.
    fn reasons(&self) -> Vec<&'static str> {
        let other = |figure: &str| self.beside?.mean(&format!("{figure}@{}", DOMAINS[1 - self.victim]));
        let mut found = Vec::new();
        let waits = self.own(self.beside, "waiting").unwrap_or(0.0);
        if waits >= WAITS_FROM && waits >= WAITS_MORE + self.own(self.alone, "waiting").unwrap_or(0.0) {
            let both = other("waiting").is_some_and(|waits| waits >= WAITS_FROM);
            found.push(if both { "both wait for CPU" } else { "it waits for CPU" });
        }
        if self.waits_for_disk() {
            found.push("both wait for the disk");
        }
        found
    }

    fn waits_for_disk(&self) -> bool {
        let io_ms = |of: Option<&Cell<'_>>| of?.mean("disk_ms");
        let is_slower = io_ms(self.beside)
            .zip(io_ms(self.alone))
            .is_some_and(|(beside, alone)| beside >= DISK_SLOWER * alone);
        let uses = |place: usize| {
            let used = self.beside.and_then(|cell| cell.mean(&format!("disk_mb_per_s@{}", DOMAINS[place])));
            used.is_some_and(|mb_per_s| mb_per_s >= DISK_MB_FROM)
        };
        is_slower && (0..DOMAINS.len()).all(uses)
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

/// Errors of statements, and what was wrong with tables afterwards.
fn losses(runs: &[Run]) -> String {
    let sum = |figure: &str| -> f64 {
        let of = DOMAINS.map(|name| format!("{figure}@{name}"));
        runs.iter().flat_map(|run| of.iter().filter_map(|figure| run.figure(figure))).sum()
    };
    let (errors, faults) = (sum("errors"), sum("faults"));
    if errors + faults == 0.0 {
        return "No error and no loss: tables pass CHECK TABLE, no checksum changed, and no committed row is missing."
            .to_owned();
    }
    let said = |run: &Run| DOMAINS.iter().find_map(|name| run.notes.get(&format!("error@{name}")).cloned());
    let first = runs.iter().find_map(|run| Some((Run::name(&run.part, &run.levels, run.repeat), said(run)?)));
    let first = first.map_or_else(String::new, |(run, text)| format!("; the first one in {run}: {text}"));
    format!(
        "{} and {}{first}.",
        counted(errors as usize, "error"),
        counted(faults as usize, "fault of a table")
    )
}

/// How much slower the jobs of a domain are beside those of the other one.
fn matrix(part: &Part, domain: usize, found: &[Slowdown<'_>]) -> Matrix {
    let (own, other) = (DOMAINS[domain], DOMAINS[1 - domain]);
    let columns = &conditions(part, domain)[1..];
    let place = |job: &str, column: &str| {
        let one = found.iter().find(|one| one.victim == (domain, job) && one.neighbour.1 == column)?;
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
        columns: columns.iter().map(|job| format!("{other}'s {job}")).collect(),
        rows: victims(part, domain).map(row).collect(),
    }
}

/// What both jobs do together, of what each does alone: 2 where neither minds the other, 1 where they take turns.
fn together(part: &Part, runs: &[Run]) -> Matrix {
    let place = |one: &str, other: &str| {
        let share = |place, beside: &str, repeat| {
            Some(rate(runs, place, beside, repeat)? / rate(runs, place, ALONE, repeat)?)
        };
        let sum = |repeat| Some(share((0, one), other, repeat)? + share((1, other), one, repeat)?);
        let sums: Vec<f64> = (1..=part.repeats).filter_map(sum).collect();
        Some(Mark { number: Number::mean("together", &Estimate::of(&sums)?), is_strong: false })
    };
    let columns: Vec<&str> = victims(part, 1).collect();
    let row = |job: &str| (format!("a's {job}"), columns.iter().map(|other| place(job, other)).collect());
    Matrix {
        part: PART.to_owned(),
        title: "both together, of what each does alone".to_owned(),
        words: "2 where neither minds the other, 1 where they take turns.",
        fine: None,
        columns: columns.iter().map(|job| format!("b's {job}")).collect(),
        rows: if columns.is_empty() { Vec::new() } else { victims(part, 0).map(row).collect() },
    }
}

#[cfg(test)]
mod tests;
