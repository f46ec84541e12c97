//! The sentry lets nobody wait for ever for a server that does not answer, nor go on waiting when somebody asked to stop.
//!
//! A statement may rightly take an hour: an index over millions of rows. So its time alone proves nothing, and a thread
//! beside each control connection asks the server for another one when a statement has been silent for a while. A server
//! that lets nobody in either (its process is stopped, its disk is full, the way to it is broken) does not answer; the
//! connection is cut then, which ends the statement with an error.

use super::connect::{self, Patience};
use super::session::Session;
use super::{Address, Target, TargetError};
use evenkeel_core::Nanos;
use evenkeel_os::Cable;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// Four looks a second cost nothing that could be measured.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A statement that has been silent for so long raises the question whether the server answers anybody.
const SILENCE: Nanos = Nanos::from_secs(10);
/// The same for as long again is no news once the server has let another connection in.
const SILENCE_AGAIN: Nanos = Nanos::from_secs(30);
/// One lost login may be an accident of the network.
const LOGINS_LOST: u32 = 2;
/// A statement that is nearly done may end by itself after somebody asked to stop.
const GRACE: Nanos = Nanos::from_secs(1);
/// One whose rows still come has so long: a server that lets them drip would never be silent.
const GRACE_WITH_ROWS: Nanos = Nanos::from_secs(3);
/// The server has so long to let us in and to end the statement of one who stops, or to say what a statement waits for.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtStop {
    /// It ends, at the server too.
    End,
    /// It goes on as long as the server answers anybody: it clears up.
    Finish,
}

/// A connection as the sentry sees it.
pub(super) struct Line {
    clock: Clock,
    /// When the statement under way was asked, or its last row came, ns of `clock` and never zero; zero where none is.
    asked: AtomicU64,
    began: AtomicU64,
    cut: OnceLock<Cut>,
    over: AtomicBool,
    /// The connection's socket once more, so that it can be shut down while its owner reads from it.
    socket: Cable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Stopped,
    /// The server answers nobody, and has not for so long.
    Silent(Nanos),
}

/// A statement under way; over when dropped.
pub(super) struct Asking<'a>(&'a Line);

impl Asking<'_> {
    /// A row has come.
    pub(super) fn heard(&self) {
        self.0.mark();
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.asked.store(0, Ordering::Relaxed);
    }
}

impl Line {
    /// From now on a statement is under way.
    pub(super) fn asking(&self) -> Asking<'_> {
        self.began.store(self.clock.now().0, Ordering::Relaxed);
        self.mark();
        Asking(self)
    }

    fn mark(&self) {
        self.asked.store(self.clock.now().0.max(1), Ordering::Relaxed);
    }

    /// How long the statement under way has been silent; `None` where none is.
    pub(super) fn silent_for(&self) -> Option<Nanos> {
        match self.asked.load(Ordering::Relaxed) {
            0 => None,
            asked => Some(self.clock.now() - Nanos(asked)),
        }
    }

    /// How long ago the statement under way was asked, whatever has come of it since.
    fn lasts(&self) -> Nanos {
        self.clock.now() - Nanos(self.began.load(Ordering::Relaxed))
    }

    /// What the cut came to for the one who asked.
    pub(super) fn failure(&self, target: &Target) -> Option<TargetError> {
        Some(match *self.cut.get()? {
            Cut::Stopped => TargetError::Stopped,
            Cut::Silent(silent) => TargetError::silent(target.address.to_string(), silent),
        })
    }

    /// Ends the statement under way with an error, and the connection with it.
    pub(super) fn cut(&self, cause: Cut) {
        let _ = self.cut.set(cause);
        self.socket.cut();
    }
}

/// The thread beside a connection; it ends with this value.
pub(super) struct Sentry {
    pub(super) line: Arc<Line>,
    thread: Thread,
}

impl Sentry {
    pub(super) fn post(session: &Session, target: &Target, stop: &Stop, at_stop: AtStop) -> io::Result<Self> {
        let socket = session.cable()?;
        let line = Arc::new(Line {
            clock: Clock::start(),
            asked: AtomicU64::new(0),
            began: AtomicU64::new(0),
            cut: OnceLock::new(),
            over: AtomicBool::new(false),
            socket,
        });
        let (target, stop, id) = (target.clone(), stop.clone(), session.id());
        let watch = Watch { line: Arc::clone(&line), target, stop, at_stop, id };
        let thread = thread::Builder::new().name("sentry".into()).spawn(move || watch.run())?;
        Ok(Self { line, thread: thread.thread().clone() })
    }

    /// Nobody is needed beside a connection whose reads have a limit of their own.
    pub(super) fn dismiss(&self) {
        self.line.over.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

impl Drop for Sentry {
    fn drop(&mut self) {
        self.dismiss();
    }
}

struct Watch {
    line: Arc<Line>,
    target: Target,
    stop: Stop,
    at_stop: AtStop,
    id: u32,
}

impl Watch {
    fn run(&self) {
        let (mut stop_due, mut due) = (None, SILENCE);
        while !self.line.over.load(Ordering::Relaxed) && self.line.cut.get().is_none() {
            thread::park_timeout(LOOK_EVERY);
            let now = self.line.clock.now();
            let Some(silent) = self.line.silent_for() else {
                due = SILENCE;
                continue;
            };
            if self.stop.is_set() {
                let looks_at = *stop_due.get_or_insert(now + GRACE);
                let drips = self.at_stop == AtStop::End && self.line.lasts() >= GRACE_WITH_ROWS;
                if now >= looks_at && (silent >= GRACE || drips) {
                    if self.stopped() {
                        return;
                    }
                    stop_due = Some(now + SILENCE);
                }
            } else if silent < SILENCE {
                due = SILENCE;
            } else if silent >= due {
                due = silent + SILENCE_AGAIN;
                if !self.answers()
                    && let Some(silent) = self.line.silent_for().filter(|silent| *silent >= SILENCE)
                {
                    return self.line.cut(Cut::Silent(silent));
                }
            }
        }
    }

    /// Whether the server still lets anybody in, or at least says why not. One that does is asked whether the statement waits for a lock.
    fn answers(&self) -> bool {
        let patience = Patience { stop: self.stop.clone(), ..Patience::default() };
        (0..LOGINS_LOST).any(|_| match connect::connect(&self.target, &patience) {
            Err(
                TargetError::Timeout { .. } | TargetError::Unreachable { .. } | TargetError::Refused { .. },
            ) => false,
            Ok((mut session, _)) => {
                self.look_for_locks(&mut session);
                true
            }
            // That somebody stops says nothing about the server, and is seen at the next look.
            Err(_) => true,
        })
    }

    fn look_for_locks(&self, session: &mut Session) {
        if let Some(silent) = self.line.silent_for()
            && session.limit_waits(Some(KILL_PATIENCE)).is_ok()
            && self.is_ours(session)
        {
            look(session, self.id, silent.as_secs_f64());
        }
    }

    /// Somebody has asked to stop. Ends the connection, and the statement at the server too, which would otherwise go on
    /// with it; `false` where the statement is to be finished and the server answers.
    fn stopped(&self) -> bool {
        let patience = Patience { limit: KILL_PATIENCE, stop: Stop::default() };
        let greeted = connect::connect(&self.target, &patience);
        if greeted.is_ok() && self.at_stop == AtStop::Finish {
            return false;
        }
        let _ = self.line.cut.set(Cut::Stopped);
        if let Ok((mut session, _)) = greeted
            && session.limit_waits(Some(KILL_PATIENCE)).is_ok()
            && self.is_ours(&mut session)
        {
            // One that has ended meanwhile is an error here, and no loss.
            let _ = session.query(&format!("KILL CONNECTION {}", self.id), None);
        }
        self.line.cut(Cut::Stopped);
        true
    }

    /// Whether that number is our connection's at this server too: a proxy, or a name with several addresses, may have led
    /// us to another one, where it is somebody else's.
    fn is_ours(&self, session: &mut Session) -> bool {
        if matches!(self.target.address, Address::Unix(_)) {
            return true;
        }
        let sql = format!("SELECT host FROM information_schema.processlist WHERE id = {}", self.id);
        match (self.line.socket.port(), session.value(&sql)) {
            (Some(ours), Ok(Some(host))) => host.ends_with(&format!(":{ours}")),
            _ => false,
        }
    }
}

/// Takes a sentence about a statement that waits. It is called from another thread.
type LockWait = Arc<dyn Fn(&str) + Send + Sync>;

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
