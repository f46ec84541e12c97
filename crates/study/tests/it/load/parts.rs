//! What response times are made of, asked of real servers whose statements take a known time.

use super::*;
use evenkeel_core::statistics::Sample;
use evenkeel_lab::load::{Noted, PartsPlan, PartsResult};
use evenkeel_site::server::TlsMode;

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
