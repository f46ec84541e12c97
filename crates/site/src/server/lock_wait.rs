//! Who waits for a lock that others hold is told so: the server itself says nothing until it gives up, by default after a day.

use super::session::Session;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes a sentence about a statement that waits. It is called from another thread.
pub type LockWait = Arc<dyn Fn(&str) + Send + Sync>;

/// One for the whole process, since any connection may come to wait.
static LISTENER: Mutex<Option<LockWait>> = Mutex::new(None);

/// From now on this function hears of statements that wait for locks; none is nobody.
pub fn on_lock_wait(listener: Option<LockWait>) {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = listener;
}

/// Says that the statement of a connection has waited so many seconds, where the server says that it waits for a lock. `session` is
/// another connection to the same server.
pub(super) fn look(session: &mut Session, id: u32, waited_s: f64) {
    let Some(listener) = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
    let sql = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    let Ok(Some(state)) = session.value(&sql) else { return };
    if let Some(text) = sentence(&state, id, waited_s) {
        listener(&text);
    }
}

fn sentence(state: &str, id: u32, waited_s: f64) -> Option<String> {
    let waits = state.starts_with("Waiting for") && state.contains("lock");
    waits.then(|| {
        format!(
            "connection {id} has waited {waited_s:.0} s for another client ({state}): SHOW FULL PROCESSLIST names who is at the table; \
             it goes on once that one ends its transaction, and Ctrl-C gives up"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_statement_that_waits_for_a_lock_is_told_of() {
        for state in
            ["Waiting for table metadata lock", "Waiting for table level lock", "Waiting for backup lock"]
        {
            let text = sentence(state, 7, 10.2).unwrap();
            assert!(text.starts_with("connection 7 has waited 10 s") && text.contains(state), "{text}");
        }
        for state in ["", "Reading file", "copy to tmp table", "Waiting for work"] {
            assert_eq!(sentence(state, 7, 10.0), None, "{state}");
        }
    }
}
