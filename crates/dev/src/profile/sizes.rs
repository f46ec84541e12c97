//! Sizes by profiles of virtual servers.

use super::VirtualProfile;
use crate::simulation::VirtualServer;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::size::SizeError;
use evenkeel_study::size::{Sized, sized, start};

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

#[test]
fn a_guard_sets_out_from_what_fills_the_cpus_or_is_under_way_at_the_highest_trusted_rate() {
    let (plan, runs) = VirtualProfile::of_one_cpu(&[0.3, 0.5, 0.7]).play(Seed(1)).unwrap();
    let found = start(&plan, &runs).unwrap();
    // M/M/1 at 0.7 has 2.33 requests under way.
    assert_eq!((found.limit, found.rate), (3, 175.0));
    assert!((found.in_flight - 2.33).abs() < 0.4, "{found:?}");
    // At 0.3 it takes 4 ms / 0.7, of which 4 ms are work.
    assert!((found.busy.unwrap().saturates_at() - 1.43).abs() < 0.15, "{found:?}");
    let server = VirtualServer { cpus: 8, ..VirtualProfile::of_one_cpu(&[]).server };
    let (plan, runs) =
        VirtualProfile { server, ..VirtualProfile::of_one_cpu(&[0.3, 0.6]) }.play(Seed(1)).unwrap();
    // Eight that nobody waits for keep eight CPUs busy.
    let found = start(&plan, &runs).unwrap();
    assert!((16..=17).contains(&found.limit), "{found:?}");
    // A disk that takes twice as long as the CPUs ends first, and what would fill these means nothing.
    let server = VirtualServer { disk: Nanos::from_millis(8), ..VirtualProfile::of_one_cpu(&[]).server };
    let (plan, runs) =
        VirtualProfile { server, ..VirtualProfile::of_one_cpu(&[0.3, 0.5, 0.7]) }.play(Seed(1)).unwrap();
    let found = start(&plan, &runs).unwrap();
    assert!(found.busy.is_none() && f64::from(found.limit) == found.in_flight.ceil(), "{found:?}");
    let (plan, runs) = VirtualProfile::of_one_cpu(&[1.3, 1.5]).play(Seed(1)).unwrap();
    assert_eq!(start(&plan, &runs), Err(SizeError::NothingTrusted));
}
