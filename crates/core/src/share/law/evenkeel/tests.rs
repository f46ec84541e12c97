//! What hosts that keep to the law do in front of storage of a given latency.

use super::super::super::DiskUse;
use super::*;

fn wants(shares: f64, outstanding: f64, latency: f64, wanted: f64) -> Report {
    let disks = vec![DiskUse { shares, wanted }];
    Report {
        disks,
        outstanding,
        latency,
        completions: 1_000,
        cost_latency: latency,
        grain: 1.0,
        ..Report::default()
    }
}

fn report(shares: f64, outstanding: f64, latency: f64) -> Report {
    wants(shares, outstanding, latency, 1_000.0)
}

#[test]
fn the_total_is_what_littles_law_says_and_hosts_get_their_shares_of_it() {
    let mut law = Evenkeel::new(Settings::new(0.025));
    // 3,300 I/Os per second.
    let all = [report(1.0, 64.0, 0.0388), report(3.0, 64.0, 0.0388)];
    let window = law.update(&all, 0);
    let total = 128.0 * 0.025 / 0.0388;
    assert!((window - total / 4.0).abs() < 1e-6, "{window}");
}

#[test]
fn a_host_that_wants_little_leaves_the_rest_to_the_others() {
    let little = wants(3.0, 2.0, 0.025, 2.0);
    let all = [report(1.0, 78.0, 0.025), little];
    let mut law = Evenkeel::new(Settings { initial: 40.0, ..Settings::new(0.025) });
    let window = law.update(&all, 0);
    assert!((window - (80.0 - 2.0)).abs() < 1e-6, "{window}");
}

#[test]
fn windows_stay_open_while_nobody_wants_much() {
    let mut law = Evenkeel::new(Settings::new(0.025));
    let busy = [report(1.0, 80.0, 0.025), report(1.0, 80.0, 0.025)];
    for _ in 0..10 {
        law.update(&busy, 0);
    }
    let open = law.update(&busy, 0);
    let quiet = [0, 1].map(|_| wants(1.0, 0.1, 0.003, 0.1));
    let window = (0..10).map(|_| law.update(&quiet, 0)).last().expect("ten");
    assert!((window / open - 1.0).abs() < 0.05, "{window} after {open}");
}

#[test]
fn a_longer_path_gets_a_larger_window_so_that_throughput_follows_the_shares() {
    let mut law = Evenkeel::new(Settings::new(0.025));
    let all = [report(1.0, 40.0, 0.027), report(1.0, 40.0, 0.023)];
    let window = (0..20).map(|_| law.update(&all, 0)).last().expect("twenty");
    let total = law.total.expect("a total");
    assert!((window / total - 0.54).abs() < 0.005, "{window} of {total}");
}

#[test]
fn who_is_loaded_by_others_down_to_the_floor_says_so() {
    let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
    law.update(&[report(1.0, 80.0, 0.025)], 0);
    assert!(!law.is_at_floor());
    for _ in 0..5 {
        law.update(&[report(1.0, 8.0, 0.100)], 0);
    }
    assert!(law.is_at_floor());
    law.update(&[report(1.0, 8.0, 0.002)], 0);
    assert!(!law.is_at_floor());
}

#[test]
fn a_member_that_stood_still_and_comes_back_is_no_outsider() {
    let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
    let calm = |window: f64| (window / 3_200.0).max(0.003);
    after(&mut law, 10, calm);
    for _ in 0..2 {
        after(&mut law, 1, |_| 20.0);
        assert!(!law.is_at_floor());
    }
    after(&mut law, 1, calm);
    assert!(!law.is_at_floor());
}

/// The window of a lone host that fills it, after so many periods in front of storage of this latency.
fn after(law: &mut Evenkeel, periods: usize, latency: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..periods {
        let window = law.window;
        law.update(&[report(1.0, window, latency(window))], 0);
    }
    law.window
}

#[test]
fn the_floor_comes_down_with_the_total_where_the_latency_follows_it() {
    let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
    let fast = after(&mut law, 10, |window| window / 3_200.0);
    assert!((fast - 80.0).abs() < 1.0, "{fast}");
    // 32 times as slow: a tenth of the window is not little enough.
    let slow = after(&mut law, 30, |window| window / 100.0);
    assert!((slow - 2.5).abs() < 0.3, "{slow}");
    assert!(!law.is_at_floor());
}

#[test]
fn windows_are_open_again_soon_after_a_storm_that_the_latency_seemed_to_follow() {
    let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
    let calm = |window: f64| (window / 3_200.0).max(0.003);
    after(&mut law, 10, calm);
    for latency in [0.4, 0.2, 0.1, 0.05, 0.03] {
        after(&mut law, 1, |_| latency);
    }
    assert!(law.window < 8.0, "{}", law.window);
    // Clients that want few at a time: what is outstanding says little of what the storage could do.
    for _ in 0..6 {
        let outstanding = law.window.min(4.0);
        law.update(&[report(1.0, outstanding, calm(outstanding))], 0);
    }
    assert!(law.window > 60.0, "{}", law.window);
}

#[test]
fn a_floor_holds_against_others_who_were_there_before_the_threshold_was_ever_met() {
    let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
    // 1,000 of others are outstanding, whatever the window.
    let window = after(&mut law, 50, |window| (1_000.0 + window) / 3_200.0);
    assert!((FLOOR * 80.0 - window).abs() < 0.5, "{window}");
    assert!(law.is_at_floor());
}

#[test]
fn a_total_that_never_met_the_threshold_is_no_floor() {
    // 16 of each of 30 hosts is only where the law begins; 31 meet the threshold.
    let mut law = Evenkeel::new(Settings { initial: 480.0, ..Settings::new(0.025) });
    for outstanding in [70.0, 40.0, 38.0] {
        law.update(&[report(1.0, outstanding, outstanding / 31.0 * 0.025)], 0);
    }
    let window = after(&mut law, 1, |_| 0.022);
    assert!((25.0..45.0).contains(&window), "{window}");
    assert!(!law.is_at_floor());
}

/// Hosts with shares 1:2:5 that always want more, each period with the latencies that storage gives to their windows:
/// whether each says that the storage is not divided by shares.
fn unfair(latencies: impl Fn(&[f64; 3]) -> [f64; 3]) -> [bool; 3] {
    let mut laws = [0; 3].map(|_| Evenkeel::new(Settings::new(0.025)));
    let mut windows = [16.0; 3];
    for _ in 0..60 {
        let latencies = latencies(&windows);
        let all: Vec<Report> = [1.0, 2.0, 5.0]
            .iter()
            .enumerate()
            .map(|(place, &shares)| Report {
                rate: windows[place] / latencies[place],
                ..report(shares, windows[place], latencies[place])
            })
            .collect();
        for (place, law) in laws.iter_mut().enumerate() {
            windows[place] = law.update(&all, place);
        }
    }
    laws.map(|law| law.unfair().is_some())
}

#[test]
fn storage_that_serves_hosts_in_turn_is_told_of() {
    assert_eq!(unfair(|windows| windows.map(|window| window / 1_000.0)), [true, false, true]);
    let together = |windows: &[f64; 3]| [windows.iter().sum::<f64>() / 3_000.0; 3];
    assert_eq!(unfair(together), [false; 3]);
}

#[test]
fn storage_far_faster_than_the_threshold_does_not_take_the_total_out_of_sight() {
    let mut law = Evenkeel::new(Settings::new(10.0));
    let fast = |law: &Evenkeel| Report { most: 256.0, ..report(1.0, law.window, 1e-5) };
    for _ in 0..100 {
        let all = [fast(&law), Report { most: 32.0, ..fast(&law) }];
        law.update(&all, 0);
    }
    assert_eq!(law.total, Some(256.0 + 32.0));
}

#[test]
fn one_who_lies_for_a_while_has_no_say_in_the_windows_once_he_is_gone() {
    let honest = |law: &Evenkeel| Report { most: 256.0, ..report(1.0, law.window, law.window / 3_200.0) };
    let tiny = f64::MIN_POSITIVE;
    let lies = [
        Report { most: 256.0, ..report(1.0, 1e6, 0.025) },
        Report { most: 256.0, outstanding: tiny, ..report(1e6, 1e6, tiny) },
        Report { most: 256.0, total: tiny, ..report(1.0, 0.0, 3_600.0) },
    ];
    for lie in lies {
        let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
        for _ in 0..100 {
            law.update(&[honest(&law), lie.clone()], 0);
        }
        let total = law.total.expect("a total");
        assert!((0.01..=512.0).contains(&total), "{total} beside {lie:?}");
        for _ in 0..10 {
            law.update(&[honest(&law)], 0);
        }
        assert!((law.window - 80.0).abs() < 8.0, "{} after {lie:?}", law.window);
    }
}

#[test]
fn numbers_without_sense_leave_the_window() {
    let mut law = Evenkeel::new(Settings::new(0.025));
    let window = law.window;
    let bad = Report { latency: f64::NAN, completions: 5, ..Report::default() };
    assert_eq!(law.update(&[bad], 0), window);
    assert_eq!(law.update(&[], 3), window);
    let odd = report(f64::NAN, f64::INFINITY, 0.01);
    assert!(law.update(&[odd], 0).is_finite());
}

fn host(shares: f64, wanted: f64, outstanding: f64, rate: f64) -> Report {
    Report {
        disks: vec![DiskUse { shares, wanted }],
        most: 64.0,
        outstanding,
        completions: 50,
        rate,
        ..Report::default()
    }
}

fn told(periods: usize, all: &[Report]) -> Vec<Option<f64>> {
    let learnt = |own| {
        let mut fairness = Fairness::default();
        (0..periods).for_each(|_| fairness.learn(all, own));
        fairness.unfair()
    };
    (0..all.len()).map(learnt).collect()
}

#[test]
fn equal_parts_of_unequal_shares_are_found_after_some_periods_by_those_who_have_too_much_or_too_little() {
    let in_turn = [host(1.0, 64.0, 8.0, 100.0), host(2.0, 64.0, 16.0, 100.0), host(5.0, 64.0, 40.0, 100.0)];
    assert_eq!(told(12, &in_turn), [None; 3]);
    let found = told(60, &in_turn);
    assert!(
        found[0].is_some_and(|ratio| ratio > 2.0) && found[2].is_some_and(|ratio| ratio < 0.7),
        "{found:?}"
    );
    let by_shares = [1.0, 2.0, 5.0].map(|shares| host(shares, 64.0, 8.0 * shares, 95.0 * shares + 9.0));
    assert_eq!(told(60, &by_shares), [None; 3]);
}

#[test]
fn who_wants_no_more_or_may_have_no_more_is_not_wronged() {
    let busy = host(1.0, 64.0, 8.0, 500.0);
    for other in [
        host(5.0, 8.0, 8.0, 100.0),
        host(5.0, 100.0, 64.0, 100.0),
        host(5.0, 0.0, 0.0, 0.0),
        host(5.0, 64.0, 8.0, 0.0),
    ] {
        assert_eq!(told(60, &[busy.clone(), other.clone()]), [None; 2], "{other:?}");
    }
    assert_eq!(told(60, std::slice::from_ref(&busy)), [None]);
    let few = Report { completions: 1, ..host(5.0, 64.0, 8.0, 100.0) };
    assert_eq!(told(20, &[busy, few])[1], None, "too few I/Os to know");
}

#[test]
fn unfairness_that_has_ended_is_soon_over() {
    let mut fairness = Fairness::default();
    let (wrong, right) = (host(1.0, 64.0, 8.0, 100.0), host(3.0, 64.0, 8.0, 300.0));
    (0..60).for_each(|_| fairness.learn(&[wrong.clone(), Report { rate: 100.0, ..right.clone() }], 0));
    assert!(fairness.unfair().is_some());
    (0..60).for_each(|_| fairness.learn(&[wrong.clone(), right.clone()], 0));
    assert_eq!(fairness.unfair(), None);
}
