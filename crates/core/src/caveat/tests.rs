//! When a doubt is stated, and in which words.

use super::*;
use crate::disturbance::Disturbance;
use crate::stability::{Second, Stability};
use crate::statistics::BatchMeans;
use crate::time::Nanos;

pub(super) fn all() -> Vec<Caveat> {
    let growing: Vec<Second> =
        (1..=30).map(|second| Second { arrivals: 100, completed: 50, in_flight: 50 * second }).collect();
    vec![
        Caveat::lag(Nanos::from_millis(3), Nanos::from_millis(20), true).unwrap(),
        Caveat::lag_tail(Nanos::from_millis(3), Nanos::from_millis(10)).unwrap(),
        Caveat::session_wait(Nanos::from_millis(270), Nanos::from_millis(659), 256).unwrap(),
        Caveat::fewer_sessions(145, 700, "max_connections is 151 with 6 in use").unwrap(),
        Caveat::generator(97.0).unwrap(),
        Caveat::stability(&Stability::of(&growing, 0)).unwrap(),
        Caveat::stability(&Stability::of(&growing, 1_000)).unwrap(),
        Caveat::stability(&Stability::of(&growing[..1], 0)).unwrap(),
        Caveat::runs(1).unwrap(),
        Caveat::runs(2).unwrap(),
        Caveat::steal(2.5).unwrap(),
        Caveat::other_load(7.0).unwrap(),
        Caveat::throttled(Some(40.0), Some(0.5), Some(3), Some(55.0)).unwrap(),
        Caveat::backlog(90, 3_000).unwrap(),
        Caveat::unanswered(0, 300, Some(0.4)).unwrap(),
        Caveat::no_arrivals(0, Nanos::from_millis(100)).unwrap(),
        Caveat::lower_bound(3, 0, 3_000).unwrap(),
        Caveat::failures(&failed(1), 3_000).unwrap(),
        Caveat::page_cache("fsync"),
        Caveat::shared_cpus(1).unwrap(),
        Caveat::batches(&BatchMeans::of(&[(1, 1.0), (1, 2.0), (1, 3.0)], 3).unwrap()).unwrap(),
        Caveat::reconnects(1).unwrap(),
        Caveat::first_repeat(&[0.02, 0.01, 0.0101, 0.0099]).unwrap(),
        Caveat::not_available("hardware counters"),
        Caveat::runs_left_out(&["c03-r2".into()], 3).unwrap(),
        Caveat::measured_again(&[disturbance(6.9, 1.0), disturbance(2.5, 1.0)]).unwrap(),
        Caveat::rates_not_measured("", &[300.0, 400.5], "the response did not settle").unwrap(),
        Caveat::first_block_rises(),
        Caveat::not_reset(),
        Caveat::incomplete(1, 4, true, "one").unwrap(),
        Caveat::stopped(Nanos::from_secs(7), Nanos::from_secs(30)).unwrap(),
    ]
}

fn failed(count: u64) -> Vec<FailedBy> {
    vec![FailedBy { code: 1146, count, text: "Table 'shop.item' doesn't exist".into() }]
}

fn disturbance(steal: f64, other_load: f64) -> Disturbance {
    Disturbance { steal: Some(steal), other_load: Some(other_load) }
}

#[test]
fn every_doubt_that_counted_something_has_its_numbers() {
    let sentences_only = ["page-cache", "not-available", "first-block-rises", "no-reset"];
    for caveat in all() {
        assert_eq!(caveat.evidence.is_empty(), sentences_only.contains(&&*caveat.code), "{caveat:?}");
        for (name, value) in &caveat.evidence {
            let is_word =
                |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
            assert!(name.chars().all(is_word) && value.is_finite(), "{name} {value}");
            assert!(!name.ends_with("_ms") && !name.ends_with("_us"), "{name}: times are in seconds");
        }
    }
}

#[test]
fn the_evidence_stands_beside_what_would_have_been_tolerated() {
    let number = |caveat: &Caveat, name: &str| caveat.evidence.get(name).copied();
    let late = Caveat::lag(Nanos::from_micros(210), Nanos::from_millis(2), true).unwrap();
    assert_eq!(number(&late, "lag_mean_s"), Some(0.00021));
    assert_eq!(number(&late, "tolerated_s"), Some(0.0001));
    let stolen = Caveat::steal(2.5).unwrap();
    assert_eq!(number(&stolen, "steal_percent"), Some(2.5));
    assert_eq!(number(&stolen, "tolerated_percent"), Some(STEAL_MAX));
    let failures = Caveat::failures(&failed(30), 3_000).unwrap();
    assert_eq!(number(&failures, "error_1146"), Some(30.0));
    let again = Caveat::measured_again(&[Disturbance { steal: Some(6.9), other_load: None }]).unwrap();
    assert_eq!(number(&again, "worst_steal_percent"), Some(6.9));
    assert_eq!(number(&again, "worst_other_load_percent"), None, "nobody saw it");
}

#[test]
fn what_is_no_number_is_no_evidence() {
    let caveat = Caveat::new("code", Severity::Note, "Text.").with("a", f64::NAN).with("b", f64::INFINITY);
    assert!(caveat.with("c", None).evidence.is_empty());
}

#[test]
fn only_a_generator_that_failed_makes_a_measurement_invalid() {
    let invalid: Vec<_> =
        all().into_iter().filter(|one| one.severity == Severity::Invalid).map(|one| one.code).collect();
    assert_eq!(invalid, ["lag-too-large", "generator-saturated"]);
    assert!(Severity::Note < Severity::Doubt && Severity::Doubt < Severity::Invalid);
}

#[test]
fn few_failures_weigh_less_than_many() {
    assert_eq!(Caveat::failures(&failed(1), 3_000).unwrap().severity, Severity::Note);
    assert_eq!(Caveat::failures(&failed(30), 3_000).unwrap().severity, Severity::Doubt);
}

#[test]
fn what_is_within_bounds_is_no_caveat() {
    assert_eq!(Caveat::lag(Nanos::from_micros(50), Nanos::from_micros(300), false), None);
    assert_eq!(Caveat::lag_tail(Nanos::from_micros(250), Nanos::from_micros(300)), None);
    assert_eq!(Caveat::lag_tail(Nanos::from_millis(2), Nanos::from_millis(10)), None);
    assert_eq!(Caveat::lag(Nanos::from_millis(1), Nanos::from_millis(20), false), None);
    assert_eq!(Caveat::lag(Nanos::from_millis(1), Nanos::from_millis(50), true), None);
    assert_eq!(Caveat::session_wait(Nanos::from_millis(1), Nanos::from_millis(20), 9), None);
    assert_eq!(Caveat::session_wait(Nanos::from_micros(50), Nanos::from_micros(60), 9), None);
    assert_eq!(Caveat::fewer_sessions(256, 256, "none"), None);
    assert_eq!(Caveat::generator(80.0), None);
    assert_eq!(Caveat::stability(&Stability::Settled), None);
    assert_eq!(Caveat::runs(3), None);
    assert_eq!(Caveat::steal(0.0), None);
    assert_eq!(Caveat::other_load(f64::NAN), None);
    assert_eq!(Caveat::backlog(10, 20), None);
    assert_eq!(Caveat::backlog(20, 10_000), None);
    assert_eq!(Caveat::lower_bound(0, 0, 100), None);
    assert_eq!(Caveat::failures(&[], 0), None);
    assert_eq!(Caveat::shared_cpus(0), None);
    assert_eq!(Caveat::reconnects(0), None);
    assert_eq!(Caveat::throttled(Some(0.2), Some(0.5), None, None), None);
    assert_eq!(Caveat::throttled(Some(40.0), None, Some(0), Some(80.0)), None, "no quota is known");
    assert_eq!(Caveat::measured_again(&[]), None);
    assert_eq!(Caveat::incomplete(4, 4, true, "one"), None);
    assert_eq!(Caveat::stopped(Nanos::from_secs(30), Nanos::from_secs(30)), None);
}

#[test]
fn a_first_repeat_differs_only_beyond_what_the_later_ones_vary_by() {
    assert_eq!(Caveat::first_repeat(&[]), None);
    assert_eq!(Caveat::first_repeat(&[0.5, 0.1, 0.1]), None);
    assert_eq!(Caveat::first_repeat(&[0.0103, 0.01, 0.01, 0.01]), None);
    assert_eq!(Caveat::first_repeat(&[0.02, 0.01, 0.03, 0.015]), None);
    let differs = Caveat::first_repeat(&[0.02, 0.01, 0.01, 0.01]).unwrap();
    assert_eq!((&*differs.code, differs.severity), ("first-repeat-differs", Severity::Doubt));
    let evidence = ["first_s", "later_s"].map(|name| differs.evidence[name]);
    assert!((evidence[0] - 0.02).abs() < 1e-12 && (evidence[1] - 0.01).abs() < 1e-12, "{evidence:?}");
}
