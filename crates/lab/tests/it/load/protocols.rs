//! Prepared and text, kept sessions and fresh ones.

use super::*;
use evenkeel_lab::target::TlsMode;

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
    check_accounts(&load(&plan));
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
    struct Echo(Script, Arc<[u8]>);
    struct EchoClient(Box<dyn Client>, Arc<[u8]>);
    impl Workload for Echo {
        fn name(&self) -> &str {
            "echo"
        }
        fn statements(&self) -> &[Statement] {
            self.0.statements()
        }
        fn kinds(&self) -> &[String] {
            self.0.kinds()
        }
        fn client(&self, number: u64) -> Box<dyn Client> {
            Box::new(EchoClient(self.0.client(number), self.1.clone()))
        }
    }
    impl Client for EchoClient {
        fn begin(&mut self, random: &mut Random) -> usize {
            self.0.begin(random)
        }
        fn step(
            &mut self,
            reply: Option<&Reply>,
            random: &mut Random,
            out: &mut Parameters,
        ) -> Option<usize> {
            let statement = self.0.step(reply, random, out)?;
            out.clear();
            out.push(Value::Text(self.1.to_vec()));
            Some(statement)
        }
    }
    let script = Script::new(&[sql]).capturing();
    let replies = script.replies.clone();
    let mut plan = plan(target, Script::new(&[SELECT]), ArrivalPlan::Constant(20.0));
    plan.workload = Arc::new(Echo(script, text.clone()));
    (plan.measure, plan.protocol) = (Nanos::from_millis(100), protocol);
    // Megabytes through TLS without optimisation take a while on a busy machine.
    (plan.timeout, plan.drain) = (Nanos::from_secs(60), Nanos::from_secs(60));
    let result = load(&plan);
    check_accounts(&result);
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

#[test]
fn a_request_on_a_fresh_connection_pays_for_it_and_leaves_none_behind() {
    let server = Server::shared();
    for (target, protocol) in [(server.target(), Protocol::Prepared), (server.tcp_target(), Protocol::Text)] {
        let kept = load(&plan(target.clone(), Script::new(&[SELECT]), ArrivalPlan::Poisson(100.0)));
        let mut plan = plan(target, Script::new(&[SELECT]), ArrivalPlan::Poisson(100.0));
        plan.sessions = SessionPolicy::PerRequest { max: 20 };
        plan.protocol = protocol;
        let fresh = load(&plan);
        check_accounts(&fresh);
        assert_eq!(fresh.counts.completed, fresh.counts.arrivals, "{:?}", fresh.error_texts);
        assert_eq!(fresh.counts.arrivals, kept.counts.arrivals);
        let median = |result: &LoadResult| result.response.value_at_quantile(0.5);
        assert!(median(&fresh) > median(&kept), "{} {}", median(&fresh), median(&kept));
    }
}

#[test]
fn fresh_connections_beyond_the_most_allowed_wait() {
    let server = Server::shared();
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.05)"]), ArrivalPlan::Constant(100.0));
    plan.sessions = SessionPolicy::PerRequest { max: 3 };
    plan.timeout = Nanos::from_millis(300);
    let result = load(&plan);
    check_accounts(&result);
    let given_up = result.counts.timed_out + result.counts.unsent;
    assert!(result.session_wait.len() > 10 && given_up > 0, "{:?}", result.counts);
    assert!(result.sessions_max <= 3);
    assert!(result.cpu.0 < plan.measure.0 / 2, "{:?} of CPU time spent waiting for a session", result.cpu);
}

#[test]
fn parameters_that_do_not_fit_the_statement_fail_the_request() {
    let server = Server::shared();
    // The workload counts the placeholder in the string, the server does not.
    let script = Script::new(&["SELECT '?'"]);
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut plan = plan(
            server.target(),
            Script { replies: Arc::default(), ..copy(&script) },
            ArrivalPlan::Constant(50.0),
        );
        plan.protocol = protocol;
        let result = load(&plan);
        check_accounts(&result);
        assert_eq!(result.counts.failed.get(&2031), Some(&result.counts.arrivals));
        assert_eq!(result.error_texts[&2031], "statement takes 0 parameters, got 1");
    }
}

fn copy(script: &Script) -> Script {
    Script {
        statements: script.statements.clone(),
        kinds: script.kinds.clone(),
        replies: script.replies.clone(),
    }
}
