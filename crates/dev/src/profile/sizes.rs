//! Sizes by profiles of virtual servers.

use super::VirtualProfile;
use evenkeel_core::random::Seed;
use evenkeel_core::size::SizeError;
use evenkeel_study::size::{Sized, sized};

fn one(loads: &[f64]) -> Sized {
    let (plan, runs) = VirtualProfile::of_one_cpu(loads).play(Seed(1)).unwrap();
    sized(&plan, &runs).remove(0)
}

#[test]
fn a_rate_beyond_the_trust_limit_has_an_interval_and_overload_alone_has_none() {
    let profile = VirtualProfile { repeats: 3, ..VirtualProfile::of_one_cpu(&[0.4, 0.8, 1.3, 1.8]) };
    let (plan, runs) = profile.play(Seed(2)).unwrap();
    let found = sized(&plan, &runs).remove(0);
    assert!(found.limit.rate.is_none_or(|limit| limit < 150.0), "{:?}", found.limit);
    let mean = found.server.unwrap().at(150.0).unwrap().mean;
    assert!(mean.low < 0.01 && 0.01 < mean.high, "{mean:?}");
    let beyond = one(&[1.2, 1.3, 1.4, 1.5]);
    assert_eq!(beyond.server.unwrap_err(), SizeError::NothingSettled);
}
