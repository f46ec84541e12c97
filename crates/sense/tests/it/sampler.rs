//! Whole samplers, in runs of at most two seconds.

use super::{Busy, eventually, found};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_sense::{CpuOf, Sampler, SensePlan, SenseRecord, SenseSample};
use std::thread;
use std::time::Duration;

/// Runs a plan to its end: once more where the machine stood still so long that only one reading was made.
fn sample(plan: &SensePlan) -> SenseRecord {
    found("two readings", || {
        let sampler = Sampler::start(plan.clone()).expect("a thread");
        eventually("the end of the schedule", || sampler.is_over());
        let record = sampler.finish();
        assert!(!record.stopped && record.samples.len() + record.merged == record.planned, "{record:?}");
        record.whole.is_some().then_some(record)
    })
}

#[test]
fn a_run_beside_a_busy_server_has_its_utilisation() {
    let server = Busy::loops();
    let folder = tempfile::tempdir().expect("a folder");
    let outside = Clock::start();
    let record = sample(&SensePlan {
        domain: Some(CpuOf::Process(server.pid())),
        server_pid: Some(server.pid()),
        generator_cpus: CpuOf::Host.cpus(),
        data_dir: Some(folder.path().into()),
        delay: Nanos::from_millis(100),
        duration: Nanos::from_millis(1500),
        counters: true,
    });
    let longest = outside.now();
    assert_eq!(record.planned, 10);
    let whole = record.whole.as_ref().expect("two readings");
    let domain = whole.domain.as_ref().expect("a domain");
    let busy = |sample: &SenseSample| sample.domain.as_ref().map(|used| used.busy);
    let busy = record.samples.iter().filter_map(busy).fold(Nanos::ZERO, |sum, busy| sum + busy);
    assert_eq!(busy, domain.busy);
    // One thread; a tick at each end.
    assert!(Nanos::ZERO < busy && busy <= longest + Nanos::from_millis(20), "{longest:?} {whole:?}");
    assert_eq!(record.theta(), Some(domain.total));
    let sum = record.samples.iter().fold(Nanos::ZERO, |sum, sample| sum + sample.duration);
    assert_eq!(sum, whole.duration, "samples follow one another without a gap");
    let part = |sample: &SenseSample| Some(sample.domain.as_ref()?.total * sample.duration.0 as f64);
    let mean = record.samples.iter().filter_map(part).sum::<f64>() / sum.0 as f64;
    assert!((mean - domain.total).abs() < 1e-6, "{mean} {domain:?}");
    let counted = record.samples.iter().all(|sample| sample.counters.is_some());
    assert!(counted != record.counters_refused.is_some(), "counters, or why there are none");
    assert!(whole.switches.is_some() && whole.own.is_some() && whole.host.is_some());
    assert!(whole.other_load.expect("server and host are known") >= 0.0);
}

#[test]
fn a_server_that_is_dead_is_not_available_and_nothing_hangs() {
    let mut server = Busy::shell("exit 0");
    server.end();
    let record = sample(&SensePlan {
        domain: Some(CpuOf::Process(server.pid())),
        server_pid: Some(server.pid()),
        duration: Nanos::from_millis(300),
        counters: true,
        ..SensePlan::default()
    });
    let whole = record.whole.as_ref().expect("two readings");
    assert_eq!((&whole.domain, &whole.server, &whole.other_load), (&None, &None, &None));
    assert_eq!((&whole.process_io, &whole.switches, &whole.counters), (&None, &None, &None));
    assert!(whole.host.is_some() && record.theta().is_none());
}

#[test]
fn a_server_that_dies_in_the_middle_leaves_the_samples_before() {
    let plan = |server: &Busy| SensePlan {
        domain: Some(CpuOf::Process(server.pid())),
        duration: Nanos::from_millis(1500),
        ..SensePlan::default()
    };
    let has_domain = |sample: Option<&SenseSample>| sample.is_some_and(|sample| sample.domain.is_some());
    // Its end may be late on a busy machine, or the samples: then it is tried with another one.
    eventually("an end between the first sample and the last", || {
        let mut server = Busy::loops();
        let sampler = Sampler::start(plan(&server)).expect("a thread");
        thread::sleep(Duration::from_millis(850));
        server.end();
        eventually("the end of the schedule", || sampler.is_over());
        let record = sampler.finish();
        let died_in_the_middle = has_domain(record.samples.first()) && !has_domain(record.samples.last());
        assert!(!died_in_the_middle || record.theta().is_none(), "{record:?}");
        died_in_the_middle
    });
}

#[test]
fn finishing_early_does_not_wait_and_keeps_what_there_is() {
    let clock = Clock::start();
    let long = SensePlan { duration: Nanos::from_secs(3600), ..SensePlan::default() };
    let record = Sampler::start(long.clone()).expect("a thread").finish();
    assert!(record.stopped && record.samples.is_empty() && record.whole.is_none());
    drop(Sampler::start(long).expect("a thread"));
    assert!(clock.now() < Nanos::from_secs(1800));
    let short = SensePlan { duration: Nanos::from_secs(3), ..SensePlan::default() };
    eventually("a sampler that is ended between two samples", || {
        let sampler = Sampler::start(short.clone()).expect("a thread");
        thread::sleep(Duration::from_millis(1000));
        let record = sampler.finish();
        assert!(
            record.samples.len() <= 10 && record.whole.is_some() != record.samples.is_empty(),
            "{record:?}"
        );
        record.stopped && !record.samples.is_empty()
    });
}
