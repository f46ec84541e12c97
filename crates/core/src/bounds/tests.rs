//! What the bounds say of runs made by hand. How often they hold on servers whose capacity is known is tried in `dev`.

use super::*;
use crate::random::{Random, Seed};

/// A run that kept up, with as many completions as arrivals.
pub(super) fn kept(rate: f64, seconds: f64) -> RunAt {
    let count = (rate * seconds) as u64;
    let settled = Some(true);
    RunAt { rate, seconds, arrivals: count, completed: count, settled, valid: true, ..RunAt::default() }
}

/// A run that fell behind and completed `throughput` per second.
pub(super) fn behind(rate: f64, throughput: f64) -> RunAt {
    let mut run = kept(rate, 10.0);
    run.completed = (throughput * run.seconds) as u64;
    run.settled = Some(false);
    run
}

fn three(run: RunAt) -> Vec<RunAt> {
    vec![run; 3]
}

/// Three runs at each of these rates.
fn measured(rates: &[f64], run: impl Fn(f64) -> RunAt) -> Vec<RunAt> {
    rates.iter().flat_map(|rate| three(run(*rate))).collect()
}

fn up_to_200(rate: f64) -> RunAt {
    if rate < 200.0 { kept(rate, 10.0) } else { behind(rate, 200.0) }
}

pub(super) fn sequence(width: f64) -> Sequence {
    Sequence { wanted: Wanted { width }, rate_min: 0.0, rate_max: 1e6, runs_left: usize::MAX }
}

/// The rate that is measured next where any width is too large.
fn next(runs: &[RunAt], responses: &Responses<'_>) -> f64 {
    let Some(Step::Run(rate)) = sequence(0.0).next(runs, responses) else { panic!("there is more to know") };
    rate
}

#[test]
fn no_run_and_no_valid_run_say_nothing() {
    assert!(!Answer::of(&[]).is_something());
    let invalid = RunAt { valid: false, ..kept(100.0, 10.0) };
    let answer = Answer::of(&three(invalid));
    assert!(!answer.is_something() && answer.left_out == 3, "{answer:?}");
}

#[test]
fn the_bounds_lie_around_what_was_carried_and_what_was_refused() {
    let mut runs = three(kept(100.0, 10.0));
    runs.extend(three(kept(180.0, 10.0)));
    runs.extend(three(behind(300.0, 200.0)));
    let carried = Answer::of(&runs).carried;
    let least = carried.at_least.unwrap();
    assert!(least > 165.0 && least < 180.0, "{carried:?}");
    assert_eq!((carried.seen_at, carried.refused, carried.at_most), (Some(180.0), Some(300.0), Some(300.0)));
}

#[test]
fn the_throughput_of_all_runs_counts_not_only_that_of_those_that_settled() {
    let mut runs = vec![kept(200.0, 10.0); 4];
    let all_kept = Answer::of(&runs).carried.at_least.unwrap();
    runs[3] = behind(200.0, 150.0);
    let one_behind = Answer::of(&runs).carried.at_least.unwrap();
    assert!(one_behind < all_kept - 5.0, "{one_behind} and {all_kept}");
}

#[test]
fn rates_that_contradict_one_another_widen_both_bounds() {
    let mut runs = three(kept(150.0, 10.0));
    runs.extend(three(behind(180.0, 160.0)));
    runs.extend(three(kept(200.0, 10.0)));
    runs.extend(three(behind(300.0, 200.0)));
    let carried = Answer::of(&runs).carried;
    assert_eq!((carried.seen_at, carried.refused), (Some(150.0), Some(300.0)), "{carried:?}");
}

#[test]
fn a_rate_refused_below_one_that_was_carried_bounds_nothing_from_above() {
    let mut runs = three(kept(150.0, 10.0));
    runs.extend(three(behind(180.0, 160.0)));
    runs.extend(three(kept(200.0, 10.0)));
    let clear = Some(Clear { seconds: 5.0, completed: 800, taken: 0.0 });
    runs.iter_mut().for_each(|run| run.clear = clear);
    let answer = Answer::of(&runs);
    assert_eq!((answer.carried.at_most, answer.alone), (None, None), "{answer:?}");
    // Unstable in word alone: as many completions as arrivals, below a rate that was carried.
    let mut runs = three(behind(100.0, 100.0));
    runs.extend(three(kept(150.0, 10.0)));
    assert_eq!(Answer::of(&runs).carried.at_most, None);
}

#[test]
fn whatever_runs_say_the_bounds_are_in_their_order() {
    let mut random = Random::new(Seed(3));
    let mut both = 0;
    for _ in 0..3_000 {
        let capacity = 100.0 + 200.0 * random.unit();
        let run = |random: &mut Random| {
            let rate = [80.0, 150.0, 180.0, 220.0, 300.0][random.uniform(0, 4) as usize];
            let keeps = if random.unit() < 0.2 { random.unit() < 0.5 } else { rate < capacity };
            if keeps {
                kept(rate, 8.0)
            } else {
                behind(rate, rate.min(capacity) * (0.9 + 0.1 * random.unit()))
            }
        };
        let count = random.uniform(3, 20);
        let runs: Vec<RunAt> = (0..count).map(|_| run(&mut random)).collect();
        let Answer { carried, alone, .. } = Answer::of(&runs);
        let highest = carried.rates.iter().rev().find(|rate| rate.fate == Fate::Carried);
        if let (Some(least), Some(most)) = (carried.at_least, carried.at_most) {
            both += 1;
            assert!(least <= most && highest.is_none_or(|highest| highest.rate < most), "{carried:?}");
        }
        assert!(alone.is_none_or(|alone| alone.range.low < alone.range.high), "{alone:?}");
    }
    assert!(both > 300, "{both}");
}

#[test]
fn what_a_neighbour_took_is_handed_back_by_the_utilisation_law() {
    let mut runs = three(kept(100.0, 10.0));
    runs.extend(three(RunAt { cpu: Some(0.75), cpus: Some(1.0), taken: Some(0.25), ..behind(300.0, 150.0) }));
    let alone = Answer::of(&runs).alone.unwrap();
    assert!(alone.range.low < 200.0 && alone.range.high > 200.0, "{alone:?}");
    // With a CPU that was idle a third of the time, CPU was not the limit, and handing it back would claim too much.
    for run in &mut runs {
        run.taken = run.taken.map(|_| 0.0);
        run.cpu = run.cpu.map(|_| 0.6);
    }
    assert_eq!(Answer::of(&runs).alone, None);
}

#[test]
fn free_stretches_are_preferred_to_what_the_law_hands_back() {
    let clear = Some(Clear { seconds: 5.0, completed: 1_000, taken: 0.0 });
    let mut runs = three(kept(100.0, 10.0));
    runs.extend(three(RunAt { clear, cpu: Some(0.75), cpus: Some(1.0), ..behind(300.0, 150.0) }));
    let alone = Answer::of(&runs).alone.unwrap();
    assert_eq!(alone.runs, 3);
    assert!(alone.range.low < 200.0 && alone.range.high > 200.0, "{alone:?}");
}

#[test]
fn a_server_carries_no_less_alone_than_it_did_beside_others() {
    let clear = Some(Clear { seconds: 5.0, completed: 500, taken: 0.0 });
    let mut runs = three(kept(180.0, 10.0));
    runs.extend(three(RunAt { clear, ..behind(300.0, 150.0) }));
    let answer = Answer::of(&runs);
    assert!(answer.alone.unwrap().range.low >= answer.carried.at_least.unwrap(), "{answer:?}");
}

#[test]
fn runs_do_not_go_where_they_can_tell_nothing() {
    // A server whose CPUs nobody sees: overload says nothing of what it would carry by itself, however often it is made.
    let mut runs = three(kept(180.0, 10.0));
    runs.extend(three(behind(300.0, 200.0)));
    let rate = next(&runs, &Responses::default());
    assert!(rate > 180.0 && rate < 300.0, "{rate}");
    // One that is seen, with a disk for its limit: five runs of overload are enough to know that none tells.
    for run in &mut runs {
        (run.cpu, run.cpus, run.taken) = (Some(0.3), Some(1.0), Some(0.3));
    }
    let overload = runs[5].clone();
    runs.extend([overload.clone(), overload]);
    assert!(next(&runs, &Responses::default()) != 300.0);
}

#[test]
fn six_runs_of_the_opening_give_every_bound() {
    let first = [120.0, 250.0];
    let mut made: Vec<f64> = Vec::new();
    while let Some(rate) =
        Sequence::opening(&first, |rate| made.iter().filter(|known| **known == rate).count())
    {
        made.push(rate);
    }
    assert_eq!(made, [120.0, 250.0, 120.0, 250.0, 120.0, 250.0]);
    let seen = |rate: &f64| RunAt { cpu: Some(0.8), cpus: Some(1.0), taken: Some(0.1), ..up_to_200(*rate) };
    let answer = Answer::of(&made.iter().map(seen).collect::<Vec<_>>());
    assert!(answer.carried.at_least.is_some() && answer.carried.at_most.is_some(), "{answer:?}");
    assert!(answer.alone.is_some(), "{answer:?}");
    assert_eq!(Sequence::opening(&[], |_| 0), None);
    assert_eq!(Sequence::opening(&[7.0], |_| 0), Some(7.0));
}

#[test]
fn a_study_to_a_width_ends_although_the_answer_as_a_whole_stays_wider() {
    // Near the limit runs say neither, so that the rate that was refused lies 5 % above what overload tells: the answer as a whole is
    // wider than 5 % however often overload is asked.
    let run = |rate: f64| match rate {
        970.0.. if rate < 1050.0 => RunAt { settled: None, ..kept(rate, 10.0) },
        1050.0.. => behind(rate, 1000.0),
        _ => kept(rate, 10.0),
    };
    let seen = |rate: f64| RunAt { cpu: Some(1.0), cpus: Some(1.0), taken: Some(0.0), ..run(rate) };
    let mut runs = measured(&[960.0, 1050.0, 1250.0], seen);
    let mut made = 0;
    while let Some(Step::Run(rate)) = sequence(0.05).next(&runs, &Responses::default()) {
        made += 1;
        assert!(made < 100, "run {made} at {rate}");
        runs.push(seen(rate));
    }
    assert!(Answer::of(&runs).alone.is_some_and(|alone| alone.range.relative_width() > 0.05));
}

#[test]
fn a_server_slower_than_a_run_can_tell_is_said_to_be_so() {
    let sequence = Sequence { rate_min: 10.0, ..sequence(0.05) };
    let mut runs = three(behind(12.0, 5.0));
    assert_eq!(sequence.next(&runs, &Responses::default()), Some(Step::Run(10.0)));
    runs.extend(three(behind(10.0, 5.0)));
    assert_eq!(sequence.next(&runs, &Responses::default()), Some(Step::TooFewArrivals));
    assert_eq!(sequence.first(2.0, false), [10.0, 10.0]);
    assert_eq!(sequence.first(1_000.0, true), [450.0, 1_300.0]);
}

#[test]
fn runs_that_wander_by_more_than_counts_do_are_no_surer_than_their_number() {
    // Completions of 10 s at 1,000/s with a wander of a tenth between runs, ten times what counts of a Poisson process bring.
    for runs in [3, 5, 10] {
        let mut random = Random::new(Seed(7));
        let mut run = || (f64::round(1e4 * (1.0 + 0.1 * random.normal())), 10.0);
        let held = |_: &u32| {
            let own: Vec<(f64, f64)> = (0..runs).map(|_| run()).collect();
            carried::ratio(&own).is_some_and(|range| range.low <= 1000.0 && range.high >= 1000.0)
        };
        let held = (0..2_000).filter(held).count();
        // 95 % of 2,000 are 1,900; chance brings less than 1,870 once in a thousand times. With twice the degrees of freedom three
        // runs held 1,783 times.
        assert!((1_870..=1_930).contains(&held), "{runs} runs: {held} of 2,000");
    }
}

#[test]
fn errors_that_no_load_brings_about_make_a_rate_neither_carried_nor_refused() {
    let failing = |rate: f64, share: f64| {
        let run = kept(rate, 10.0);
        let completed = (run.arrivals as f64 * (1.0 - share)).round() as u64;
        RunAt { completed, lost: share, failed: share, ..run }
    };
    let fate = |runs: &[RunAt]| {
        let carried = Carried::of(&runs.iter().collect::<Vec<_>>());
        (carried.rates[0].fate, carried.at_least, carried.at_most)
    };
    // Half of the runs at 500/s happened to have fewer failures; these alone do not carry the rate.
    let half = [vec![failing(500.0, 0.03); 3], vec![failing(500.0, 0.005); 3]].concat();
    assert_eq!(fate(&half), (Fate::Undecided, None, None));
    assert_eq!(fate(&vec![failing(500.0, 0.3); 6]), (Fate::Undecided, None, None));
    assert_eq!(fate(&vec![failing(500.0, 0.005); 6]).0, Fate::Carried);
    let late = RunAt { settled: Some(false), lost: 0.3, failed: 0.0, ..failing(500.0, 0.3) };
    assert_eq!(fate(&vec![late; 6]), (Fate::NotCarried, None, Some(500.0)));
}

#[test]
fn runs_go_to_the_curve_of_response_times_too() {
    let seen = |rate: f64| RunAt { cpu: Some(0.8), cpus: Some(1.0), taken: Some(0.1), ..up_to_200(rate) };
    let mut runs = measured(&[120.0, 250.0], seen);
    while runs.len() < 24 {
        runs.push(seen(next(&runs, &Responses::default())));
    }
    let carried = Answer::of(&runs).carried;
    let (least, most) = (carried.at_least.unwrap(), carried.at_most.unwrap());
    assert!(most < 1.4 * least, "{carried:?}");
    let curve: Vec<&Rate> = carried.rates.iter().filter(|rate| rate.rate <= 0.9 * least).collect();
    assert!(curve.len() >= 4 && curve.iter().all(|rate| rate.runs >= 3), "{curve:?}");
    assert!(curve[0].rate < 0.31 * least && curve[3].rate > 0.69 * least, "{curve:?}");
    // A rate whose runs differ gets another run, but not for ever.
    let unsure = [curve[1].rate];
    let responses = Responses { unsure: &unsure, objective: None };
    assert_eq!(next(&runs, &responses), unsure[0]);
    runs.extend(three(seen(unsure[0])));
    assert_ne!(next(&runs, &responses), unsure[0]);
}

#[test]
fn an_undecided_rate_comes_before_the_curve() {
    let mut runs: Vec<RunAt> =
        [three(kept(130.0, 10.0)), three(behind(250.0, 200.0)), three(kept(190.0, 10.0))].concat();
    runs.push(behind(190.0, 170.0));
    runs.push(behind(190.0, 170.0));
    let four = [&runs[..8], &runs[9..10]].concat();
    assert_eq!(next(&four, &Responses::default()), 190.0);
    assert_ne!(next(&runs, &Responses::default()), 190.0, "with five runs the curve begins");
}

#[test]
fn a_first_run_far_behind_its_rate_brings_a_lower_one() {
    let nearer = |other: RunAt| Sequence::nearer(&[kept(300.0, 10.0), other]);
    assert_eq!(nearer(behind(1_100.0, 670.0)), Some(784.0));
    assert_eq!(nearer(behind(800.0, 700.0)), None, "it is near");
    assert_eq!(nearer(behind(1_100.0, 320.0)), None, "a neighbour came with that run");
    assert_eq!(nearer(kept(1_100.0, 10.0)), None);
}

#[test]
fn the_curve_begins_although_no_rate_was_refused() {
    // Neighbours leave it open whether the server carries 250/s.
    let mixed = |rate: f64| [kept(rate, 10.0), behind(rate, 160.0), behind(rate, rate)];
    let mut runs = [three(kept(120.0, 10.0)), mixed(250.0).to_vec()].concat();
    assert_eq!(next(&runs, &Responses::default()), 250.0, "most fell behind: further runs may decide");
    runs.extend([kept(250.0, 10.0), behind(250.0, 160.0)]);
    let above = next(&runs, &Responses::default());
    assert!(above > 250.0, "five runs of an undecided rate are enough: {above}");
    runs.extend(mixed(above));
    runs.extend(mixed(2.0 * above));
    assert!(Answer::of(&runs).carried.at_most.is_none());
    let curve = next(&runs, &Responses::default());
    assert!(curve < 120.0, "{curve}");
}

#[test]
fn rates_of_the_curve_are_measured_by_turns() {
    let mut runs = measured(&[120.0, 180.0, 224.0, 250.0], up_to_200);
    let mut step = || {
        let rate = next(&runs, &Responses::default());
        runs.push(up_to_200(rate));
        rate
    };
    let turn: Vec<f64> = (0..3).map(|_| step()).collect();
    assert!(turn.is_sorted() && turn[0] < turn[1] && turn[1] < turn[2], "{turn:?}");
    assert_eq!((0..6).map(|_| step()).collect::<Vec<_>>(), [turn.clone(), turn].concat());
}

/// Asks for p95 below an objective that is met up to `end`, at a server that carries 200/s, until `count` runs are made: the highest
/// rate that meets it, and the lowest above that misses it.
fn after_runs_of_an_objective(end: f64, count: usize) -> (f64, f64) {
    let mut runs = measured(&[120.0, 250.0], up_to_200);
    loop {
        let made = |rate: f64| runs.iter().filter(|run| run.rate == rate).count() >= 3;
        let measured = || runs.iter().map(|run| run.rate).filter(|rate| made(*rate));
        let met = measured().filter(|rate| *rate <= end).fold(0.0, f64::max);
        let missed = measured().filter(|rate| *rate > end).fold(f64::INFINITY, f64::min);
        if runs.len() >= count {
            return (met, missed);
        }
        let responses = Responses { unsure: &[], objective: Some(Objective { met, unsure: None, missed }) };
        runs.push(up_to_200(next(&runs, &responses)));
    }
}

#[test]
fn a_far_gap_above_what_was_carried_is_halved_before_the_curve() {
    let mixed = |rate: f64| [kept(rate, 10.0), behind(rate, 160.0), behind(rate, rate)];
    let runs = [three(kept(100.0, 10.0)), mixed(220.0).to_vec(), three(behind(400.0, 200.0))].concat();
    let rate = next(&runs, &Responses::default());
    assert!(rate > 120.0 && rate < 220.0, "{rate}");
    let mostly = [kept(220.0, 10.0), kept(220.0, 10.0), behind(220.0, 160.0)];
    let runs = [three(kept(100.0, 10.0)), mostly.to_vec(), three(behind(400.0, 200.0))].concat();
    assert_eq!(next(&runs, &Responses::default()), 220.0, "one more may show that it is carried");
}

#[test]
fn a_rate_at_which_all_runs_fell_behind_has_more_of_them_before_a_doubled_one() {
    let swaying = [behind(250.0, 140.0), behind(250.0, 205.0), behind(250.0, 215.0)];
    let runs = [three(kept(130.0, 10.0)), swaying.to_vec()].concat();
    assert_eq!(next(&runs, &Responses::default()), 250.0);
}

#[test]
fn below_a_rate_that_most_runs_did_not_keep_up_with_a_lower_one_is_next() {
    let swaying = |kept_up: usize| {
        let kept = vec![kept(150.0, 10.0); kept_up];
        [kept, vec![behind(150.0, 120.0); 3 - kept_up], three(behind(300.0, 150.0))].concat()
    };
    assert_eq!(next(&swaying(2), &Responses::default()), 150.0);
    assert!(next(&swaying(1), &Responses::default()) < 140.0);
}

#[test]
fn where_no_rate_is_sure_to_meet_an_objective_a_lower_one_is_soonest() {
    let runs = measured(&[120.0, 250.0], up_to_200);
    let of = |met, unsure| Responses {
        unsure: &[],
        objective: Some(Objective { met, unsure: Some(unsure), missed: 250.0 }),
    };
    assert_eq!((next(&runs, &of(0.0, 120.0)), next(&runs, &of(60.0, 120.0))), (60.0, 120.0));
}

#[test]
fn an_objective_halves_the_gap_between_the_rates_that_meet_and_miss_it() {
    for end in [50.0, 90.0, 130.0, 190.0] {
        let (met, missed) = after_runs_of_an_objective(end, 24);
        assert!(met > 0.0 && missed <= 1.16 * met, "{end}: {met} to {missed}");
    }
    let (met, missed) = after_runs_of_an_objective(1.0, 60);
    assert!(met == 0.0 && missed > 10.0, "one that no load meets is given up at a tenth: {missed}");
}

#[test]
fn rates_far_above_what_is_carried_are_left_in_one_step() {
    let sequence = Sequence { rate_min: 1.0, ..sequence(0.05) };
    let runs = [three(behind(1_300.0, 480.0)), three(behind(2_600.0, 500.0))].concat();
    assert_eq!(sequence.next(&runs, &Responses::default()), Some(Step::Run(441.0)));
}
