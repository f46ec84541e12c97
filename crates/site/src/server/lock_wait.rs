//! Who waits for a lock that others hold is told so: the server itself says nothing until it gives up, by default after a day.

use super::session::Session;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Takes a sentence about a statement that waits. It is called from another thread.
pub type LockWait = Arc<dyn Fn(&str) + Send + Sync>;

/// One for the whole process, since any connection may come to wait.
static LISTENER: Mutex<Option<LockWait>> = Mutex::new(None);

/// Whether a sentence is being heard.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// From now on this function hears of statements that wait for locks; none is nobody. Returned is who heard of them before.
pub fn on_lock_wait(listener: Option<LockWait>) -> Option<LockWait> {
    std::mem::replace(&mut *LISTENER.lock().unwrap_or_else(PoisonError::into_inner), listener)
}

/// Says that the statement of a connection has waited so many seconds, where the server says that it waits for a lock. `session` is
/// another connection to the same server.
pub(super) fn look(session: &mut Session, id: u32, waited_s: f64) {
    let Some(listener) = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
    let sql = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    let Ok(Some(state)) = session.value(&sql) else { return };
    let Some(text) = sentence(&state, id, waited_s) else { return };
    // Whoever listens may be held up, by a pipe that nobody reads: the next sentence is left out then, and nobody waits for it.
    if !IS_HEARD.swap(true, Ordering::AcqRel) {
        let heard = std::thread::Builder::new().name("lock-wait".into()).spawn(move || {
            listener(&text);
            IS_HEARD.store(false, Ordering::Release);
        });
        if heard.is_err() {
            IS_HEARD.store(false, Ordering::Release);
        }
    }
}

/// The state is that of now, and the silence may have begun before the wait: how long it has waited nobody knows.
fn sentence(state: &str, id: u32, silent_s: f64) -> Option<String> {
    is_wait(state).then(|| {
        format!(
            "connection {id} has been silent for {silent_s:.0} s and waits for another client ({state}): \
             SHOW FULL PROCESSLIST lists the clients; one that sleeps in an open transaction may hold the \
             lock. It continues once that client releases it, and Ctrl-C gives up"
        )
    })
}

/// Whether a statement in this state waits for others: for metadata, a table, a flush or a named lock. One that waits for a row lock
/// has the state of one that works.
fn is_wait(state: &str) -> bool {
    let is_lock = state.starts_with("Waiting for") && state.contains("lock");
    is_lock || matches!(state, "Waiting for table flush" | "User lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_statement_that_waits_for_a_lock_is_told_of() {
        for state in [
            "Waiting for table metadata lock",
            "Waiting for table level lock",
            "Waiting for backup lock",
            "Waiting for table flush",
            "User lock",
        ] {
            let text = sentence(state, 7, 10.2).unwrap();
            assert!(
                text.starts_with("connection 7 has been silent for 10 s") && text.contains(state),
                "{text}"
            );
        }
        for state in ["", "Reading file", "copy to tmp table", "Waiting for work", "User sleep"] {
            assert_eq!(sentence(state, 7, 10.0), None, "{state}");
        }
    }
}
