//! The delay of the probes and of the requests, where it is known: behind a relay that holds every message for a while.

use super::sandbox::eventually;
use super::study::{folder, measure, spec};
use evenkeel_core::Nanos;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::PartsPlan;
use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Address, Target};
use evenkeel_study::profile::{Reset, ServerSpec, StudySpec};
use evenkeel_study::store::format::SummaryFile;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

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
