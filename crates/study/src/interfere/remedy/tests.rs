//! Remedies for slowdowns that were planted.

use super::*;
use crate::interfere::{judge, parts as pairs};
use evenkeel_core::random::{Random, Seed};

const REPEATS: u32 = 4;

fn trouble(victim: usize, mb_per_s: Option<f64>) -> Trouble {
    Trouble {
        victim: (victim, "read".to_owned()),
        neighbour: "cpu".to_owned(),
        least: 1.8,
        alone_rates: vec![2.0],
        waits_for_cpu: mb_per_s.is_none(),
        waits_for_disk: mb_per_s.is_some(),
        neighbour_mb_per_s: mb_per_s,
        neighbour_cpus: None,
        neighbour_rates: vec![1.0],
    }
}

fn tried(trouble: &Trouble, domains: [&str; 2], machine: &str) -> Vec<String> {
    let domains = domains.map(|text| text.parse().unwrap());
    at_hand(trouble, &domains, &machine.parse().unwrap()).iter().map(|of| changes(&domains, of)).collect()
}

#[test]
fn who_shares_a_cpu_gets_another_one_then_a_weight_then_limits() {
    let (weights, half, least) = ("a at weight=400 and b at weight=100", "b at quota=50%", "b at quota=5%");
    let shared = trouble(0, None);
    assert_eq!(tried(&shared, ["cpus=0"; 2], "0-1"), ["b at cpus=1", weights, half, least]);
    assert_eq!(tried(&shared, ["host"; 2], "0-1")[0], "a at cpus=0 and b at cpus=1");
    assert_eq!(tried(&shared, ["cpus=0", "host"], "0-3")[0], "b at cpus=1-3");
    assert_eq!(
        tried(&shared, ["host"; 2], "0"),
        [weights, half, least],
        "a machine with one CPU has none free"
    );
    assert_eq!(tried(&shared, ["cpus=0", "cpus=1"], "0-1"), [half, least], "they have CPUs of their own");
    assert_eq!(tried(&shared, ["cpus=0", "cpus=1,quota=20%"], "0-1"), [least], "it has less already");
    let small = Trouble { neighbour_cpus: Some(0.4), ..trouble(0, None) };
    assert_eq!(tried(&small, ["cpus=0", "cpus=1"], "0-1"), [least], "half a CPU is more than it uses");
    let other = tried(&trouble(1, None), ["cpus=0"; 2], "0-1");
    assert_eq!(other[..2], ["a at cpus=1", "a at weight=100 and b at weight=400"]);
}

#[test]
fn who_waits_for_the_disk_gets_a_neighbour_with_a_limit_on_it() {
    let words = ["b at disk-rate=23M", "b at disk-rate=4M", "b at disk-iops=50"];
    assert_eq!(tried(&trouble(0, Some(100.0)), ["cpus=0", "cpus=1,memory=512M"], "0-1"), words);
    assert_eq!(tried(&trouble(0, Some(0.5)), ["host"; 2], "0-1")[1], "b at disk-rate=1M");
    let both = Trouble { waits_for_cpu: true, ..trouble(0, Some(100.0)) };
    assert_eq!(
        tried(&both, ["cpus=0"; 2], "0-1"),
        ["b at cpus=1", "a at weight=400 and b at weight=100", words[0], words[1]]
    );
}

fn setting() -> Setting {
    let domains = ["cpus=0"; 2].map(|text| Site::Private(text.parse().unwrap())).to_vec();
    Setting { domains, scratch: None, rows: 500, seconds: 2.0, place: Default::default() }
}

/// Pairs in which a's select is half as fast beside b's cpu, and remedies by part with how much slower it is then, and what the neighbour does.
fn made(remedies: &[(&str, f64, f64)]) -> (Plan, Vec<Run>) {
    let jobs = [["select"], ["cpu"]].map(|names| names.map(|name| Job::named(name).unwrap()).to_vec());
    let mut all = pairs(&PAIR.map(str::to_owned), &jobs, REPEATS);
    all.extend(parts(REPEATS));
    let mut random = Random::new(Seed(7));
    let mut noisy = |value: f64| value * (0.02 * random.normal()).exp();
    let mut runs = Vec::new();
    for part in &all {
        let found = remedies.iter().find(|(name, ..)| *name == part.name);
        let Some((slower, share)) =
            found.map(|of| (of.1, of.2)).or((part.name == PART).then_some((2.0, 1.0)))
        else {
            continue;
        };
        for (levels, repeat) in part.order(1) {
            let mut run = Run { part: part.name.clone(), levels: levels.clone(), repeat, ..Run::default() };
            let beside = levels.last().is_some_and(|level| level != ALONE);
            if levels[0] != ALONE || part.name != PART {
                run.set("rate@a", noisy(if beside { 100.0 / slower } else { 100.0 }));
            }
            if beside {
                run.set("rate@b", noisy(0.9 * share));
            }
            if part.name != PART {
                run.notes.insert(REMEDY.into(), format!("b at {}", part.name));
            }
            runs.push(run);
        }
    }
    (Plan { parts: all, seed: 1, ..Plan::default() }, runs)
}

fn wanted((plan, runs): &(Plan, Vec<Run>)) -> Vec<&str> {
    let all = plan.parts.iter().filter(|part| is_remedy(part) && is_wanted(part, plan, &setting(), runs));
    all.map(|part| part.name.as_str()).collect()
}

fn sentences((plan, runs): &(Plan, Vec<Run>)) -> Vec<String> {
    let said = said(judge(plan, &setting(), runs), plan, runs);
    said.sentences.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn remedies_are_tried_until_one_has_removed_the_slowdown_and_the_answer_says_what_it_cost() {
    assert!(wanted(&made(&[])).starts_with(&["remedy-1-1", "remedy-1-2", "remedy-1-3"]));
    assert!(!wanted(&made(&[])).contains(&"remedy-2-1"), "there is no second slowdown");
    let both = made(&[("remedy-1-1", 1.9, 1.0), ("remedy-1-2", 1.02, 0.52)]);
    assert_eq!(wanted(&both), ["remedy-1-1", "remedy-1-2"]);
    let said = sentences(&both);
    assert!(
        said[1].starts_with("With b at remedy-1-1, a's select takes 1.9 (")
            && said[1].contains(": not removed;")
    );
    assert!(
        said[2].starts_with("With b at remedy-1-2, a's ")
            && said[2].contains("as long as alone: removed; b's cpu then does 0.5"),
        "{said:?}"
    );
    let (plan, mut runs) = made(&[("remedy-1-1", 1.4, 1.0), ("remedy-1-2", 1.0, 1.0)]);
    runs.iter_mut()
        .rev()
        .filter(|run| run.levels == [BESIDE])
        .take(1)
        .for_each(|run| run.set("rate@a", 20.0));
    let wide = sentences(&(plan, runs));
    assert!(wide[1].contains(": reduced;") && wide[2].contains(": not certain;"), "{wide:?}");
    assert!(
        said[2].ends_with(" times as much as before.") && said[3].starts_with("No table was checked"),
        "{said:?}"
    );
}

#[test]
fn the_matrix_marks_the_remedy_that_removed_it() {
    let (plan, runs) = made(&[("remedy-1-1", 1.9, 1.0), ("remedy-1-2", 1.02, 0.52)]);
    let said = said(judge(&plan, &setting(), &runs), &plan, &runs);
    let matrix = said.matrices.last().unwrap();
    let (names, marks): (Vec<&str>, Vec<bool>) =
        matrix.rows.iter().map(|(name, marks)| (name.as_str(), marks[0].as_ref().unwrap().is_strong)).unzip();
    assert_eq!(names[1], "a's select beside b's cpu: b at remedy-1-2");
    assert_eq!(marks, [false, true]);
}

#[test]
fn a_neighbour_that_did_nothing_in_some_run_has_a_cost_without_an_interval() {
    let ratio = cost(&[0.0, 1.0], &[4.0, 4.0]).unwrap();
    assert!((ratio.ratio - 0.125).abs() < 1e-9 && ratio.interval.is_none());
    assert!(cost(&[1.0, 1.0], &[4.0, 4.0]).unwrap().interval.is_some());
    assert!(cost(&[1.0], &[]).is_none());
}

#[test]
fn a_remedy_that_cannot_be_put_up_is_told_with_its_reason() {
    let (plan, mut runs) = made(&[("remedy-1-1", 1.0, 1.0)]);
    for run in runs.iter_mut().filter(|run| run.part != PART) {
        run.figures.clear();
        run.notes.insert(REFUSED.into(), "no controller".into());
    }
    let said = sentences(&(plan, runs));
    assert_eq!(said[1], "b at remedy-1-1 cannot be tried for a's select beside b's cpu: no controller.");
}

#[test]
fn a_slowdown_of_a_third_domain_is_named_and_has_no_remedy() {
    let jobs =
        [["select"], ["cpu"], ["read"]].map(|names| names.map(|name| Job::named(name).unwrap()).to_vec());
    let names = ["a", "b", "c"].map(str::to_owned);
    let parts = pairs(&names, &jobs, REPEATS);
    let mut random = Random::new(Seed(3));
    let mut runs = Vec::new();
    for (levels, repeat) in parts[0].order(1) {
        let mut run = Run { part: PART.into(), levels: levels.clone(), repeat, ..Run::default() };
        for (name, _) in names.iter().zip(&levels).filter(|(_, level)| *level != "idle") {
            let slower = if *name == "c" && levels[0] == "select" { 2.0 } else { 1.0 };
            run.set(&format!("rate@{name}"), 100.0 * (0.02 * random.normal()).exp() / slower);
        }
        runs.push(run);
    }
    let plan = Plan { parts, seed: 1, ..Plan::default() };
    let said = said(judge(&plan, &setting(), &runs), &plan, &runs);
    assert!(said.headline.contains("Worst: c's read"), "{}", said.headline);
    assert_eq!(said.sentences.len(), 3, "{:?}", said.sentences);
}
