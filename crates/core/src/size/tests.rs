//! Sizes of servers whose response is known.

use super::*;
use crate::random::{Random, Seed};

const ENDS: Ends =
    Ends { cpus: 1.0, at_least: Some(200.0), at_most: Some(300.0), full_at: Some(250.0), drift: 0.0 };
const RATES: [f64; 4] = [50.0, 100.0, 150.0, 200.0];

/// M/M/1 of 4 ms: `s / (1 - u)`, three runs of 8 s at each rate.
fn mm1(rates: &[f64], factor: f64) -> Vec<Measured> {
    let mut random = Random::new(Seed(7));
    let run = |rate: f64, random: &mut Random| {
        factor * 0.004 / (1.0 - rate * 0.004) * (0.03 * random.normal()).exp()
    };
    let point = |rate: &f64| Measured {
        rate: *rate,
        seconds: 8.0,
        responses: (0..3).map(|_| run(*rate, &mut random)).collect(),
    };
    rates.iter().map(point).collect()
}

fn sizing(rates: &[f64], ends: Ends) -> Sizing {
    Sizing::of(&mm1(rates, 1.0), ends, Figure::Mean).unwrap()
}

fn server() -> Server {
    Server {
        mean: sizing(&RATES, ENDS),
        p95: Sizing::of(&mm1(&RATES, 3.0), ENDS, Figure::P95).unwrap(),
        busy: RATES.iter().map(|rate| (*rate, 0.004 * rate)).collect(),
    }
}

#[test]
fn an_interval_holds_the_truth_and_is_narrow_between_the_rates_and_wide_without_them() {
    let truth = |rate: f64| 0.004 / (1.0 - rate * 0.004);
    let four = sizing(&RATES, ENDS);
    let one = sizing(&RATES[..1], ENDS).predict(175.0).unwrap();
    for rate in [75.0, 125.0, 175.0] {
        let found = four.predict(rate).unwrap();
        assert!(found.low < truth(rate) && truth(rate) < found.high, "{found:?}");
        assert!(found.high / found.low < 0.7 * one.high / one.low, "{found:?}");
    }
    assert!(one.low < truth(175.0) && truth(175.0) < one.high && one.is_wide(), "{one:?}");
    assert_eq!(four.predict(20.0).unwrap().response, four.predict(50.0).unwrap().response);
}

#[test]
fn an_upper_end_is_open_where_the_rate_may_not_be_carried_and_beyond_the_bound_there_is_no_answer() {
    let found = sizing(&RATES, Ends { full_at: None, ..ENDS });
    let near = found.predict(245.0).unwrap();
    assert!(near.high == f64::INFINITY && near.low >= found.predict(200.0).unwrap().low, "{near:?}");
    assert_eq!(found.predict(301.0), Err(SizeError::Saturates { rate: 301.0, at_most: Some(300.0) }));
    let by_cpu = sizing(&RATES, Ends { at_most: None, ..ENDS });
    assert_eq!(by_cpu.predict(600.0), Err(SizeError::Saturates { rate: 600.0, at_most: None }));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(found.predict(rate), Err(SizeError::NotARate(_))), "{rate}");
    }
}

#[test]
fn each_rate_is_predicted_from_the_others() {
    let left = sizing(&RATES, ENDS).left_out();
    assert_eq!(left.len(), 4);
    assert!(left[1..3].iter().all(|one| one.error().unwrap().abs() < 0.15), "{left:?}");
    let point = &mm1(&RATES, 1.0)[..1];
    assert!(Sizing::of(point, ENDS, Figure::Mean).unwrap().left_out().is_empty());
}

#[test]
fn a_profile_without_a_response_has_no_model() {
    let broken = Measured { responses: vec![f64::NAN], ..mm1(&[60.0], 1.0)[0].clone() };
    for points in [&[][..], &[broken]] {
        assert_eq!(Sizing::of(points, ENDS, Figure::Mean), Err(SizeError::NothingSettled));
    }
}

#[test]
fn a_server_whose_speed_was_seen_to_change_has_wider_intervals() {
    let steady = sizing(&RATES, ENDS).predict(120.0).unwrap();
    let unsteady = sizing(&RATES, Ends { drift: 0.2, ..ENDS }).predict(120.0).unwrap();
    assert!(unsteady.low < steady.low && unsteady.high > steady.high, "{steady:?} {unsteady:?}");
}

#[test]
fn far_above_the_highest_rate_nothing_is_known_where_none_was_refused_and_the_cpus_were_idle() {
    let mean = sizing(&RATES, Ends { at_most: None, ..ENDS });
    let idle = Server { mean, busy: vec![(200.0, 0.07); 3], ..server() };
    assert!(idle.knows(400.0).is_ok() && server().knows(9_000.0).is_ok());
    let error = idle.knows(9_000.0).unwrap_err().to_string();
    assert!(error.contains("at 200.0/s, its highest stable rate, CPU use was 7 %"), "{error}");
}

#[test]
fn as_many_servers_as_keep_the_upper_end_within_the_objective() {
    let server = server();
    let needed = server.needed(400.0, Some((Figure::P95, 0.03))).unwrap();
    assert!((3..=4).contains(&needed.servers) && needed.each.p95.high <= 0.03, "{needed:?}");
    let fewer = server.at(400.0 / (needed.servers as f64 - 1.0));
    assert!(fewer.is_err() || fewer.unwrap().p95.high > 0.03);
    let within = server.needed(900.0, None).unwrap();
    assert!(within.by_range && within.servers == 5, "{within:?}");
    let error = server.needed(400.0, Some((Figure::Mean, 0.001))).unwrap_err();
    assert!(matches!(error, SizeError::OutOfReach { rate: 50.0, .. }), "{error}");
    assert_eq!(server.likely(100.0, (Figure::P95, 1e-6)), None);
    assert_eq!(server.likely(100.0, (Figure::P95, 10.0)), Some(1), "a server carries that");
    for rate in [1e9, f64::NAN, 0.0] {
        assert!(matches!(server.needed(rate, None), Err(SizeError::NotARate(_))), "{rate}");
    }
    let (busy, low, high) = needed.each.busy.unwrap();
    assert!(low <= busy && busy <= high && (busy - 0.004 * needed.each.rate).abs() < 1e-6);
}
