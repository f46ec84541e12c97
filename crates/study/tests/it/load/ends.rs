//! Every arrival ends in one of four ways, whatever happens, and has a line in the log of requests.

use super::*;
use evenkeel_study::profile::load_caveats;
use std::process::Command;
use std::time::Duration;

pub fn kill(signal: &str, pid: i32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn under_a_load_that_the_server_carries_every_arrival_completes() {
    let server = Server::shared();
    for threads in [1, 2] {
        let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Poisson(400.0));
        plan.threads = threads;
        let result = load(&plan);
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
        let eager = ArrivalPlan::Closed { clients: threads as u32, think: Some(Nanos::ZERO) };
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
    assert_eq!(result.counts.failed.get(&1062), Some(&result.counts.arrivals), "{:?}", result.counts);
    assert_eq!(server.value("SELECT c FROM d.r"), "0");
    assert_eq!(result.statements[2].lost, result.counts.arrivals);
    assert_eq!(result.reconnects, 0);
}

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
    assert!(codes(&plan, &result).contains(&"warm-up-backlog".to_owned()), "{:?}", result.counts);
}

fn codes(plan: &LoadPlan, load: &LoadResult) -> Vec<String> {
    load_caveats(plan, load).into_iter().map(|caveat| caveat.code.to_string()).collect()
}

#[test]
fn a_wait_for_a_session_is_the_servers_while_a_lock_holds_all_of_them_up_and_the_pools_while_they_take_turns()
{
    let server = Server::shared();
    server.exec(&["CREATE OR REPLACE TABLE d.shut (c INT)", "INSERT INTO d.shut VALUES (1)"]);
    let mut plan = plan(server.target(), Script::new(&["SELECT c FROM shut"]), ArrivalPlan::Constant(100.0));
    plan.sessions = SessionPolicy::Pooled { max: 3 };
    let mut was_shut = false;
    let result = load_until(&plan, |progress| {
        if progress.phase == LoadPhase::Measure && progress.completed > 60 && !was_shut {
            was_shut = true;
            let mut holder = Control::connect(&server.sandbox.target()).unwrap();
            holder.exec("LOCK TABLES d.shut WRITE").unwrap();
            std::thread::sleep(Duration::from_millis(700));
        }
        was_shut && progress.completed > 250
    });
    let (share, longest) = result.held_up();
    assert!(share > 0.7 && longest > Nanos::from_millis(500), "{share} {longest:?}");
    let told = codes(&plan, &result);
    let has = |told: &[String], code: &str| told.iter().any(|own| own == code);
    assert!(has(&told, "server-held-up") && !has(&told, "session-wait"), "{told:?}");

    // Requests that take as long as ever, of which one session can do too few: the queue grows from the warm-up on.
    (plan.workload, plan.sessions) =
        (Arc::new(Script::new(&["SELECT SLEEP(0.06)"])), SessionPolicy::Pooled { max: 1 });
    (plan.arrivals, plan.warm_up) = (ArrivalPlan::Constant(40.0), Nanos::from_millis(600));
    let result = load(&plan);
    let told = codes(&plan, &result);
    assert!(has(&told, "session-wait") && !has(&told, "server-held-up"), "{:?} {told:?}", result.held_up());
    assert!(!has(&told, "warm-up-backlog"), "no warm-up helps against a queue that grows: {told:?}");
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
