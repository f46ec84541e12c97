//! Models of servers whose response is known.

use super::*;
use crate::random::{Random, Seed};

const BASIS: Basis = Basis { cpus: 1.0, full_at: Some(250.0), limit: 200.0 };

/// An M/M/1 server of 4 ms: `s / (1 - u)`.
fn mm1(rates: &[f64]) -> Vec<Measured> {
    let point = |rate: &f64| Measured {
        rate: *rate,
        response: 0.004 / (1.0 - rate * 0.004),
        error: 0.02,
        full_at: None,
    };
    rates.iter().map(point).collect()
}

const RATES: [f64; 7] = [50.0, 75.0, 100.0, 125.0, 150.0, 175.0, 200.0];

fn server() -> Server {
    let points = mm1(&RATES);
    let p95: Vec<Measured> =
        points.iter().map(|point| Measured { response: 3.0 * point.response, ..*point }).collect();
    Server {
        tau: Sizing::of(&points, BASIS).unwrap(),
        p95: Sizing::of(&p95, BASIS),
        busy: RATES.iter().map(|rate| (*rate, 0.004 * rate)).collect(),
    }
}

#[test]
fn a_queue_is_found_to_be_one_and_told_between_the_rates_that_were_measured() {
    let sizing = Sizing::of(&mm1(&RATES), BASIS).unwrap();
    assert_ne!(sizing.better().kind, Kind::Regression);
    assert!(sizing.better().error() < 0.02, "{}", sizing.better().error());
    for rate in [60.0, 110.0, 190.0] {
        let (told, truth) = (sizing.predict(rate, false).unwrap(), 0.004 / (1.0 - rate * 0.004));
        assert!((told.response / truth - 1.0).abs() < 0.02, "{told:?}");
        assert!(told.low < truth && truth < told.high && told.high < 1.3 * truth, "{told:?}");
    }
}

#[test]
fn nothing_is_told_beyond_the_trust_limit_unless_it_is_asked_for() {
    let sizing = Sizing::of(&mm1(&RATES), BASIS).unwrap();
    assert_eq!(sizing.predict(220.0, false), Err(SizeError::BeyondTrust { rate: 220.0, limit: 200.0 }));
    let told = sizing.predict(220.0, true).unwrap();
    assert!(told.kind.has_an_end() && told.low < 0.033_333 && 0.033_333 < told.high, "{told:?}");
    assert!(matches!(sizing.predict(400.0, true), Err(SizeError::Saturates { rate: 400.0, .. })));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(sizing.predict(rate, true), Err(SizeError::NotARate(_))), "{rate}");
    }
}

/// As tpcw.simple was measured on a server of one CPU: without its highest rate, the network is chosen and ends below that rate.
#[test]
fn a_rate_that_is_left_out_is_told_by_a_model_that_tells_it() {
    let measured = [
        (638.0, 0.1993, 0.0169),
        (1_020.0, 0.2021, 0.03),
        (1_400.0, 0.1894, 0.0106),
        (2_170.0, 0.2003, 0.0256),
        (2_550.0, 0.1946, 0.0317),
    ];
    let points = measured.map(|(rate, ms, error)| Measured {
        rate,
        response: ms / 1e3,
        error,
        full_at: (rate >= 1_275.0).then_some(12_600.0),
    });
    let sizing = Sizing::of(&points, Basis { cpus: 1.0, full_at: Some(12_600.0), limit: 2_550.0 }).unwrap();
    let network = sizing.rivals.iter().find(|rival| rival.kind == Kind::Network).unwrap();
    assert_eq!(network.untold(), 1);
    assert!(sizing.chosen.iter().all(|left| left.told.is_some()), "{:#?}", sizing.chosen);
    assert!(sizing.error() < 0.08, "{}", sizing.error());
}

/// As tpcw.complex was measured there: without its highest rate, the queue is chosen, whose interval at that rate says nothing.
#[test]
fn a_rate_that_is_left_out_is_told_by_a_model_whose_interval_says_something() {
    let measured = [
        (250.0, 0.9319, 0.0195),
        (400.0, 0.9526, 0.015),
        (550.0, 1.0277, 0.0371),
        (700.0, 1.0199, 0.0144),
        (850.0, 1.1692, 0.0155),
        (1_000.0, 1.3324, 0.0229),
    ];
    let points = measured.map(|(rate, ms, error)| Measured {
        rate,
        response: ms / 1e3,
        error,
        full_at: (rate >= 500.0).then_some(1_550.0),
    });
    let sizing = Sizing::of(&points, Basis { cpus: 1.0, full_at: Some(1_550.0), limit: 1_000.0 }).unwrap();
    let highest = sizing.chosen.last().unwrap();
    assert!(highest.told.is_some_and(|told| told.says()), "{highest:?}");
    assert!(sizing.error() < 0.08, "{}", sizing.error());
}

#[test]
fn a_load_is_told_as_far_as_its_servers_can_be_counted() {
    let server = server();
    let many = server.needed(1.9e8, None, false).unwrap();
    assert!((949_000..=950_000).contains(&many.servers), "{many:?}");
    // For this 1.27 million would be needed.
    let objective = Some((Objective::P95, 0.03));
    assert_eq!(server.needed(1.9e8, objective, false).unwrap_err(), SizeError::NotARate(1.9e8));
    assert_eq!(server.needed(1e9, None, false).unwrap_err(), SizeError::NotARate(1e9));
    // A multiple of the lowest rate may divide into a little more than that.
    let points = mm1(&[31.9, 75.0, 100.0, 125.0, 150.0]);
    let tau = Sizing::of(&points, BASIS).unwrap();
    let low = Server { p95: Sizing::of(&points, BASIS), tau, busy: Vec::new() };
    let error = low.needed(606.1, Some((Objective::Tau, 0.001)), false).unwrap_err();
    assert!(matches!(error, SizeError::OutOfReach { .. }), "{error:?}");
}

#[test]
fn a_profile_too_small_for_a_model_is_told_so() {
    assert_eq!(Sizing::of(&mm1(&RATES[..3]), BASIS), Err(SizeError::TooFewRates { have: 3, needed: 4 }));
    assert_eq!(Sizing::of(&[], BASIS), Err(SizeError::TooFewRates { have: 0, needed: 4 }));
    let low = Basis { limit: 100.0, ..BASIS };
    assert_eq!(Sizing::of(&mm1(&RATES), low), Err(SizeError::TooFewRates { have: 3, needed: 4 }));
    assert_eq!(Sizing::of(&mm1(&RATES), Basis { limit: f64::NAN, ..BASIS }), Err(SizeError::NothingTrusted));
    let mut twice = mm1(&RATES[..3]);
    twice.extend(mm1(&RATES[..3]));
    assert_eq!(Sizing::of(&twice, BASIS), Err(SizeError::TooFewRates { have: 3, needed: 4 }));
    let broken = Measured { response: f64::NAN, ..mm1(&[60.0])[0] };
    assert_eq!(Sizing::of(&[broken; 6], BASIS), Err(SizeError::TooFewRates { have: 0, needed: 4 }));
}

#[test]
fn an_objective_needs_as_many_servers_as_keep_its_upper_end_within_it() {
    let server = server();
    let found = server.needed(400.0, Some((Objective::P95, 0.03)), false).unwrap();
    // p95 is 12 ms / (1 - u): 30 ms at 150 requests/s, and three servers have 133 each.
    assert_eq!(found.servers, 3);
    assert!(!found.by_trust && found.each.p95.unwrap().high <= 0.03, "{found:?}");
    assert!((found.each.busy.unwrap().0 - 0.533).abs() < 0.001, "{found:?}");
    let by_trust = server.needed(400.0, Some((Objective::Tau, 1.0)), false).unwrap();
    assert!(by_trust.servers == 2 && by_trust.by_trust, "{by_trust:?}");
    let none = server.needed(400.0, None, false).unwrap();
    assert_eq!(none.servers, 2);
}

#[test]
fn an_objective_that_an_idle_server_does_not_meet_is_out_of_reach() {
    let error = server().needed(400.0, Some((Objective::P95, 0.005)), false).unwrap_err();
    assert!(
        matches!(error, SizeError::OutOfReach { objective: 0.005, least, rate: 50.0 } if least > 0.012),
        "{error}"
    );
}

#[test]
fn rates_that_contradict_one_another_leave_the_response_open() {
    let wild = [0.01, 5.0, 0.02, 9.0, 0.01].iter().zip(RATES);
    let points: Vec<Measured> = wild
        .map(|(response, rate)| Measured { rate, response: *response, error: 0.05, full_at: None })
        .collect();
    let sizing = Sizing::of(&points, BASIS).unwrap();
    assert_eq!(sizing.predict(110.0, false), Err(SizeError::LeavesOpen { rate: 110.0 }));
    let server = Server { p95: Sizing::of(&points, BASIS), tau: sizing, busy: Vec::new() };
    let error = server.needed(400.0, Some((Objective::P95, 0.1)), false).unwrap_err();
    assert!(matches!(error, SizeError::LeavesOpen { .. }), "{error}");
}

#[test]
fn more_load_never_needs_fewer_servers_and_a_stricter_objective_neither() {
    let server = server();
    let needed =
        |rate: f64, p95: f64| server.needed(rate, Some((Objective::P95, p95)), false).unwrap().servers;
    let mut last = 0;
    for rate in [10.0, 100.0, 300.0, 900.0, 5_000.0, 100_000.0] {
        let servers = needed(rate, 0.03);
        assert!(servers >= last && servers >= needed(rate, 0.05), "{rate}: {servers}");
        last = servers;
    }
}

#[test]
fn several_cpus_and_a_delay_are_fitted_as_well() {
    // Four CPUs that are full at 1,000 per second, and a delay of 10 ms that no load changes.
    let basis = Basis { cpus: 4.0, full_at: Some(1_000.0), limit: 900.0 };
    let truth = |rate: f64| 0.014 + super::station::wait(rate, 1_000.0, 4.0);
    let mut random = Random::new(Seed(3));
    let points: Vec<Measured> = [300.0, 450.0, 600.0, 700.0, 800.0, 900.0]
        .iter()
        .map(|rate| Measured {
            rate: *rate,
            response: truth(*rate) * (0.01 * random.normal()).exp(),
            error: 0.01,
            full_at: None,
        })
        .collect();
    let sizing = Sizing::of(&points, basis).unwrap();
    let told = sizing.predict(850.0, false).unwrap();
    assert!((told.response / truth(850.0) - 1.0).abs() < 0.05, "{told:?} {}", truth(850.0));
}

/// Responses of a queue that are off by 20 % at random, though they pretend to be sharp.
fn noisy(seed: u64) -> Vec<Measured> {
    let mut random = Random::new(Seed(seed));
    let off = |point: Measured, random: &mut Random| Measured {
        response: point.response * (0.2 * random.normal()).exp(),
        ..point
    };
    mm1(&RATES).into_iter().map(|point| off(point, &mut random)).collect()
}

#[test]
fn what_choosing_the_best_of_several_models_flatters_is_not_in_the_error_that_is_told() {
    let (mut best, mut told) = (0.0, 0.0);
    for seed in 1..=20 {
        let sizing = Sizing::of(&noisy(seed), BASIS).unwrap();
        assert_eq!(sizing.chosen.len(), RATES.len());
        if sizing.error().is_finite() {
            (best, told) = (best + sizing.better().error(), told + sizing.error());
        }
    }
    assert!(told > 1.02 * best, "{told} is hardly more than {best}");
}

#[test]
fn the_work_of_a_rate_that_is_left_out_has_no_part_in_what_tells_it() {
    let at = |full_at: f64| {
        let mut points = mm1(&RATES);
        for point in &mut points {
            point.full_at = Some(250.0);
        }
        points[2].full_at = Some(full_at);
        let sizing = Sizing::of(&points, BASIS).unwrap();
        let queue = sizing.rivals.iter().find(|rival| rival.kind == Kind::Queue).unwrap();
        (queue.left_out[2].told, queue.left_out[0].told)
    };
    let (sane, wild) = (at(250.0), at(900.0));
    assert_eq!(sane.0, wild.0);
    assert_ne!(sane.1, wild.1);
}

#[test]
fn where_the_work_of_one_rate_alone_is_known_it_has_no_part_in_what_tells_that_rate() {
    let at = |full_at: Option<f64>| {
        let mut points = mm1(&RATES);
        let last = points.len() - 1;
        points[last].full_at = full_at;
        let sizing = Sizing::of(&points, Basis { full_at: None, ..BASIS }).unwrap();
        let queue = sizing.rivals.iter().find(|rival| rival.kind == Kind::Queue).unwrap();
        queue.left_out[last].told
    };
    assert_eq!(at(Some(250.0)), at(Some(900.0)));
}

#[test]
fn what_each_model_fits_is_taken_from_the_degrees_of_freedom() {
    let unseen = Basis { full_at: None, ..BASIS };
    let taken = |basis: &Basis| Kind::ALL.map(|kind| super::fit::taken(kind, basis, 2));
    assert_eq!((taken(&BASIS), taken(&unseen)), ([2, 3, 3], [3, 3, 3]));
}
