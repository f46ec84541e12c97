//! Every arrival ends in one of four ways, whatever happens.

use super::*;
use evenkeel_lab::workload::user::{
    Definition, NoColumns, StatementDefinition, TransactionDefinition, UserWorkload,
};
use std::collections::BTreeMap;
use std::process::Command;

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
        assert!(!result.stopped);
        assert_eq!(result.statements[0].completed, result.counts.completed);
        assert_eq!(result.reconnects, 0);
    }
}

#[test]
fn the_threads_own_up_to_the_cpu_time_that_they_take() {
    let server = Server::shared();
    for threads in [1, 2] {
        // Whoever asks for this has to wait for the answer, again and again.
        let eager = ArrivalPlan::Closed { clients: threads as u32, think: Nanos::ZERO };
        let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.01)"]), eager);
        plan.threads = threads;
        let result = load_until(&plan, |progress| progress.completed > 300);
        assert!(result.cpu > Nanos::ZERO && result.context_switches > 0, "{:?}", result.counts);
        match threads {
            1 => assert_eq!(result.cpu_busiest, result.cpu),
            _ => assert!((result.cpu.0 / 2..result.cpu.0).contains(&result.cpu_busiest.0)),
        }
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
    server.exec(&["CREATE OR REPLACE TABLE d.held (c INT)", "INSERT INTO d.held VALUES (1)"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv.zst");
    let mut plan = plan(server.target(), Script::new(&["SELECT c FROM held"]), ArrivalPlan::Constant(40.0));
    // One session answers in the order of the arrivals, and nothing before the measured phase.
    plan.sessions = SessionPolicy::Pooled { max: 1 };
    (plan.warm_up, plan.request_log) = (Nanos::from_millis(600), Some(path.clone()));
    let mut holder = Some(Control::connect(&server.sandbox.target()).unwrap());
    holder.as_mut().unwrap().exec("LOCK TABLES d.held WRITE").unwrap();
    let result = load_until(&plan, |progress| {
        if progress.phase == LoadPhase::Measure {
            holder = None;
        }
        progress.completed > 40
    });
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

/// A line of the request log, in nanoseconds from the start of the measured phase.
struct Line {
    arrival: u64,
    /// Of arrival, send, first byte and end, those that happened.
    instants: Vec<u64>,
    done: u64,
    kind: String,
    outcome: String,
    error: String,
}

fn log_lines(path: &Path) -> Vec<Line> {
    let text = Command::new("zstd").arg("-dc").arg(path).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        let instants: Vec<u64> = columns[..4].iter().filter_map(|column| column.parse().ok()).collect();
        let [kind, outcome, error] = [4, 5, 6].map(|column| columns[column].to_owned());
        Line { arrival: instants[0], done: instants[instants.len() - 1], instants, kind, outcome, error }
    });
    lines.collect()
}

#[test]
fn intervals_of_a_long_phase_are_seconds() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(200.0));
    plan.measure = Nanos::from_secs(60);
    let result = load_until(&plan, |progress| progress.elapsed > Nanos::from_millis(1_600));
    assert_eq!(result.interval_length, Nanos::from_secs(1));
    assert!(result.intervals.len() > 1, "{:?}", result.measured);
    assert_eq!(result.intervals.len() as u64, result.measured.0.div_ceil(1_000_000_000));
}

#[test]
fn a_stop_ends_the_run_early_and_the_accounts_are_whole() {
    let server = Server::shared();
    for threads in [1, 2] {
        let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(500.0));
        (plan.measure, plan.warm_up, plan.threads) = (Nanos::from_secs(600), Nanos::ZERO, threads);
        let mut seen = 0;
        let result = load_until(&plan, |progress| {
            seen = progress.arrivals;
            seen > 0
        });
        assert!(result.measured < plan.measure, "{:?}", result.measured);
        // One every two milliseconds, the first at the start. Of two threads one may see the stop first.
        let due = result.measured.0.div_ceil(2_000_000);
        let earliest = if threads == 1 { due } else { seen };
        assert!((earliest..=due).contains(&result.counts.arrivals), "{earliest} {due} {:?}", result.counts);
    }
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
    // Half of the requests are answered, the others hang until the server is killed.
    let script = Script::new(&["SELECT IF(? <= 500, 0, SLEEP(1000))"]);
    let mut plan = plan(server.target(), script, ArrivalPlan::Poisson(200.0));
    plan.warm_up = Nanos::ZERO;
    let hanging = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    let mut killed_at = None;
    let result = load_until(&plan, |progress| match killed_at {
        None if progress.completed > 0 && server.value(hanging) != "0" => {
            kill("-KILL", server.sandbox.pid());
            killed_at = Some(progress.arrivals);
            false
        }
        None => false,
        Some(before) => progress.arrivals > before + 200,
    });
    assert!(result.counts.completed > 0, "{:?}", result.counts);
    assert!(result.counts.failed.contains_key(&2013), "{:?}", result.counts);
    // All that came after, but for what found a session of which nobody knew yet that it is gone.
    assert!(result.counts.unsent > 50, "{:?}", result.counts);
    // After a stop, what nobody can answer is waited for half a second.
    assert!(result.response.max() >= 490_000_000, "{}", result.response.max());
}

#[test]
fn overload_ends_in_timeouts_and_unsent_requests_and_never_looks_fast() {
    let server = Server::shared();
    // What takes longer than its timeout, and what takes so long that it is never answered.
    for (statement, is_answered) in [("SELECT SLEEP(0.15)", true), ("SELECT SLEEP(1000)", false)] {
        let mut plan = plan(server.target(), Script::new(&[statement]), ArrivalPlan::Constant(200.0));
        plan.sessions = SessionPolicy::Pooled { max: 4 };
        (plan.warm_up, plan.timeout) = (Nanos::ZERO, Nanos::from_millis(200));
        plan.drain = Nanos::from_millis(100);
        let result = load(&plan);
        check_accounts(&result);
        let counts = &result.counts;
        // Of 300, four sessions take four in 0.15 s at most, however fast the machine is.
        assert!(counts.unsent > 200 && counts.failed.is_empty(), "{counts:?}");
        assert!(is_answered || (counts.completed == 0 && counts.timed_out > 0), "{counts:?}");
        let median = result.response.value_at_quantile(0.5);
        assert!(median >= 195_000_000, "{median}");
        assert_eq!(result.sessions_max, 4);
    }
}

#[test]
fn a_restarted_server_gets_its_sessions_and_statements_back() {
    let mut server = Server::up();
    let plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(200.0));
    let (mut is_up_again, mut before) = (false, None);
    let result = load_until(&plan, |progress| {
        if !is_up_again && progress.completed > 0 {
            server.sandbox.restart(&settings(&[]), &Stop::default(), &mut |_| {}).unwrap();
            is_up_again = true;
            return false;
        }
        // What the old server answered is known by the first look after its end.
        is_up_again && progress.completed > *before.get_or_insert(progress.completed) + 100
    });
    assert!(result.reconnects > 0);
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv.zst");
    let arrivals = ArrivalPlan::Closed { clients: 1, think: Nanos::from_millis(20) };
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
    plan.arrivals = ArrivalPlan::Closed { clients: 10, think: Nanos::from_millis(20) };
    let result = load_until(&plan, |progress| progress.completed >= 100);
    assert_eq!(result.sessions_max, 10);
    assert!(result.intervals.iter().all(|interval| interval.in_flight <= 10), "{:?}", result.intervals);
    // Each client has one answer in 30 ms at most.
    let most = 10 * (result.measured.0 / 29_000_000 + 1);
    assert!(result.counts.completed <= most, "{most} {:?}", result.counts);
}

#[test]
fn a_client_with_its_own_session_does_not_wait_for_one() {
    let server = Server::shared();
    let eager = ArrivalPlan::Closed { clients: 3, think: Nanos::ZERO };
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.01)"]), eager);
    plan.warm_up = Nanos::ZERO;
    let result = load_until(&plan, |progress| progress.completed >= 200);
    assert_eq!((result.session_wait.len(), result.sessions_max), (0, 3));
    assert!(result.lag.len() >= result.counts.completed && result.counts.completed > 0);
}

#[test]
fn more_clients_than_sessions_wait_for_one() {
    let server = Server::shared();
    let arrivals = ArrivalPlan::Closed { clients: 8, think: Nanos::ZERO };
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.01)"]), arrivals);
    (plan.sessions, plan.warm_up) = (SessionPolicy::Pooled { max: 2 }, Nanos::ZERO);
    let result = load_until(&plan, |progress| progress.completed >= 100);
    assert_eq!(result.sessions_max, 2);
    // Six of eight wait at any moment.
    assert!(2 * result.session_wait.len() > result.counts.arrivals, "{:?}", result.counts);
}

/// Point selects whose client keeps the whole thread of load from its work before every 25th request.
struct Hindrance(Script);

struct Hindering(Box<dyn Client>, u64);

impl Workload for Hindrance {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn statements(&self) -> &[Statement] {
        self.0.statements()
    }
    fn kinds(&self) -> &[String] {
        self.0.kinds()
    }
    fn client(&self, number: u64) -> Box<dyn Client> {
        Box::new(Hindering(self.0.client(number), 0))
    }
}

impl Client for Hindering {
    fn begin(&mut self, random: &mut Random) -> usize {
        self.1 += 1;
        if self.1.is_multiple_of(25) {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        self.0.begin(random)
    }
    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        self.0.step(reply, random, parameters)
    }
}

#[test]
fn requests_that_wait_because_the_thread_was_late_are_lag_and_no_wait_for_a_session() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Constant(50.0));
    plan.workload = Arc::new(Hindrance(Script::new(&[SELECT])));
    (plan.sessions, plan.warm_up) = (SessionPolicy::Pooled { max: 1 }, Nanos::ZERO);
    let result = load_until(&plan, |progress| progress.completed >= 150);
    // Ten of 25 are due while the thread does something else, and the one session is taken by its own fault.
    assert_eq!(result.lag.len(), result.counts.arrivals);
    assert!(6 * result.session_wait.len() < result.counts.arrivals, "{:?}", result.session_wait.len());
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
    let lines = log_lines(&path);
    assert_eq!(lines.len() as u64, result.counts.arrivals);
    for line in lines {
        assert!(line.instants.len() == 4 && line.instants.is_sorted(), "{:?}", line.instants);
        assert_eq!([line.kind, line.outcome, line.error], ["request", "completed", ""]);
    }
}

#[test]
fn closed_clients_without_think_time_do_not_spin_where_nothing_can_be_sent() {
    let server = Server::up();
    let pid = server.sandbox.pid();
    let eager = ArrivalPlan::Closed { clients: 4, think: Nanos::ZERO };
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
    let counts = &result.counts;
    // Where a machine takes longer than that to connect again, a request has no session to wait in.
    assert_eq!((counts.completed, counts.timed_out + counts.unsent), (0, counts.arrivals), "{counts:?}");
    assert!(counts.timed_out > 0, "{counts:?}");
}
