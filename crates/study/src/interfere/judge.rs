//! What the runs come to: slowdowns with their intervals, which of them are named, and why they are.

use super::jobs::{ALONE, Job};
use super::setting::{DOMAINS, PART, Setting};
use crate::format::{counted, significant};
use crate::harness::{Cell, Judgement, Mark, Matrix, Number, Part, Plan, Run, cell, cells, doubts, of_runs};
use evenkeel_core::statistics::{Compared, Estimate, Ratio, first_over_others, holm};

/// A slowdown below this is nobody's trouble, however sure.
const NAMED_FROM: f64 = 1.1;
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
    let mut named: Vec<&Slowdown<'_>> = found.iter().filter(|one| one.is_named).collect();
    named.sort_by(|one, other| other.compared.ratio.ratio.total_cmp(&one.compared.ratio.ratio));
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
        caveats: doubts(plan.parts.iter(), runs).chain(of_runs(runs)).collect(),
        ..Judgement::default()
    }
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
        let got = seen.own(|seen| seen.alone, "cpus").zip(seen.own(|seen| seen.beside, "cpus"));
        let got = got.map_or_else(String::new, |(alone, beside)| {
            format!(" ({} CPUs instead of {})", significant(beside, 2), significant(alone, 2))
        });
        format!("{}: {why}{got}.", self.in_short())
    }

    fn in_short(&self) -> String {
        let [(victim, job), (neighbour, other)] = [self.victim, self.neighbour];
        let Ratio { ratio, interval, .. } = self.compared.ratio;
        let within = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", significant(low, 2), significant(high, 2))
        });
        let (victim, neighbour, ratio) = (DOMAINS[victim], DOMAINS[neighbour], significant(ratio, 2));
        format!("{victim}'s {job} is {ratio}{within} times slower beside {neighbour}'s {other}")
    }
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
    fn own(&self, of: impl Fn(&Self) -> Option<&'b Cell<'a>>, figure: &str) -> Option<f64> {
        of(self)?.mean(&format!("{figure}@{}", DOMAINS[self.victim]))
    }

    /// What was seen that makes the victim slow.
    fn reasons(&self) -> Vec<&'static str> {
        let own =
            |of: Option<&Cell<'_>>, figure: &str| of?.mean(&format!("{figure}@{}", DOMAINS[self.victim]));
        let other = |figure: &str| self.beside?.mean(&format!("{figure}@{}", DOMAINS[1 - self.victim]));
        let mut found = Vec::new();
        let waits = own(self.beside, "waiting").unwrap_or(0.0);
        if waits >= WAITS_FROM && waits >= WAITS_MORE + own(self.alone, "waiting").unwrap_or(0.0) {
            let both = other("waiting").is_some_and(|waits| waits >= WAITS_FROM);
            found.push(if both { "both wait for CPU" } else { "it waits for CPU" });
        }
        let io_ms = |of: Option<&Cell<'_>>| of?.mean("disk_ms");
        let is_slower = io_ms(self.beside)
            .zip(io_ms(self.alone))
            .is_some_and(|(beside, alone)| beside >= DISK_SLOWER * alone);
        let uses = |mb_per_s: Option<f64>| mb_per_s.is_some_and(|mb_per_s| mb_per_s >= DISK_MB_FROM);
        if is_slower && uses(own(self.beside, "disk_mb_per_s")) && uses(other("disk_mb_per_s")) {
            found.push("both wait for the disk");
        }
        found
    }
}

fn headline(named: &[&Slowdown<'_>], found: &[Slowdown<'_>]) -> String {
    let of = counted(found.len(), "pair");
    match named.first() {
        Some(first) => format!("{} of {of} interfere; most of all, {}.", named.len(), first.in_short()),
        None if found.iter().all(|one| one.compared.ratio.interval.is_none()) => {
            "Nothing can be said yet: it takes two runs of each pair.".to_owned()
        }
        None => format!("No job is slowed down by 10 % or more beside another one, in {of}."),
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
        columns: columns.iter().map(|job| format!("b's {job}")).collect(),
        rows: if columns.is_empty() { Vec::new() } else { victims(part, 0).map(row).collect() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interfere::NAME;
    use crate::interfere::jobs::JOBS;
    use crate::interfere::parts;
    use evenkeel_core::random::{Random, Seed};

    const REPEATS: u32 = 3;

    /// Runs in which the job of a domain beside another one is so many times slower, with two percent of noise.
    fn made(jobs: [&[&str]; 2], seed: u64, slower: impl Fn(Place<'_>, &str) -> f64) -> (Plan, Vec<Run>) {
        let known = |names: &[&str]| names.iter().map(|name| Job::named(name).unwrap()).collect();
        let parts = parts(&jobs.map(known), REPEATS);
        let mut random = Random::new(Seed(seed));
        let mut runs = Vec::new();
        for (levels, repeat) in parts[0].order(1) {
            let mut run = Run { part: PART.into(), levels: levels.clone(), repeat, ..Run::default() };
            for (place, name) in DOMAINS.iter().enumerate() {
                let (job, other) = (levels[place].as_str(), levels[1 - place].as_str());
                if Job::named(job).is_some_and(Job::is_busy) {
                    let slower = slower((place, job), other);
                    run.set(&format!("rate@{name}"), 100.0 * (0.02 * random.normal()).exp() / slower);
                    run.set(&format!("cpus@{name}"), 0.96 / slower);
                    run.set(&format!("waiting@{name}"), slower - 1.0);
                }
            }
            runs.push(run);
        }
        (Plan { kind: NAME.into(), parts, seed, ..Plan::default() }, runs)
    }

    fn setting() -> Setting {
        let domains = ["cpus=0", "host"].map(|text| text.parse().unwrap());
        Setting { domains, rows: 500, seconds: 2.0, place: Default::default() }
    }

    fn texts((plan, runs): &(Plan, Vec<Run>)) -> (String, Vec<String>) {
        let said = judge(plan, &setting(), runs);
        (said.headline, said.sentences.into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn a_slowdown_that_was_planted_is_named_with_its_reason_and_no_other() {
        let planted = made([&["select", "write", "idle"], &["cpu", "idle"]], 3, |(place, job), other| {
            if (place, job, other) == (0, "select", "cpu") { 2.0 } else { 1.0 }
        });
        let (headline, sentences) = texts(&planted);
        assert!(
            headline.starts_with("1 of 7 pairs interfere; most of all, a's select is 2.0 ("),
            "{headline}"
        );
        assert_eq!(sentences.len(), 2, "{sentences:?}");
        assert!(
            sentences[0]
                .contains("times slower beside b's cpu: it waits for CPU (0.48 CPUs instead of 0.96).")
        );
        assert!(sentences[1].starts_with("No error and no loss"));
    }

    #[test]
    fn neighbours_that_do_nothing_raise_no_alarm_in_most_studies() {
        let all: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
        let named = |seed| {
            let (plan, runs) = made([&all, &["idle"]], seed, |_, _| 1.0);
            judge(&plan, &setting(), &runs).headline.contains("interfere")
        };
        assert_eq!((0..200).filter(|seed| named(*seed)).count(), 0);
    }

    #[test]
    fn what_is_sure_but_small_is_not_named_and_the_largest_is_first() {
        let small = made([&["select"], &["write", "cpu"]], 5, |(place, _), other| match (place, other) {
            (0, "cpu") => 3.0,
            (0, "write") => 1.5,
            (1, "select") => 1.05,
            _ => 1.0,
        });
        let (_, sentences) = texts(&small);
        assert!(
            sentences.len() == 3
                && sentences[0].contains("beside b's cpu")
                && sentences[1].contains("beside b's write")
        );
    }

    #[test]
    fn both_that_wait_for_the_disk_are_told_apart_from_those_that_wait_for_nothing_that_is_seen() {
        let (plan, mut runs) =
            made([&["write"], &["write"]], 6, |_, other| if other == "write" { 2.0 } else { 1.0 });
        let mut why = |disk_ms: f64| {
            for run in &mut runs {
                let both = !run.levels.iter().any(|level| level == ALONE);
                run.set("disk_ms", if both { disk_ms } else { 1.0 });
                for name in DOMAINS {
                    run.set(&format!("waiting@{name}"), 0.0);
                    run.set(&format!("disk_mb_per_s@{name}"), 3.0);
                }
            }
            judge(&plan, &setting(), &runs).sentences[0].1.clone()
        };
        assert!(why(2.0).contains(": both wait for the disk ("));
        assert!(why(1.0).contains(": nothing that was watched says why ("));
    }

    #[test]
    fn errors_and_lost_rows_are_told_with_the_first_of_them() {
        let (plan, mut runs) = made([&["write"], &["cpu"]], 7, |_, _| 1.0);
        runs[1].set("errors@a", 3.0);
        runs[1].set("faults@a", 1.0);
        runs[1].notes.insert("error@a".into(), "deadlock".into());
        let (_, sentences) = texts(&(plan, runs));
        let last = sentences.last().unwrap();
        assert!(last.starts_with("3 errors and 1 fault of a table; the first one in pairs-"), "{last}");
        assert!(last.ends_with(": deadlock."), "{last}");
    }

    #[test]
    fn one_run_of_each_pair_and_none_at_all_say_so() {
        let (plan, mut runs) = made([&["write"], &["cpu"]], 8, |_, _| 2.0);
        runs.retain(|run| run.repeat == 1);
        assert!(texts(&(plan.clone(), runs)).0.starts_with("Nothing can be said yet"));
        assert!(texts(&(plan, Vec::new())).0.starts_with("Nothing can be said yet"));
    }

    #[test]
    fn a_pair_without_a_rate_leaves_the_others_as_they_are() {
        let (plan, mut runs) =
            made(
                [&["select"], &["write", "cpu"]],
                10,
                |(place, _), other| {
                    if (place, other) == (0, "cpu") { 2.0 } else { 1.0 }
                },
            );
        runs.iter_mut().filter(|run| run.levels[1] == "write").for_each(|run| run.figures.clear());
        let said = judge(&plan, &setting(), &runs);
        let places = &said.matrices[0].rows[0].1;
        assert!(places[0].is_none() && places[1].as_ref().is_some_and(|mark| mark.is_strong), "{places:?}");
    }

    #[test]
    fn the_matrix_has_the_victims_as_rows_and_together_tells_turns_from_peace() {
        let (plan, runs) =
            made([&["select"], &["select", "idle"]], 9, |_, other| if other == "select" { 2.0 } else { 1.0 });
        let all = judge(&plan, &setting(), &runs).matrices;
        let value = |at: usize, column: usize| all[at].rows[0].1[column].as_ref().unwrap().number.value;
        assert_eq!(
            (all.len(), all[0].rows[0].0.as_str(), all[0].columns[1].as_str()),
            (3, "a's select", "b's idle")
        );
        assert!((value(0, 0) - 2.0).abs() < 0.1 && (value(0, 1) - 1.0).abs() < 0.1);
        assert!((value(2, 0) - 1.0).abs() < 0.1, "they take turns");
        assert!(all[0].rows[0].1[0].as_ref().unwrap().is_strong);
    }
}
