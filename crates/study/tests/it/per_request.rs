//! What the server did per request, where it is known: one statement that asks for the same pages each time.

use super::load::Script;
use super::sandbox::eventually;
use super::study::{folder, measure, spec};
use evenkeel_core::Nanos;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Control, Target};
use evenkeel_study::profile::{ServerSpec, StudySpec, server_measures};
use evenkeel_study::store::format::RunFile;
use std::path::Path;
use std::sync::Arc;

/// Reads one table whole, twice, and computes for a millisecond or some more, on the fastest of machines.
const FIXED: &str = "SELECT COUNT(*) FROM item a JOIN item b ON a.i_srp > b.i_cost WHERE a.i_id <= 60";

/// Statements under way at the ends of the stretch have done a part of their work in it, and the server does a little by itself.
const TOLERANCE: f64 = 0.08;

fn at(home: &Path, rates: Vec<f64>, protocol: Protocol, statements: &[&'static str]) -> StudySpec {
    let mut spec = spec(home, "tpcw.simple", RatePlan::List(rates));
    spec.series[0].workload = Arc::new(Script::new(statements));
    (spec.repeats, spec.whole_sweep, spec.protocol) = (1, true, protocol);
    // What arrives before the measurement begins is answered first, and has to leave time for some that arrive in it.
    (spec.warm_up, spec.duration) = (Nanos::from_millis(250), Nanos::from_secs(4));
    spec.sessions = SessionPolicy::Pooled { max: 4 };
    spec
}

/// Pages that the server counts for one execution.
fn pages(spec: &StudySpec) -> f64 {
    let ServerSpec::Sandbox { sandbox, .. } = &spec.sites[0].place else { panic!("it is a private server") };
    let server = Sandbox::up(sandbox, &Stop::default(), &mut |_| ()).unwrap();
    let target = Target { database: Some("tpcw".into()), ..server.target() };
    let mut control = Control::connect(&target).unwrap();
    let mut counted = || {
        let status = control.status().unwrap();
        status["Innodb_buffer_pool_read_requests"].parse::<f64>().unwrap()
    };
    const EXECUTIONS: u32 = 50;
    let before = counted();
    let mut asks = Control::connect(&target).unwrap();
    (0..EXECUTIONS).for_each(|_| drop(asks.query(FIXED).unwrap()));
    let pages = (counted() - before) / f64::from(EXECUTIONS);
    server.down(&mut |_| ()).unwrap();
    pages
}

/// Pages per request of a run; `None` where the machine stood still while they were read, or all the time.
fn told(run: &RunFile) -> Option<f64> {
    let told = server_measures(run).get("pool_read_requests_per_request").copied();
    let stretch = run.status_stretch.as_ref().expect("the server tells its status");
    assert!(
        told.is_some() || !stretch.is_sharp() || run.counts.completed == 0,
        "{stretch:?} {:?}",
        run.counts
    );
    told
}

/// Measures until each run tells its pages, and holds them against those that are known.
fn check(spec: &StudySpec, home: &Path, statements: f64) {
    let mut tries = 0;
    eventually("a reading of the pages of all runs", || {
        tries += 1;
        let folder = folder(&home.join(format!("runs {tries}")), spec);
        measure(spec, &folder, usize::MAX);
        let runs = folder.runs().unwrap();
        assert!(runs.iter().any(|run| run.counts.completed < run.counts.arrivals), "no run is overloaded");
        let Some(all) = runs.iter().map(told).collect::<Option<Vec<f64>>>() else { return false };
        let pages = statements * pages(spec);
        for (told, run) in all.iter().zip(&runs) {
            assert!((told / pages - 1.0).abs() < TOLERANCE, "{told} of {pages} pages: {:?}", run.counts);
        }
        true
    });
}

#[test]
fn requests_of_one_statement_and_of_two_take_as_many_pages_under_overload_as_without_load() {
    for (protocol, statements) in [(Protocol::Prepared, &[FIXED][..]), (Protocol::Text, &[FIXED, FIXED])] {
        let home = tempfile::tempdir().unwrap();
        let spec = at(home.path(), vec![60.0, 3_000.0], protocol, statements);
        check(&spec, home.path(), statements.len() as f64);
    }
}
