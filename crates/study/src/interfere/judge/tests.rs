//! Slowdowns that were planted.

use super::*;
use crate::interfere::NAME;
use crate::interfere::jobs::{ALONE, JOBS, Job};
use crate::interfere::{Site, parts};
use evenkeel_core::random::{Random, Seed};

const REPEATS: u32 = 3;
const DOMAINS: [&str; 2] = ["a", "b"];

/// Runs in which the job of a domain beside another one is so many times slower, with two percent of noise.
fn made(jobs: [&[&str]; 2], seed: u64, slower: impl Fn((usize, &str), &str) -> f64) -> (Plan, Vec<Run>) {
    let known = |names: &[&str]| names.iter().map(|name| Job::named(name).unwrap()).collect();
    let parts = parts(&DOMAINS.map(str::to_owned), &jobs.map(known), REPEATS);
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
                run.set(
                    &format!("faults@{name}"),
                    Job::named(job).filter(|job| job.is_client()).map(|_| 0.0),
                );
                run.set(&format!("waiting@{name}"), slower - 1.0);
            }
        }
        runs.push(run);
    }
    (Plan { kind: NAME.into(), parts, seed, ..Plan::default() }, runs)
}

fn setting() -> Setting {
    let domains = ["cpus=0", "host"].map(|text| Site::Private(text.parse().unwrap())).to_vec();
    Setting { domains, scratch: None, rows: 500, seconds: 2.0, place: Default::default() }
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
    assert!(headline.starts_with("1 of 7 pairs interferes. Worst: a's select is 2.0 ("), "{headline}");
    assert_eq!(sentences.len(), 2, "{sentences:?}");
    assert!(
        sentences[0].contains("times slower beside b's cpu: it waits for CPU (0.48 CPUs instead of 0.96).")
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
    let (headline, _) = texts(&made([&all, &["idle"]], 1, |_, _| 1.0));
    assert!(
        headline.starts_with("No slowdown is certain in 8 pairs; by the 95 % intervals none is above 1."),
        "{headline}"
    );
    let mut random = Random::new(Seed(5));
    let (plan, mut runs) = made([&["select"], &["cpu"]], 1, |_, _| 1.0);
    runs.iter_mut().for_each(|run| run.set("rate@a", (6.0 * random.normal()).exp()));
    assert!(texts(&(plan, runs)).0.ends_with("too wide. Take more --repeats."));
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
            for name in DOMAINS {
                run.set(&format!("disk_ms@{name}"), if both { disk_ms } else { 1.0 });
                run.set(&format!("waiting@{name}"), 0.0);
                run.set(&format!("disk_mb_per_s@{name}"), 3.0);
            }
        }
        judge(&plan, &setting(), &runs).sentences[0].1.clone()
    };
    assert!(why(2.0).contains(": both wait for the disk ("));
    assert!(why(1.0).contains(": cause not found ("));
    runs.iter_mut().for_each(|run| _ = run.figures.remove("waiting@b"));
    let unseen = &judge(&plan, &setting(), &runs).sentences[0].1;
    assert!(unseen.contains(": cause not known, since CPU and disk of b were not seen"), "{unseen}");
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
    assert!(last.contains(": deadlock. Kernel log: "), "{last}");
}

#[test]
fn one_run_of_each_pair_and_none_at_all_say_so() {
    let (plan, mut runs) = made([&["write"], &["cpu"]], 8, |_, _| 2.0);
    runs.retain(|run| run.repeat == 1);
    assert!(texts(&(plan.clone(), runs)).0.starts_with("Nothing can be said yet"));
    let (headline, sentences) = texts(&(plan, Vec::new()));
    assert!(headline.starts_with("Nothing can be said yet"));
    assert!(sentences[0].starts_with("No table was checked: no job has worked on one. Kernel log: "));
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
    // A stall in one run takes the pair away, which is said.
    runs.iter_mut()
        .filter(|run| run.levels == ["select", "write"])
        .take(1)
        .for_each(|run| run.set("rate@a", 0.0));
    let stalled =
        "a's select did not finish beside b's write in 1 of 1 run. 1 of 2 pairs interferes. Worst: a's s";
    assert!(texts(&(plan.clone(), runs.clone())).0.starts_with(stalled));
    let mut failed = runs.clone();
    failed.iter_mut().for_each(|run| run.set("errors@a", 9.0));
    assert!(
        texts(&(plan.clone(), failed)).0.starts_with("a's select failed or did not finish beside b's write")
    );
    runs.iter_mut().filter(|run| run.levels[0] == "select").for_each(|run| run.set("rate@a", 0.0));
    let (headline, _) = texts(&(plan, runs));
    assert!(
        headline.starts_with("a's select did not finish alone in 3 of 3 runs; a's select did "),
        "{headline}"
    );
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
