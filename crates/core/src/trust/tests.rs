//! Where trust ends.

use super::*;
use crate::random::{Random, Seed};
use crate::statistics::{ErrorBar, Sample};

const TIGHT: Tolerance = Tolerance { standard_error: 5.0, spread: 20.0 };

/// A point of ten runs with this standard error and spread, both in percent of a tau of 100 ms.
fn point(rate: f64, utilisation: f64, standard_error: f64, spread: f64) -> Point {
    let estimate = |mean: f64, standard_error: f64| Estimate {
        n: 10,
        mean,
        error: Some(ErrorBar {
            standard_error,
            low: mean - 2.0 * standard_error,
            high: mean + 2.0 * standard_error,
        }),
    };
    Point {
        rate,
        utilisation: Some(utilisation),
        lost: 0.0,
        targets: 0,
        invalid: None,
        settling: Settling::Settled,
        tau: estimate(0.1, standard_error / 1_000.0),
        tau_degrees: f64::INFINITY,
        target_taus: vec![0.1, 0.1 + spread / 1_000.0],
    }
}

fn limit(points: &[Point]) -> TrustLimit {
    TrustLimit::of(points, TIGHT)
}

#[test]
fn trust_ends_below_the_first_point_that_fails() {
    // The study, script-populated guests: fine at 30 req/s and 50 %, 500 ms of standard error at 40 req/s and 80 %.
    let points = [point(40.0, 80.0, 60.0, 100.0), point(30.0, 50.0, 3.0, 15.0), point(10.0, 17.0, 1.0, 10.0)];
    let limit = limit(&points);
    assert_eq!((limit.utilisation, limit.rate), (Some(50.0), Some(30.0)));
    let end = limit.end.clone().unwrap();
    assert_eq!(end.rate, 40.0);
    assert!(matches!(end.reason, Reason::StandardError { percent, .. } if (percent - 60.0).abs() < 1e-9));
}

#[test]
fn trust_that_never_ends_reaches_the_highest_measured() {
    let limit = limit(&[point(10.0, 20.0, 1.0, 1.0), point(20.0, 40.0, 4.9, 19.9)]);
    assert_eq!((limit.utilisation, &limit.end, limit.overlooked.len()), (Some(40.0), &None, 0));
    assert_eq!(limit.to_string(), "trusted up to 40 % CPU use, the highest measured");
}

#[test]
fn one_noisy_failure_at_low_load_is_overlooked_aloud() {
    let limit =
        limit(&[point(10.0, 20.0, 9.0, 1.0), point(20.0, 40.0, 1.0, 1.0), point(30.0, 60.0, 1.0, 1.0)]);
    assert_eq!((limit.utilisation, &limit.end), (Some(60.0), &None));
    assert_eq!(limit.overlooked[0].rate, 10.0);
    assert_eq!(
        limit.to_string(),
        "trusted up to 60 % CPU use, the highest measured; overlooked: at 10 requests/s (20 % \
         CPU use): runs differ too much, standard error up to 9.0 % of the mean (90 % confidence), limit 5.0 %"
    );
}

#[test]
fn a_failure_that_repeats_or_comes_at_high_load_is_no_noise() {
    let fine = |rate: f64, utilisation| point(rate, utilisation, 1.0, 1.0);
    let bad = |rate: f64, utilisation| point(rate, utilisation, 9.0, 1.0);
    let twice = limit(&[fine(1.0, 10.0), bad(2.0, 20.0), fine(3.0, 30.0), bad(4.0, 40.0), fine(5.0, 49.0)]);
    assert_eq!((twice.utilisation, twice.end.unwrap().rate), (Some(30.0), 4.0));
    let high = limit(&[fine(1.0, 10.0), bad(2.0, 60.0), fine(3.0, 70.0)]);
    assert_eq!((high.utilisation, high.overlooked), (Some(10.0), vec![]));
    let last = limit(&[fine(1.0, 10.0), bad(2.0, 20.0)]);
    assert_eq!(last.end.unwrap().rate, 2.0);
}

#[test]
fn nothing_measured_and_nothing_trusted_are_told_apart() {
    assert_eq!(limit(&[]).to_string(), "nothing was measured");
    let none = limit(&[point(10.0, 20.0, 50.0, 1.0)]);
    assert_eq!(none.utilisation, None);
    assert!(none.to_string().starts_with("not trusted at any rate: at 10 requests/s"));
}

#[test]
fn what_is_unsettled_apart_or_unknown_is_not_trusted() {
    let reason_of = |point: Point| reason_against(&point, TIGHT);
    let fine = point(10.0, 20.0, 1.0, 1.0);
    assert_eq!(reason_of(fine.clone()), None);
    assert_eq!(reason_of(Point { settling: Settling::Unsettled, ..fine.clone() }), Some(Reason::Unsettled));
    assert!(matches!(reason_of(point(10.0, 20.0, 1.0, 30.0)), Some(Reason::Spread { .. })));
    let once = std::iter::once(0.1).collect::<Sample>().estimate().unwrap();
    assert_eq!(reason_of(Point { tau: once, ..fine.clone() }), Some(Reason::TooFewRuns(1)));
    let nan = Point { tau: Estimate { mean: f64::NAN, ..fine.tau }, ..fine.clone() };
    assert!(matches!(reason_of(nan), Some(Reason::StandardError { .. })));
    assert_eq!(reason_of(Point { target_taus: vec![], ..fine }), None);
}

#[test]
fn a_point_that_loses_requests_is_not_trusted_however_fast_it_looks() {
    let lossy = Point { lost: 1.5, ..point(20.0, 40.0, 1.0, 1.0) };
    let limit = TrustLimit::of(&[point(10.0, 20.0, 1.0, 1.0), lossy, point(30.0, 60.0, 1.0, 1.0)], TIGHT);
    assert_eq!((limit.rate, limit.end.unwrap().reason), (Some(10.0), Reason::Lost(1.5)));
}

#[test]
fn a_rate_that_not_every_target_was_measured_at_is_not_trusted() {
    let alone = Point { targets: 3, ..point(20.0, 40.0, 1.0, 1.0) };
    let reason = TrustLimit::of(&[alone], TIGHT).end.unwrap().reason;
    assert!(matches!(reason, Reason::TargetsMissing { targets: 3, .. }), "{reason:?}");
}

#[test]
fn where_utilisation_cannot_be_seen_no_failure_is_taken_for_noise() {
    let blind = |rate, error| Point { utilisation: None, ..point(rate, 0.0, error, 1.0) };
    let limit = TrustLimit::of(&[blind(10.0, 1.0), blind(20.0, 9.0), blind(30.0, 1.0)], TIGHT);
    assert_eq!((limit.rate, limit.utilisation, limit.overlooked.len()), (Some(10.0), None, 0));
    assert!(
        limit.to_string().starts_with("trusted at lower rates: at 20 requests/s: runs differ"),
        "{limit}"
    );
}

fn too_short(rate: f64) -> Point {
    Point { settling: Settling::TooShort, ..point(rate, rate, 1.0, 1.0) }
}

fn invalid(rate: f64) -> Point {
    Point { invalid: Some("lag-too-large".to_owned()), ..point(rate, rate, 1.0, 1.0) }
}

#[test]
fn points_that_are_not_valid_and_too_short_carry_nothing() {
    let both = |rate| Point { settling: Settling::TooShort, ..invalid(rate) };
    for points in
        [[10.0, 20.0, 30.0].map(both), [10.0, 20.0, 30.0].map(invalid), [10.0, 20.0, 30.0].map(too_short)]
    {
        let limit = limit(&points);
        assert_eq!((limit.rate, limit.utilisation), (None, None));
        assert!(limit.to_string().starts_with("not trusted at any rate: at 10 requests/s"), "{limit}");
    }
}

#[test]
fn what_is_too_short_to_tell_is_passed_over_where_a_higher_rate_is_trusted() {
    let points = [too_short(5.0), too_short(10.0), point(20.0, 20.0, 1.0, 1.0), too_short(30.0)];
    let limit = self::limit(&points);
    assert_eq!((limit.rate, limit.overlooked.len()), (Some(20.0), 2));
    assert_eq!(limit.end.unwrap().rate, 30.0, "nothing above says that it settles");
    // And it ends the trust below a rate that fails.
    let points = [point(5.0, 5.0, 1.0, 1.0), too_short(10.0), point(20.0, 20.0, 50.0, 1.0)];
    let limit = self::limit(&points);
    assert_eq!((limit.rate, limit.end.unwrap().reason), (Some(5.0), Reason::TooShort));
}

#[test]
fn a_failed_measurement_is_overlooked_once_at_low_load_and_nowhere_else() {
    let fine = |rate: f64| point(rate, rate, 1.0, 1.0);
    let once = limit(&[fine(10.0), invalid(20.0), fine(30.0)]);
    assert_eq!((once.rate, once.overlooked[0].rate), (Some(30.0), 20.0));
    let twice = limit(&[fine(5.0), invalid(10.0), fine(20.0), invalid(30.0), fine(40.0)]);
    assert_eq!((twice.rate, twice.end.unwrap().rate), (Some(20.0), 30.0));
    let high = limit(&[fine(10.0), invalid(60.0), fine(70.0)]);
    assert!(high.rate == Some(10.0) && high.end.unwrap().to_string().contains("generator's own delay"));
}

#[test]
fn three_runs_that_agree_by_chance_are_rarely_trusted() {
    // A spread of 17 % between runs: the standard error of three is 9.8 %, and 65 of 100 triples show less than the tolerance.
    let mut random = Random::new(Seed(3));
    let trusted = (0..2_000).filter(|_| {
        let taus: Vec<f64> = (0..3).map(|_| 0.1 * (1.0 + 0.17 * random.normal())).collect();
        let tau = Estimate::of(&taus).unwrap();
        let one = Point { tau, tau_degrees: 2.0, ..point(10.0, 20.0, 0.0, 0.0) };
        TrustLimit::of(&[one], Tolerance::default()).rate.is_some()
    });
    let trusted = trusted.count();
    assert!((140..=280).contains(&trusted), "{trusted} of 2,000, where the confidence allows 200");
}

#[test]
fn more_than_half_of_the_runs_have_to_settle() {
    assert_eq!(Settling::of(3, 2, 1), Settling::Settled);
    assert_eq!(Settling::of(2, 1, 1), Settling::Unsettled);
    assert_eq!(Settling::of(3, 1, 0), Settling::TooShort);
    assert_eq!(Settling::of(4, 0, 1), Settling::TooShort);
    assert_eq!(Settling::of(0, 0, 0), Settling::Unsettled, "nothing has settled");
}
