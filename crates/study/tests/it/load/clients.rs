//! Closed clients: each waits for its answer, thinks, and has a session or waits for one.

use super::ends::{kill, log_lines};
use super::*;
use evenkeel_lab::workload::user::{
    Definition, NoColumns, StatementDefinition, TransactionDefinition, UserWorkload,
};
use std::collections::BTreeMap;

#[test]
fn closed_clients_wait_for_their_answer_and_think() {
    let server = Server::shared();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv.zst");
    let arrivals = ArrivalPlan::Closed { clients: 1, think: Some(Nanos::from_millis(20)) };
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.03)"]), arrivals);
    (plan.warm_up, plan.request_log) = (Nanos::ZERO, Some(path.clone()));
    load_until(&plan, |progress| progress.completed >= 100);
    let lines = log_lines(&path);
    assert!(lines.len() >= 100);
    assert!(lines.iter().all(|line| line.outcome != "completed" || line.done - line.arrival >= 29_000_000));
    // An arrival is the end before it and a pause, both as they were planned: no delay is in them.
    let pauses: Vec<u64> =
        lines.windows(2).map(|pair| pair[1].arrival.checked_sub(pair[0].done).unwrap()).collect();
    let mean = pauses.iter().sum::<u64>() / pauses.len() as u64;
    assert!((10_000_000..30_000_000).contains(&mean), "{mean}");

    (plan.threads, plan.request_log) = (2, None);
    plan.arrivals = ArrivalPlan::Closed { clients: 10, think: Some(Nanos::from_millis(20)) };
    let result = load_until(&plan, |progress| progress.completed >= 100);
    assert_eq!(result.sessions_max, 10);
    assert!(result.intervals.iter().all(|interval| interval.in_flight <= 10), "{:?}", result.intervals);
    // Each client has one answer in 30 ms at most.
    let most = 10 * (result.measured.0 / 29_000_000 + 1);
    assert!(result.counts.completed <= most, "{most} {:?}", result.counts);
}

#[test]
fn requests_that_wait_because_the_thread_was_late_are_lag_and_no_wait_for_a_session() {
    let server = Server::shared();
    let script = Script { hinders: true, ..Script::new(&[SELECT]) };
    let mut plan = plan(server.target(), script, ArrivalPlan::Constant(50.0));
    (plan.sessions, plan.warm_up) = (SessionPolicy::Pooled { max: 1 }, Nanos::ZERO);
    let result = load_until(&plan, |progress| progress.completed >= 150);
    // Ten of 25 are due while the thread does something else, and the one session is taken by its own fault.
    assert_eq!(result.lag.len(), result.counts.arrivals);
    assert!(6 * result.session_wait.len() < result.counts.arrivals, "{:?}", result.session_wait.len());
}

#[test]
fn closed_clients_without_think_time_do_not_spin_where_nothing_can_be_sent() {
    let server = Server::up();
    let pid = server.sandbox.pid();
    let eager = ArrivalPlan::Closed { clients: 4, think: Some(Nanos::ZERO) };
    let mut fresh = plan(server.target(), Script::new(&[SELECT]), eager.clone());
    (fresh.sessions, fresh.warm_up) = (SessionPolicy::PerRequest { max: 4 }, Nanos::ZERO);
    let mut is_up = true;
    let result = load_until(&fresh, |progress| {
        if is_up && progress.completed > 0 {
            kill("-KILL", pid);
            is_up = false;
        }
        progress.lost >= 8
    });
    // The wait between two tries doubles up to a second; without it there are tens of thousands in one.
    let failed: u64 = result.counts.failed.values().sum();
    assert!((8..2_000).contains(&failed), "{:?}", result.counts);
    // A request that cannot be written fails without any byte on its way.
    let server = Server::shared();
    let mut misfit = plan(server.target(), Script::new(&["SELECT '?'"]), eager);
    misfit.protocol = Protocol::Text;
    misfit.measure = Nanos::from_millis(100);
    load(&misfit);
}

fn pausing(pause: Nanos) -> UserWorkload {
    let statement = |name: &str, sql: &str, pause| StatementDefinition {
        name: name.into(),
        sql: sql.into(),
        pause,
        ..StatementDefinition::default()
    };
    let statements = vec![
        statement("add", "UPDATE p SET c = c + 1", Nanos::ZERO),
        statement("look", "SELECT c FROM p", pause),
    ];
    let transaction = TransactionDefinition {
        name: "work".into(),
        weight: 1.0,
        statements: vec!["add".into(), "look".into()],
        parameters: BTreeMap::new(),
    };
    let definition = Definition { name: "pausing".into(), statements, transactions: vec![transaction] };
    UserWorkload::new(&definition, &mut NoColumns).unwrap()
}

#[test]
fn a_client_that_pauses_inside_a_transaction_goes_on_with_it_or_is_given_up() {
    let server = Server::shared();
    server.exec(&["CREATE OR REPLACE TABLE d.p (c INT)", "INSERT INTO d.p VALUES (0)"]);
    let arrivals = || ArrivalPlan::Closed { clients: 4, think: Some(Nanos::ZERO) };
    let pause = Nanos::from_millis(20);
    let mut plan = super::plan(server.target(), Script::new(&[SELECT]), arrivals());
    (plan.workload, plan.warm_up) = (Arc::new(pausing(pause)), Nanos::ZERO);
    let result = load(&plan);
    assert!(
        result.counts.completed > 0 && result.counts.completed == result.counts.arrivals,
        "{:?}",
        result.counts
    );
    assert!(result.response.min() as f64 >= 0.999 * pause.0 as f64, "{}", result.response.min());
    assert_eq!(server.value("SELECT c FROM d.p"), result.counts.completed.to_string());

    plan.workload = Arc::new(pausing(Nanos::from_secs(3_600)));
    (plan.timeout, plan.measure) = (Nanos::from_millis(50), Nanos::from_millis(200));
    let result = load(&plan);
    let counts = &result.counts;
    // Where a machine takes longer than that to connect again, a request has no session to wait in.
    assert_eq!((counts.completed, counts.timed_out + counts.unsent), (0, counts.arrivals), "{counts:?}");
    assert!(counts.timed_out > 0, "{counts:?}");
}
