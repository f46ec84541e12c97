//! The log of requests: a line for every arrival of the measured phase.

use super::*;
use std::process::Command;

/// Nothing is answered before the measured phase, and then so many.
fn load_behind_a_lock(server: &Server, table: &str, plan: &LoadPlan, completed: u64) -> LoadResult {
    server.exec(&[
        &format!("CREATE OR REPLACE TABLE {table} (c INT)"),
        &format!("INSERT INTO {table} VALUES (1)"),
    ]);
    let mut holder = Some(Control::connect(&server.sandbox.target()).unwrap());
    holder.as_mut().unwrap().exec(&format!("LOCK TABLES {table} WRITE")).unwrap();
    load_until(plan, |progress| {
        if progress.phase == LoadPhase::Measure {
            holder = None;
        }
        progress.completed > completed
    })
}

#[test]
fn what_the_warm_up_left_over_is_work_of_the_intervals_and_of_nothing_else() {
    let server = Server::shared();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv.zst");
    let mut plan = plan(server.target(), Script::new(&["SELECT c FROM held"]), ArrivalPlan::Constant(40.0));
    // One session answers in the order of the arrivals, and nothing before the measured phase.
    plan.sessions = SessionPolicy::Pooled { max: 1 };
    (plan.warm_up, plan.request_log) = (Nanos::from_millis(600), Some(path.clone()));
    let result = load_behind_a_lock(&server, "d.held", &plan, 40);
    // Forty a second for 0.6 s.
    assert_eq!(result.carried_over, 24);
    assert_eq!(result.interval_length, Nanos::from_millis(250));
    assert_eq!(result.intervals.len() as u64, result.measured.0.div_ceil(250_000_000));
    let worked: u64 = result.intervals.iter().map(|interval| interval.completed).sum();
    let lines = log_lines(&path);
    assert_eq!(lines.len() as u64, result.counts.arrivals, "{:?}", result.counts);
    let in_phase = |line: &&Line| line.outcome == "completed" && line.done < result.measured.0;
    assert_eq!(worked, 24 + lines.iter().filter(in_phase).count() as u64);
}

#[test]
fn a_cold_server_begins_the_measured_phase_with_few_requests_in_flight() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&["SELECT c FROM cold"]), ArrivalPlan::Constant(40.0));
    (plan.warm_up, plan.warm_up_max) = (Nanos::from_millis(640), Some(2));
    let result = load_behind_a_lock(&server, "d.cold", &plan, 10);
    // Two of the first 240 ms; then nothing was answered, so that the server is slow rather than cold, and gets all.
    assert_eq!(result.carried_over, 18);
}

/// A line of the request log, in nanoseconds from the start of the measured phase.
pub struct Line {
    pub arrival: u64,
    pub done: u64,
    pub outcome: String,
}

pub fn log_lines(path: &Path) -> Vec<Line> {
    let text = Command::new("zstd").arg("-dc").arg(path).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        // Of arrival, send, first byte and end, those that happened.
        let instants: Vec<u64> = columns[..4].iter().filter_map(|column| column.parse().ok()).collect();
        assert!(instants.is_sorted() && columns[4] == "request", "{line}");
        Line { arrival: instants[0], done: instants[instants.len() - 1], outcome: columns[5].to_owned() }
    });
    lines.collect()
}
