//! What a guard looks at when it starts, and warns of: none of it delays or ends the guard.

mod account;
mod greeting;

pub use account::Account;

use crate::config::guard::GuardConfig;
use anyhow::Result;
use evenkeel_guard::event::{Event, Listener};
use evenkeel_guard::proxy::{Handle, Plan, TlsMode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest that a look at the server takes: connecting, or the next bytes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Until a server that was not there is looked at again; twice as long each time, up to the longest. A server that answers
/// with an error is not asked each second for ever.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(64);

/// Reads the server's greeting in a thread of its own, as soon as there is one, and warns where the guard takes away TLS
/// that the server offers. That the server is not there counts once as a failure, so that the log says it.
///
/// # Errors
/// The system gives no thread.
pub fn greet(
    config: &GuardConfig,
    events: Arc<dyn Listener>,
    ended: &Arc<AtomicBool>,
    guard: Handle,
) -> Result<()> {
    let (backend, ended) = (config.plan.backend.clone(), Arc::clone(ended));
    let has_tls = offers_tls(&config.plan);
    let look = move || {
        let mut pause = PAUSE;
        while !ended.load(Ordering::Relaxed) {
            match greeting::offers_tls(&backend, PATIENCE) {
                Ok(true) if !has_tls => return events.notify(&without_tls()),
                Ok(_) => return,
                Err(_) if pause == PAUSE => guard.stats().unreachable.add(),
                Err(_) => {}
            }
            std::thread::sleep(pause);
            pause = PAUSE_MAX.min(2 * pause);
        }
    };
    std::thread::Builder::new().name("greeting".into()).spawn(look)?;
    Ok(())
}

fn offers_tls(plan: &Plan) -> bool {
    plan.client_tls.mode != TlsMode::Disabled && plan.client_tls.identity.is_some()
}

fn without_tls() -> Event {
    Event::Warned {
        about: "tls",
        text: "the server offers TLS and this guard offers none: clients that prefer it (`--ssl`) reach the \
               guard unencrypted, those that require it cannot connect, and accounts with REQUIRE SSL cannot log in"
            .into(),
        hint: "give the guard a certificate: `certificate` and `key`, or `self_signed`, under [client_tls]".into(),
    }
}
