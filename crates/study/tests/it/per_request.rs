//! What the server did per request, of one statement that asks for the same pages each time; and the delay of probes and of requests behind a
//! relay that holds every message for a while.

use super::load::Script;
use super::sandbox::eventually;
use super::study::{folder, measure, spec};
use evenkeel_core::Nanos;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::{PartsPlan, Protocol, SessionPolicy};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Address, Control, Target};
use evenkeel_study::profile::{Reset, ServerSpec, StudySpec, server_measures};
use evenkeel_study::store::format::{RunFile, SummaryFile};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

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

/// Each way: longer than a thread on a busy machine waits for its turn as a rule.
const HELD: Duration = Duration::from_millis(20);

#[test]
fn the_probe_delay_is_what_the_way_adds_and_the_server_does_not() {
    let home = tempfile::tempdir().unwrap();
    let mut spec = spec(home.path(), "tpcw.simple", RatePlan::List(vec![20.0]));
    spec.duration = Nanos::from_millis(1_500);
    spec.parts = Some(PartsPlan { share: 1.0, server_pid: None });
    let held = 2e3 * HELD.as_secs_f64();
    let mut tries = 0;
    // A machine that stands still in a probe gives it another delay, or none; then it is asked again.
    eventually("a probe delay of what the way adds", || {
        tries += 1;
        let home = home.path().join(tries.to_string());
        // Fills the data; then the same server by a slow way, as one of the user's.
        let near = measure(&spec, &folder(&home.join("near"), &spec), usize::MAX);
        let far = measured_by_a_slow_way(&spec, &home);
        let (near, far) = (&near.cells[0], &far.cells[0]);
        assert!(far.tau_ms.mean > held, "the requests take the same way: {:?}", far.tau_ms);
        let added = far.mu_ms.mean - near.mu_ms.mean;
        let part = |name: &str| far.server[name].mean - near.server[name].mean;
        // What the way adds to the requests is network, and the server works as long as before.
        let is_network = (0.8 * held..3.0 * held).contains(&part("request_network_ms"));
        let is_named = is_network && part("request_execution_ms").abs() < 0.2 * held;
        is_named && (0.8 * held..3.0 * held).contains(&added) && (near.mu_ms.n, far.mu_ms.n) == (2, 2)
    });
}

fn measured_by_a_slow_way(near: &StudySpec, home: &Path) -> SummaryFile {
    let ServerSpec::Sandbox { sandbox, .. } = &near.sites[0].place else { panic!("it is a private server") };
    let server = Sandbox::up(sandbox, &Stop::default(), &mut |_| ()).unwrap();
    let way = home.join("slow.sock");
    relay(&way, server.socket());
    let target = Target { database: Some("tpcw".into()), address: Address::Unix(way), ..server.target() };
    let mut spec = near.clone();
    spec.sites[0].place = ServerSpec::Remote(target);
    spec.series[0].pool = None;
    spec.reset = Reset::Nothing;
    let summary = measure(&spec, &folder(&home.join("far"), &spec), usize::MAX);
    server.down(&mut |_| ()).unwrap();
    summary
}

/// Listens at one socket and hands everything on to another, each message a while later.
fn relay(from: &Path, to: &Path) {
    let listener = UnixListener::bind(from).unwrap();
    let to = to.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = UnixStream::connect(&to) else { break };
            let (client_reads, server_reads) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || hand_on(client_reads, server));
            thread::spawn(move || hand_on(server_reads, client));
        }
    });
}

fn hand_on(mut from: UnixStream, mut to: UnixStream) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        thread::sleep(HELD);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
