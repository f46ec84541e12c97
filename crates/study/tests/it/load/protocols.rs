//! Prepared and text, kept sessions and fresh ones, and what response times are made of by every way.

use super::*;
use crate::sandbox::eventually;
use evenkeel_core::statistics::Sample;
use evenkeel_lab::load::{Noted, PartsPlan, PartsResult};
use evenkeel_site::server::TlsMode;

/// Types whose values must not depend on how they travel.
const ROWS: &str = "SELECT * FROM types ORDER BY i";

fn types(server: &Server) {
    server.exec(&[
        "CREATE OR REPLACE TABLE d.types (i INT, t TINYINT, u BIGINT UNSIGNED, m MEDIUMINT, y YEAR, f DOUBLE, \
         d DECIMAL(20,4), v VARCHAR(50), b BLOB, dt DATETIME(3), da DATE, ti TIME(6), e ENUM('a','b'), n INT)",
        "INSERT INTO d.types VALUES (1, -5, 18446744073709551615, -70000, 2026, 0.1, 12345.6789, 'text ä', \
         x'00ff27', '2026-01-02 03:04:05.678', '2026-12-31', '-100:00:01.000002', 'b', NULL)",
        "INSERT INTO d.types VALUES (2, 127, 7, 3, 1999, -1e300, 0, '', NULL, '2000-01-01', NULL, '00:00:00', 'a', 9)",
    ]);
}

fn rows(server: &Server, protocol: Protocol) -> Vec<Vec<Value>> {
    let script = Script::new(&[ROWS]).capturing();
    let replies = script.replies.clone();
    let mut plan = plan(server.target(), script, ArrivalPlan::Constant(20.0));
    (plan.measure, plan.protocol) = (Nanos::from_millis(100), protocol);
    load(&plan);
    let replies = replies.lock().unwrap();
    assert!(replies.iter().all(|reply| reply.row_count == 2));
    replies[0].rows.clone()
}

#[test]
fn prepared_and_text_bring_the_same_rows() {
    let server = Server::shared();
    types(&server);
    let prepared = rows(&server, Protocol::Prepared);
    assert_eq!(prepared, rows(&server, Protocol::Text));
    let text = |text: &str| Value::Text(text.as_bytes().to_vec());
    assert_eq!(prepared[0][1..4], [Value::Int(-5), text("18446744073709551615"), Value::Int(-70_000)]);
    assert_eq!(prepared[0][5..8], [Value::Double(0.1), text("12345.6789"), text("text ä")]);
    assert_eq!(
        prepared[0][9..],
        [
            text("2026-01-02 03:04:05.678"),
            text("2026-12-31"),
            text("-100:00:01.000002"),
            text("b"),
            Value::Null,
        ]
    );
}

/// Sends one text as the parameter of a statement and gives what the server makes of it.
fn ask(target: Target, protocol: Protocol, sql: &str, text: &Arc<[u8]>) -> Value {
    let script = Script { text: Some(text.clone()), ..Script::new(&[sql]).capturing() };
    let replies = script.replies.clone();
    let mut plan = plan(target, script, ArrivalPlan::Constant(20.0));
    (plan.measure, plan.protocol) = (Nanos::from_millis(100), protocol);
    let result = load(&plan);
    assert_eq!(result.counts.completed, result.counts.arrivals, "{:?}", result.error_texts);
    let replies = replies.lock().unwrap();
    replies[0].rows[0][0].clone()
}

#[test]
fn hostile_text_arrives_as_it_is_in_every_mode() {
    let server = Server::up();
    let texts: [&[u8]; 4] =
        [br"\'; DROP TABLE t; -- ", b"'' \" ` ? \x00 \n \x1a", "ä\\%_€".as_bytes(), b"\xff\xfe'\\"];
    for mode in ["STRICT_TRANS_TABLES", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"] {
        server.exec(&[&format!("SET GLOBAL sql_mode = '{mode}'")]);
        for text in texts {
            let hex: String = text.iter().map(|byte| format!("{byte:02X}")).collect();
            for protocol in [Protocol::Text, Protocol::Prepared] {
                let understood = ask(server.target(), protocol, "SELECT HEX(?)", &text.into());
                assert_eq!(understood, Value::Text(hex.clone().into_bytes()), "{mode} {protocol:?}");
            }
        }
    }
}

#[test]
fn commands_larger_than_a_socket_buffer_or_a_packet_arrive_once_in_the_clear_and_under_tls() {
    let server = Server::shared();
    server.exec(&["SET GLOBAL max_allowed_packet = 67108864"]);
    for length in [3 << 20, 17 << 20] {
        let text: Arc<[u8]> = (0..length).map(|at: u32| b'a' + (at % 23) as u8).collect();
        for tls in [TlsMode::Disabled, TlsMode::Required] {
            for protocol in [Protocol::Text, Protocol::Prepared] {
                let target = Target { tls, ..server.tcp_target() };
                let understood = ask(target, protocol, "SELECT LENGTH(?)", &text);
                assert_eq!(understood, Value::Int(length.into()), "{length} {tls:?} {protocol:?}");
            }
        }
    }
}

/// What the server says of itself, asked over one connection that is counted too.
fn status(control: &mut Control, name: &str) -> u64 {
    control.status().unwrap()[name].parse().unwrap()
}

#[test]
fn a_request_on_a_fresh_connection_pays_for_it_and_leaves_none_behind() {
    let server = Server::up();
    // The server sleeps behind every login of an account without privileges, before it answers anything.
    server.exec(&[
        "CREATE USER plain@'%' IDENTIFIED BY 'secret'",
        "GRANT SELECT ON d.* TO plain@'%'",
        "SET GLOBAL init_connect = 'DO SLEEP(0.05)'",
    ]);
    let mut control = Control::connect(&server.sandbox.target()).unwrap();
    let plain =
        |target: Target| Target { user: "plain".to_owned(), password: Some("secret".to_owned()), ..target };
    for (target, protocol) in [(server.target(), Protocol::Prepared), (server.tcp_target(), Protocol::Text)] {
        let mut plan = plan(plain(target), Script::new(&[SELECT]), ArrivalPlan::Poisson(100.0));
        (plan.protocol, plan.warm_up) = (protocol, Nanos::ZERO);
        let before = status(&mut control, "Connections");
        let kept = load(&plan);
        let between = status(&mut control, "Connections");
        plan.sessions = SessionPolicy::PerRequest { max: 20 };
        let fresh = load(&plan);
        let after = status(&mut control, "Connections");
        for result in [&kept, &fresh] {
            assert_eq!(result.counts.completed, result.counts.arrivals, "{:?}", result.error_texts);
        }
        assert_eq!(fresh.counts.arrivals, kept.counts.arrivals);
        assert_eq!(between - before, u64::from(kept.sessions_max), "kept ones are opened once");
        assert_eq!(
            after - between,
            1 + fresh.counts.arrivals,
            "one to see whether we are let in, one for each"
        );
        // Lower bounds, which nothing but a request that does not wait for its login can fall short of.
        assert!(fresh.response.min() >= 49_000_000, "{}", fresh.response.min());
        assert!(fresh.service.min() >= 49_000_000, "it is sent when it starts to connect");
        eventually("the end of every other session", || status(&mut control, "Threads_connected") == 1);
    }
}

#[test]
fn fresh_connections_beyond_the_most_allowed_wait() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.05)"]), ArrivalPlan::Constant(100.0));
    plan.sessions = SessionPolicy::PerRequest { max: 3 };
    // Waiting takes no CPU time. One run may be charged for what a hypervisor took; not all of them are.
    eventually("a run that takes less than half a CPU", || {
        let result = load(&plan);
        assert_eq!(result.counts.completed, result.counts.arrivals, "{:?}", result.error_texts);
        // Three at a time are sixty a second at most, and a hundred arrive.
        assert!(result.session_wait.len() > 10 && result.sessions_max <= 3, "{:?}", result.counts);
        result.cpu.0 < plan.measure.0 / 2
    });
    // Nobody is answered: who has a connection times out, and makes room for the next.
    (plan.workload, plan.warm_up) = (Arc::new(Script::new(&["SELECT SLEEP(1000)"])), Nanos::ZERO);
    (plan.arrivals, plan.timeout) = (ArrivalPlan::Constant(40.0), Nanos::from_millis(300));
    let result = load(&plan);
    let counts = &result.counts;
    assert_eq!((counts.completed, counts.timed_out + counts.unsent), (0, counts.arrivals), "{counts:?}");
    assert!(counts.timed_out > 0 && result.sessions_max <= 3, "{counts:?}");
}

#[test]
fn parameters_that_do_not_fit_the_statement_fail_the_request() {
    let server = Server::shared();
    // The workload counts the placeholder in the string, the server does not.
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut plan = plan(server.target(), Script::new(&["SELECT '?'"]), ArrivalPlan::Constant(50.0));
        plan.protocol = protocol;
        let result = load(&plan);
        assert_eq!(result.counts.failed.get(&2031), Some(&result.counts.arrivals));
        assert_eq!(result.error_texts[&2031], "statement takes 0 parameters, got 1");
    }
}

/// A statement that works for 20 ms, whatever the machine does besides.
const SLOW: &str = "DO SLEEP(0.02)";
const SLOW_MS: f64 = 20.0;

fn mean(sample: &Sample) -> f64 {
    sample.mean().expect("something was told")
}

/// The parts add up, none is below what is known of it, and the server told of all that were drawn.
fn check(found: &PartsResult, statements: f64) {
    assert!(found.drawn > 0, "{found:?}");
    assert_eq!(found.response.n(), found.drawn, "the server told of all: {found:?}");
    assert!(mean(&found.execution) >= statements * SLOW_MS, "{found:?}");
    let named = mean(&found.before) + mean(&found.network) + mean(&found.waking) + mean(&found.execution);
    let server = found.server_waking.mean().unwrap_or(0.0);
    assert!((named + server - mean(&found.response)).abs() < 1e-6, "{found:?}");
    assert!(mean(&found.before) >= 0.0 && mean(&found.waking) >= 0.0, "{found:?}");
    assert!(mean(&found.network) > -1.0, "what is left is no less than nothing: {found:?}");
}

fn measured(server: &Server, mut plan: LoadPlan, share: f64) -> PartsResult {
    plan.parts = Some(PartsPlan { share, server_pid: u32::try_from(server.sandbox.pid()).ok() });
    let result = load(&plan);
    assert_eq!(result.counts.completed, result.counts.arrivals, "{:?}", result.error_texts);
    result.parts
}

#[test]
fn parts_add_up_by_every_way_to_the_server() {
    let server = Server::shared();
    let tls = Target { tls: TlsMode::Required, ..server.tcp_target() };
    let pooled = SessionPolicy::Pooled { max: 16 };
    let (one, two) = (&[SLOW][..], &["BEGIN", SLOW, SELECT, SLOW, "COMMIT"][..]);
    for (target, is_tcp, protocol, sessions, statements) in [
        (server.target(), false, Protocol::Prepared, pooled, one),
        (server.target(), false, Protocol::Text, pooled, one),
        (server.target(), false, Protocol::Prepared, pooled, two),
        (server.target(), false, Protocol::Prepared, SessionPolicy::PerRequest { max: 16 }, one),
        (server.tcp_target(), true, Protocol::Prepared, pooled, one),
        (tls, true, Protocol::Prepared, pooled, one),
    ] {
        let mut plan = plan(target, Script::new(statements), ArrivalPlan::Constant(15.0));
        (plan.protocol, plan.sessions) = (protocol, sessions);
        let found = measured(&server, plan, 1.0);
        check(&found, if statements.len() == 1 { 1.0 } else { 2.0 });
        // The kernel notes when an answer came in over TCP, and not over a unix socket.
        let Noted { by_kernel, by_thread } = found.noted;
        assert_eq!(if is_tcp { by_thread } else { by_kernel }, 0, "{found:?}");
        if sessions == pooled && statements.len() == 1 {
            assert_eq!(found.server_waking.n(), found.response.n(), "the server names its threads");
        } else if sessions != pooled {
            assert!(mean(&found.before) > 0.0, "connecting comes before");
        }
    }
}

#[test]
fn requests_are_drawn_by_chance_and_the_others_are_the_control() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&[SELECT]), ArrivalPlan::Poisson(400.0));
    plan.seed = Seed(3);
    let found = measured(&server, plan, 0.2);
    let (drawn, others) = (found.compared.0.n(), found.compared.1.n());
    assert_eq!((drawn, found.response.n()), (found.drawn, found.drawn));
    let share = drawn as f64 / (drawn + others) as f64;
    assert!((0.1..0.3).contains(&share), "{drawn} of {}", drawn + others);
}
