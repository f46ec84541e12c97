//! What the server did per request, where it is known: one statement that asks for the same pages each time.

use super::load::Script;
use super::study::{folder, measure, spec};
use evenkeel_core::Nanos;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::{Protocol, SessionPolicy};
use evenkeel_lab::sandbox::Sandbox;
use evenkeel_lab::stop::Stop;
use evenkeel_lab::store::format::RunFile;
use evenkeel_lab::study::{Place, StudySpec, server_measures};
use evenkeel_lab::target::{Control, Target};
use std::path::Path;
use std::sync::Arc;

/// Reads one table whole, twice, and computes for a millisecond or some more.
const FIXED: &str = "SELECT COUNT(*) FROM item a JOIN item b ON a.i_srp > b.i_cost WHERE a.i_id <= 30";

/// Statements under way at the ends of the stretch have done a part of their work in it, and the server does a little by itself.
const TOLERANCE: f64 = 0.06;

fn at(home: &Path, rates: Vec<f64>, protocol: Protocol, statements: &[&'static str]) -> StudySpec {
    let mut spec = spec(home, "tpcw.simple", RatePlan::List(rates));
    spec.series[0].workload = Arc::new(Script::new(statements));
    (spec.repeats, spec.whole_sweep, spec.protocol) = (1, true, protocol);
    (spec.warm_up, spec.duration) = (Nanos::from_secs(1), Nanos::from_secs(4));
    (spec.sessions, spec.request_log) = (SessionPolicy::Pooled { max: 12 }, false);
    spec
}

/// Pages that the server counts for one execution.
fn pages(spec: &StudySpec) -> f64 {
    let Place::Sandbox { sandbox, .. } = &spec.sites[0].place else { panic!("it is a private server") };
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

fn told(run: &RunFile) -> f64 {
    *server_measures(run).get("pool_read_requests_per_request").expect("the server counts its pages")
}

#[test]
fn a_statement_takes_as_many_pages_under_overload_as_without_load() {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let home = tempfile::tempdir().unwrap();
        let spec = at(home.path(), vec![60.0, 3_000.0], protocol, &[FIXED]);
        let folder = folder(&home.path().join("runs"), &spec);
        measure(&spec, &folder, usize::MAX);
        let pages = pages(&spec);
        let runs = folder.runs().unwrap();
        assert!(runs.iter().any(|run| run.counts.completed < run.counts.arrivals), "no run is overloaded");
        for run in &runs {
            let difference = told(run) / pages - 1.0;
            assert!(difference.abs() < TOLERANCE, "{} of {pages} pages: {:?}", told(run), run.counts);
        }
    }
}

#[test]
fn a_request_of_two_statements_takes_the_pages_of_both() {
    let home = tempfile::tempdir().unwrap();
    let spec = at(home.path(), vec![60.0, 2_000.0], Protocol::Prepared, &[FIXED, FIXED]);
    let folder = folder(&home.path().join("runs"), &spec);
    measure(&spec, &folder, usize::MAX);
    let pages = 2.0 * pages(&spec);
    for run in &folder.runs().unwrap() {
        assert!(
            (told(run) / pages - 1.0).abs() < TOLERANCE,
            "{} of {pages} pages: {:?}",
            told(run),
            run.counts
        );
    }
}
