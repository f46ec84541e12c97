//! The controller in situations in which it must not change the limit; what it does on plants is tried in `dev`.

use super::*;
use crate::time::Nanos;

/// The controller with no limit but the usual range, from this limit on.
fn evenkeel(initial: u32) -> Evenkeel {
    Evenkeel::new(Bounds::starting_at(initial), Settings::default())
}

/// A tick of 50 ms as a plant without noise gives it.
fn exact(number: u64, limit: u32, in_flight: f64, per_s: f64) -> Sample {
    let count = per_s * 0.05;
    Sample {
        start: Nanos::from_millis(50 * number),
        end: Nanos::from_millis(50 * number + 50),
        limit,
        in_flight_mean: in_flight,
        in_flight_max: in_flight.ceil() as u32,
        queued: 1_000.0,
        completions: count.round() as u64,
        work: count,
        ..Sample::default()
    }
}

#[test]
fn clients_that_go_away_in_a_test_say_nothing_about_the_limit_tried() {
    for initial in [8, 64] {
        for filled in [0, 7, 8] {
            clients_go_away_after(initial, filled);
        }
    }
}

/// In the first test, after so many ticks in which the limit tried was in force; the curve is flat, so the test is long.
fn clients_go_away_after(initial: u32, filled: u32) {
    let mut controller = evenkeel(initial);
    controller.descends = false;
    let (mut limit, mut number, mut tried) = (initial, 0, None);
    let mut tick = |share: f64| {
        let decision = controller.update(&exact(number, limit, share * f64::from(limit), 800.0 * share));
        (limit, number) = (decision.limit, number + 1);
        decision
    };
    while tried.is_none() {
        let decision = tick(1.0);
        tried = matches!(decision.why, Reason::Trying { .. }).then_some(decision.limit);
    }
    for _ in 0..filled {
        tick(1.0);
    }
    for _ in 0..200 {
        assert!(!matches!(tick(0.05).why, Reason::CannotFill { .. }));
    }
    assert_eq!(tick(0.05).limit, initial, "meanwhile the limit in use is in force");
    let next = (0..40).map(|_| tick(1.0).limit).find(|&limit| limit != initial);
    assert_eq!(next, tried, "{initial} after {filled}: the same limit is tried again");
}

#[test]
fn what_does_not_fill_the_limit_teaches_nothing() {
    let mut controller = evenkeel(8);
    for number in 0..2_000 {
        let decision = controller.update(&exact(number, 8, 5.0, 900.0));
        assert_eq!(decision.limit, 8, "{decision}");
    }
}

#[test]
fn a_probe_that_the_clients_cannot_fill_is_not_begun() {
    let mut controller = evenkeel(8);
    let mut limit = 8;
    for number in 0..2_000 {
        let per_s = 100.0 * f64::from(limit);
        let sample = Sample { queued: 0.0, ..exact(number, limit, f64::from(limit), per_s) };
        limit = controller.update(&sample).limit;
        assert!(limit <= 8, "{limit} for 8 clients");
    }
}

#[test]
fn a_sample_that_makes_no_sense_is_not_used() {
    let mut controller = evenkeel(8);
    let bad = [
        Sample { work: f64::NAN, ..exact(0, 8, 8.0, 100.0) },
        Sample { work: -1.0, ..exact(0, 8, 8.0, 100.0) },
        Sample { end: Nanos::ZERO, ..exact(0, 8, 8.0, 100.0) },
        Sample { in_flight_mean: f64::INFINITY, ..exact(0, 8, 8.0, 100.0) },
    ];
    for sample in bad {
        assert_eq!(controller.update(&sample), Decision { limit: 8, why: Reason::BadSample });
    }
    assert_eq!(controller.update(&exact(0, 12, 12.0, 100.0)).why, Reason::NotInForce { limit: 12 });
}

#[test]
fn want_of_memory_halves_the_limit_at_once() {
    let mut controller = evenkeel(40);
    let mut limit = 40;
    let mut braked = None;
    for number in 0..200 {
        let mut sample = exact(number, limit, f64::from(limit), 1_000.0);
        sample.signals.memory_pressure = Some(0.3);
        let decision = controller.update(&sample);
        limit = decision.limit;
        if let Reason::Brake { from, because } = decision.why {
            braked.get_or_insert((from, because, limit));
        }
    }
    assert_eq!(braked, Some((40, Hint::Memory, 20)));
}
