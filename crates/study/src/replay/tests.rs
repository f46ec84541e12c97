//! Replays with planted differences: what is there is named, and nothing else.

use super::*;
use evenkeel_core::random::{Random, Seed};
use evenkeel_lab::replay::Answered;

const NAMES: [&str; 2] = ["10.11", "11.8"];

fn comparison(mode: Mode) -> Comparison {
    Comparison::new(mode, NAMES.map(str::to_owned), 0.1)
}

fn answered(response_ms: f64) -> Answered {
    let response = Nanos((response_ms * 1e6) as u64);
    Answered { response, rows: 10, hash: 7, ..Answered::default() }
}

fn played(number: u64, digest: u64, first: Answered, second: Answered) -> Played {
    let recorded_time = Some(first.response);
    let answers = [Some(first), Some(second)];
    let due = Nanos::from_millis(10 * number);
    let behind = Nanos::ZERO;
    let recorded = Default::default();
    Played {
        number,
        session: 1,
        client: 0,
        due,
        behind,
        digest,
        recorded,
        recorded_time,
        answers,
        again: None,
        is_past: false,
    }
}

fn sql(digest: u64) -> String {
    format!("SELECT a FROM t{digest}")
}

/// Heavy-tailed: a hundredth of them is more than thirty times the median.
fn response_ms(random: &mut Random) -> f64 {
    (1.5 * random.normal()).exp()
}

/// 40 kinds of statements, each 5 to 200 times, the last as many times slower at the second side.
fn forty(seed: u64, slower: f64) -> Comparison {
    let (mut random, mut found) = (Random::new(Seed(seed)), comparison(Mode::Servers));
    let mut left: Vec<u64> = (0..40).map(|digest| if digest == 39 { 900 } else { 5 + digest * 5 }).collect();
    let mut number = 0;
    while left.iter().any(|left| *left > 0) {
        let digest = random.uniform(0, 39);
        let Some(less) = left[digest as usize].checked_sub(1) else { continue };
        left[digest as usize] = less;
        number += 1;
        let factor = if digest == 39 { slower } else { 1.0 };
        let [first, second] = [1.0, factor].map(|factor| answered(factor * response_ms(&mut random)));
        found.take(&played(number, digest, first, second), &sql(digest));
    }
    found
}

fn report(found: &Comparison) -> Report {
    found.report(&mut |server, line| Some(format!("plan of {} at {server}", line.sql)))
}

#[test]
fn servers_that_are_alike_are_never_called_worse_or_better() {
    for seed in 0..20 {
        let report = report(&forty(seed, 1.0));
        let verdicts = report.lines.iter().map(Line::speed);
        assert!(verdicts.clone().all(|speed| matches!(speed, Speed::Same | Speed::NotKnown)), "seed {seed}");
        assert!(!report.is_finding && report.lines.len() == 40, "{}", report.headline);
    }
}

#[test]
fn a_statement_that_takes_half_as_long_again_is_named_and_no_other() {
    // Where times vary that much, another one may be named in 5 of 100 replays.
    let (mut named, mut others) = (0, 0);
    for seed in 0..50 {
        let report = report(&forty(seed, 1.8));
        let worse: Vec<_> = report.lines.iter().filter(|line| line.speed() == Speed::Worse).collect();
        let right = worse.iter().filter(|line| line.sql == sql(39)).count();
        (named, others) = (named + right, others + worse.len() - right);
    }
    assert!(named >= 45 && others <= 2, "{named} of 50, {others} others");
    let (mut random, mut found) = (Random::new(Seed(5)), comparison(Mode::Servers));
    for number in 0..4_000 {
        let digest = number % 40;
        let factor = if digest == 7 { 1.5 } else { 1.0 };
        let mut near = |factor: f64| answered(factor * (1.0 + 0.1 * random.unit()));
        let (first, second) = (near(1.0), near(factor));
        found.take(&played(number, digest, first, second), &sql(digest));
    }
    let report = report(&found);
    assert_eq!(report.lines[0].sql, sql(7));
    assert!(report.lines[1..].iter().all(|line| line.speed() == Speed::Same));
    assert!(report.is_finding);
    assert!(report.lines[1..].iter().all(|line| line.plans.is_empty()));
    let plan = |server| Some(format!("plan of SELECT a FROM t7 at {server}"));
    assert_eq!(report.lines[0].plans, [plan(0), plan(1)]);
    let start = "11.8 answers 40 statements as 10.11 does, and 1 is slower by more than 10 %: SELECT a FROM t7 takes 1.5";
    assert!(report.headline.starts_with(start), "{}", report.headline);
}

#[test]
fn at_the_tolerance_itself_a_verdict_is_as_rare_as_promised_and_the_interval_holds_the_truth() {
    let (mut wrong, mut held, mut random) = (0, 0, Random::new(Seed(11)));
    for round in 0..1_000 {
        // Statements that follow one another share what slows both sides, and something that slows one.
        let (mut times, mut slow, mut pair) = (Times::default(), 0.0, [0.0; 2]);
        let memory = if round % 2 == 0 { 0.0 } else { 0.6 };
        for _ in 0..[7, 30, 150, 1_000][round / 2 % 4] {
            slow = memory * slow + 0.5 * random.normal();
            pair = [response_ms(&mut random), 1.1 * response_ms(&mut random) * f64::exp(slow)];
            times.add(pair.map(|ms| Nanos((ms * 1e6) as u64)));
        }
        assert!(pair[1] > 0.0);
        let timing = times::judged([&times].into_iter(), 0.1).remove(0).unwrap();
        let (low, high) = timing.interval.unwrap();
        wrong += u32::from(matches!(timing.speed, Speed::Worse | Speed::Better));
        held += u32::from(low <= 1.1 && 1.1 <= high);
    }
    assert!(wrong <= 50, "{wrong} of 1,000");
    assert!((930..=980).contains(&held), "{held} of 1,000");
}

#[test]
fn new_errors_and_changed_rows_and_values_are_named_with_their_statement() {
    let mut found = comparison(Mode::Servers);
    for number in 0..60 {
        let (first, mut second) = (answered(1.0), answered(1.0));
        match number {
            31 => second.error = Some(1054),
            42 => second.rows = 9,
            53 => second.hash = 8,
            54 => second.warnings = 2,
            _ => {}
        }
        found.take(&played(number, number % 10, first, second), &sql(number % 10));
    }
    let report = report(&found);
    assert_eq!(report.lines.iter().filter(|line| line.differs()).count(), 3);
    let words = |digest| {
        let line = report.lines.iter().find(|line| line.sql == sql(digest)).unwrap();
        line.differences.iter().map(Difference::words).collect::<Vec<_>>()
    };
    assert_eq!(words(1), ["error 1054 (statement 31)"]);
    assert_eq!(words(2), ["9 rows instead of 10 (statement 42)"]);
    assert_eq!(words(3), ["different values (statement 53)"]);
    assert_eq!(words(4), ["2 warnings instead of 0 (statement 54)"]);
    assert!(
        report.is_finding
            && report.headline.starts_with("11.8 answers 3 of 10 statements differently, and none")
    );
}

#[test]
fn what_the_first_server_answers_otherwise_when_asked_again_is_set_aside_but_not_a_new_error() {
    let mut found = comparison(Mode::Servers);
    let mut other = answered(1.0);
    other.hash = 9;
    let mut now = played(1, 1, answered(1.0), other.clone());
    now.again = Some(Answered { hash: 11, ..other.clone() });
    found.take(&now, "SELECT NOW()");
    assert!(!report(&found).is_finding);
    assert_eq!(report(&found).lines[0].set_aside, 1);
    assert_eq!(report(&found).caveats[0].code, "set-aside");
    if let Some(second) = &mut now.answers[1] {
        second.error = Some(1064);
    }
    found.take(&now, "SELECT NOW()");
    assert!(report(&found).is_finding);
    // Asked again, it answered the same: the other server is different.
    let mut found = comparison(Mode::Servers);
    found.take(&Played { again: Some(answered(2.0)), ..played(1, 1, answered(1.0), other) }, "SELECT 1");
    assert!(report(&found).is_finding);
}

#[test]
fn a_recording_is_compared_by_what_it_knows() {
    let mut found = comparison(Mode::Recorded);
    for number in 0..50 {
        let mut one = played(number, number % 2, answered(1.0), answered(1.0));
        let response = Nanos::from_micros(if number % 2 == 0 { 2_000 + number } else { 1_000 });
        one.answers = [Some(Answered { response, hash: number, ..answered(1.0) }), None];
        one.recorded.rows = (number != 7).then_some(10);
        one.recorded_time = (number != 9).then_some(Nanos::from_millis(1));
        found.take(&one, &sql(number % 2));
    }
    let report = report(&found);
    assert_eq!((report.lines[0].speed(), report.lines[0].sql.clone()), (Speed::Worse, sql(0)));
    assert_eq!(report.lines[1].timing.as_ref().unwrap().executions, 24);
    assert!(!report.lines.iter().any(Line::differs));
    assert_eq!(report.caveats[0].code, "recorded-times");
    assert_eq!(report.lines[0].plans.len(), 1);
    assert_eq!(report.unrecorded, 1);
}

#[test]
fn a_recording_without_answers_is_not_called_the_same() {
    let mut found = comparison(Mode::Recorded);
    found.take(&Played { recorded_time: None, ..played(1, 1, answered(1.0), answered(1.0)) }, "SELECT 1");
    let starts = |found: &Comparison, start: &str| {
        let headline = report(found).headline;
        assert!(headline.starts_with(start) && headline.contains("has no answers to compare"), "{headline}");
    };
    starts(&found, "11.8 answers 1 statement without an error;");
    let failed = Answered { error: Some(1146), ..answered(1.0) };
    found.take(&played(2, 1, failed, answered(1.0)), "SELECT 1");
    starts(&found, "11.8 answers 1 of 1 statement with an error;");
    assert!(!report(&found).is_finding);
    assert_eq!(report(&found).caveats.last().map(|caveat| caveat.code.as_ref()), Some("unrecorded"));
}

#[test]
fn few_executions_say_nothing_of_times_and_none_is_no_comparison() {
    let mut found = comparison(Mode::Servers);
    assert!(report(&found).headline.starts_with("No statement was answered by both"));
    for number in 0..4 {
        found.take(&played(number, 1, answered(1.0), answered(9.0)), "SELECT 1");
    }
    let failed = || Answered { error: Some(1146), ..answered(1.0) };
    found.take(&played(4, 1, failed(), failed()), "SELECT 1");
    found.take(&Played { answers: [None, None], ..played(5, 1, answered(1.0), answered(1.0)) }, "SELECT 1");
    let report = report(&found);
    assert_eq!(report.lines[0].speed(), Speed::NotKnown);
    assert_eq!(report.lines[0].answers(), "same, errors: 1");
    assert_eq!(
        report.headline,
        "11.8 answers 1 statement as 10.11 does (errors on both sides: 1); too few executions to tell which is faster"
    );
    assert_eq!(report.caveats[0].code, "unanswered");
}

#[test]
fn memory_stays_bounded_however_many_kinds_of_statements_there_are_and_however_long() {
    let mut found = comparison(Mode::Servers);
    let long = "é".repeat(SQL_MAX);
    for number in 0..DIGESTS_MAX as u64 + 500 {
        found.take(&played(number, number, answered(1.0), answered(1.0)), &long);
    }
    let report = report(&found);
    assert_eq!(report.lines.len(), DIGESTS_MAX + 1);
    assert!(report.lines.iter().all(|line| line.is_cut && line.sql.len() <= SQL_MAX));
    let others = report.lines.iter().find(|line| line.digest.is_none()).unwrap();
    assert_eq!((others.executions, others.name(60)), (500, "all other statements".to_owned()));
}
