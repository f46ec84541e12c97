//! Every arrival ends in one of four ways, whatever happens.

use super::*;
use evenkeel_lab::workload::user::{
    Definition, NoColumns, StatementDefinition, TransactionDefinition, UserWorkload,
};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

fn later(delay: u64, action: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(delay));
        action();
    })
}

fn kill(signal: &str, pid: i32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn under_a_load_that_the_server_carries_every_arrival_completes() {
    let server = Server::shared();
    for threads in [1, 2] {
        let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Poisson(400.0));
        plan.threads = threads;
        let result = load(&plan);
        check_accounts(&result);
        assert_eq!(result.counts.completed, result.counts.arrivals);
        assert!((450..750).contains(&result.counts.arrivals), "{:?}", result.counts);
        assert_eq!(result.measured, plan.measure);
        assert!(!result.stopped && result.cpu > Nanos::ZERO && result.context_switches > 0);
        match threads {
            1 => assert_eq!(result.cpu_busiest, result.cpu),
            _ => assert!((result.cpu.0 / 2..result.cpu.0).contains(&result.cpu_busiest.0)),
        }
        assert_eq!(result.statements[0].completed, result.counts.completed);
        assert_eq!(result.reconnects, 0);
    }
}

#[test]
fn the_same_seed_asks_the_same_on_any_number_of_threads() {
    let server = Server::shared();
    let answers = |threads| {
        let script = Script::new(&["SELECT ? + 0"]).capturing();
        let replies = script.replies.clone();
        let mut plan = plan(server.target(), script, ArrivalPlan::Poisson(300.0));
        plan.threads = threads;
        load(&plan);
        let mut numbers: Vec<String> =
            replies.lock().unwrap().iter().map(|reply| format!("{:?}", reply.rows)).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(answers(1), answers(3));
}

#[test]
fn what_the_warm_up_left_over_is_work_of_the_intervals_and_of_nothing_else() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.3)"]), ArrivalPlan::Constant(40.0));
    plan.sessions = SessionPolicy::Pooled { max: 30 };
    plan.warm_up = Nanos::from_millis(600);
    plan.measure = Nanos::from_secs(1);
    let result = load(&plan);
    check_accounts(&result);
    assert_eq!(result.counts.completed, 40, "{:?}", result.counts);
    assert_eq!(result.interval_length, Nanos::from_millis(250));
    assert_eq!(result.intervals.len(), 4);
    // Forty a second, each for 0.3 s: twelve are under way at both ends of the phase.
    assert!((12..=16).contains(&result.carried_over), "{}", result.carried_over);
    assert!((12..=16).contains(&result.backlog_at_end), "{}", result.backlog_at_end);
    // Without them nothing would end in the first interval, although the server works all the time.
    for interval in &result.intervals {
        assert!((6..=14).contains(&interval.completed), "{interval:?}");
    }
}

#[test]
fn intervals_of_a_long_phase_are_seconds() {
    let server = Server::shared();
    let stop = Stop::default();
    let setter = later(1_600, {
        let stop = stop.clone();
        move || stop.set()
    });
    let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(200.0));
    plan.measure = Nanos::from_secs(40);
    let result = run(&plan, &stop, &mut |_| {}).unwrap();
    setter.join().unwrap();
    check_accounts(&result);
    assert_eq!(result.interval_length, Nanos::from_secs(1));
    assert_eq!(result.intervals.len() as u64, result.measured.0.div_ceil(1_000_000_000));
}

#[test]
fn a_stop_ends_the_run_early_and_the_accounts_are_whole() {
    let server = Server::shared();
    let stop = Stop::default();
    let setter = later(700, {
        let stop = stop.clone();
        move || stop.set()
    });
    let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(500.0));
    plan.measure = Nanos::from_secs(60);
    plan.threads = 2;
    let result = run(&plan, &stop, &mut |_| {}).unwrap();
    setter.join().unwrap();
    check_accounts(&result);
    assert!(result.stopped);
    assert!(result.measured < Nanos::from_secs(5), "{:?}", result.measured);
    let expected = result.measured.as_secs_f64() * 500.0;
    assert!((result.counts.arrivals as f64 - expected).abs() < 60.0, "{} {expected}", result.counts.arrivals);
}

#[test]
fn a_stop_in_the_warm_up_measures_nothing() {
    let server = Server::shared();
    let stop = Stop::default();
    stop.set();
    let plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(500.0));
    let result = run(&plan, &stop, &mut |_| {}).unwrap();
    check_accounts(&result);
    assert_eq!((result.counts.arrivals, result.measured), (0, Nanos::ZERO));
}

#[test]
fn a_killed_server_fails_what_it_had_and_the_rest_is_unsent_at_its_age() {
    let server = Server::up();
    let pid = server.sandbox.pid();
    let slow = Script::new(&["SELECT SLEEP(0.05)"]);
    let mut plan = plan(server.target(), slow, ArrivalPlan::Poisson(200.0));
    plan.measure = Nanos::from_secs(2);
    plan.timeout = Nanos::from_millis(600);
    let killer = later(1_000, move || kill("-KILL", pid));
    let result = load(&plan);
    killer.join().unwrap();
    check_accounts(&result);
    assert!(result.counts.completed > 0, "{:?}", result.counts);
    assert!(result.counts.failed.contains_key(&2013), "{:?}", result.counts);
    assert!(result.counts.unsent > 50, "{:?}", result.counts);
    assert!(result.response.max() >= 590_000_000, "{}", result.response.max());
}

#[test]
fn overload_ends_in_timeouts_and_unsent_requests_and_never_looks_fast() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.15)"]), ArrivalPlan::Constant(200.0));
    plan.sessions = SessionPolicy::Pooled { max: 4 };
    plan.timeout = Nanos::from_millis(200);
    plan.drain = Nanos::from_millis(100);
    let result = load(&plan);
    check_accounts(&result);
    let counts = &result.counts;
    assert!(counts.timed_out > 0 && counts.unsent > 200, "{counts:?}");
    assert!(
        result.response.value_at_quantile(0.5) >= 195_000_000,
        "{}",
        result.response.value_at_quantile(0.5)
    );
    assert!(result.session_wait.len() > result.lag.len());
    assert_eq!(result.sessions_max, 4);
}

#[test]
fn a_restarted_server_gets_its_sessions_and_statements_back() {
    let mut server = Server::up();
    let script = Script::new(&[SELECT]);
    let mut plan = plan(server.target(), script, ArrivalPlan::Constant(200.0));
    plan.measure = Nanos::from_secs(6);
    let restart = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(800));
        server.sandbox.restart(&settings(&[]), &Stop::default(), &mut |_| {}).unwrap();
        server
    });
    let result = load(&plan);
    let server = restart.join().unwrap();
    check_accounts(&result);
    assert!(result.reconnects > 0);
    let last = &result.intervals[result.intervals.len() - 1];
    let expected = 200.0 * result.interval_length.as_secs_f64();
    assert!(last.completed as f64 > 0.75 * expected, "{last:?}");
    assert_eq!(server.value("SELECT 1"), "1");
}

#[test]
fn an_error_in_a_transaction_fails_the_request_and_rolls_back() {
    let server = Server::shared();
    server
        .exec(&["CREATE OR REPLACE TABLE d.r (id INT PRIMARY KEY, c INT)", "INSERT INTO d.r VALUES (1, 0)"]);
    let statements = ["BEGIN", "UPDATE r SET c = c + 1", "INSERT INTO r VALUES (1, 1)", "COMMIT"];
    let plan = plan(server.target(), Script::new(&statements), ArrivalPlan::Constant(50.0));
    let result = load(&plan);
    check_accounts(&result);
    assert_eq!(result.counts.failed.get(&1062), Some(&result.counts.arrivals), "{:?}", result.counts);
    assert_eq!(server.value("SELECT c FROM d.r"), "0");
    assert_eq!(result.statements[2].lost, result.counts.arrivals);
    assert_eq!(result.reconnects, 0);
}

#[test]
fn closed_clients_wait_for_their_answer_and_think() {
    let server = Server::shared();
    let think = Nanos::from_millis(20);
    let arrivals = ArrivalPlan::Closed { clients: 10, think };
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.03)"]), arrivals);
    plan.threads = 2;
    plan.measure = Nanos::from_secs(2);
    let result = load(&plan);
    check_accounts(&result);
    // Ten clients, each about 50 ms for a turn, for two seconds.
    assert!((250..410).contains(&result.counts.completed), "{:?}", result.counts);
    assert_eq!(result.sessions_max, 10);
    let eager = ArrivalPlan::Closed { clients: 3, think: Nanos::ZERO };
    let result = load(&super::plan(server.target(), Script::new(&["SELECT SLEEP(0.01)"]), eager));
    check_accounts(&result);
    assert!((200..450).contains(&result.counts.completed), "{:?}", result.counts);
    assert!(
        result.lag.len() >= result.counts.completed,
        "a client with its own session does not wait for one"
    );
}

#[test]
fn more_clients_than_sessions_wait_for_one() {
    let server = Server::shared();
    let arrivals = ArrivalPlan::Closed { clients: 8, think: Nanos::ZERO };
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.01)"]), arrivals);
    plan.sessions = SessionPolicy::Pooled { max: 2 };
    let result = load(&plan);
    check_accounts(&result);
    assert_eq!(result.sessions_max, 2);
    assert!(result.session_wait.len() > result.lag.len());
}

#[test]
fn the_request_log_has_a_line_for_every_arrival() {
    let server = Server::shared();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv.zst");
    let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Poisson(300.0));
    plan.request_log = Some(path.clone());
    plan.threads = 2;
    let result = load(&plan);
    let text = Command::new("zstd").arg("-dc").arg(&path).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count() as u64, 1 + result.counts.arrivals);
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let instants: Vec<u64> = columns[..4].iter().map(|column| column.parse().unwrap()).collect();
        assert!(instants.is_sorted(), "{line}");
        assert_eq!(columns[4..7], ["request", "completed", ""]);
    }
}

#[test]
fn closed_clients_without_think_time_do_not_spin_where_nothing_can_be_sent() {
    let server = Server::up();
    let pid = server.sandbox.pid();
    let eager = ArrivalPlan::Closed { clients: 4, think: Nanos::ZERO };
    let mut fresh = plan(server.target(), Script::new(&[SELECT]), eager.clone());
    fresh.sessions = SessionPolicy::PerRequest { max: 4 };
    (fresh.drain, fresh.timeout) = (Nanos::from_millis(300), Nanos::from_millis(300));
    let killer = later(700, move || kill("-KILL", pid));
    let result = load(&fresh);
    killer.join().unwrap();
    check_accounts(&result);
    let failed: u64 = result.counts.failed.values().sum();
    assert!((1..2_000).contains(&failed), "{:?}", result.counts);
    // A request that cannot be written fails without any byte on its way.
    let server = Server::shared();
    let mut misfit = plan(server.target(), Script::new(&["SELECT '?'"]), eager);
    misfit.protocol = Protocol::Text;
    misfit.measure = Nanos::from_millis(100);
    check_accounts(&load(&misfit));
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
    let arrivals = || ArrivalPlan::Closed { clients: 4, think: Nanos::ZERO };
    let pause = Nanos::from_millis(20);
    let mut plan = super::plan(server.target(), Script::new(&[SELECT]), arrivals());
    (plan.workload, plan.warm_up) = (Arc::new(pausing(pause)), Nanos::ZERO);
    let result = load(&plan);
    check_accounts(&result);
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
    check_accounts(&result);
    assert_eq!((result.counts.completed, result.counts.timed_out), (0, result.counts.arrivals));
}
