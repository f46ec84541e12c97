//! Statements that run for longer than the operator bears: counted, told in the server's error log, and killed where he says so.

use crate::session::{Session, lock};
use crate::sessions::Sessions;
use evenkeel_core::Nanos;
use std::sync::atomic::Ordering::Relaxed;

/// From one line in the log to the next.
const QUIET: Nanos = Nanos::from_secs(1);

#[derive(Debug, Default)]
pub struct Runaways {
    told: Option<Nanos>,
    untold: u64,
}

impl Runaways {
    /// A statement was seen to run for longer than it may, which counts once.
    pub fn meet(&mut self, sessions: &Sessions, session: &Session) {
        if is_known(session) || sessions.options.is_administrator(&session.user) {
            return;
        }
        let kills = sessions.options.kills.load(Relaxed);
        // It comes first: what the server does for it may want what others hold who wait for the lock below.
        let connection = if kills { sessions.server.connect() } else { None };
        // The statement cannot end before this is given back, nor the next one begin, which is not to be killed in its place.
        let own = lock(&session.own);
        let (lasted, at_server) = session.lasts(sessions.now());
        let late = sessions.options.runaway().is_some_and(|bound| lasted >= bound);
        if !at_server || !late || is_known(session) {
            return;
        }
        let Some(digest) = lock(&session.held).as_mut().map(|held| {
            held.ran_away = Nanos(session.since.load(Relaxed));
            held.digest
        }) else {
            return;
        };
        let done = connection.map(|connection| connection.say(&format!("KILL QUERY {}", session.thread)));
        drop(own);
        sessions.options.shown.runaways.fetch_add(1, Relaxed);
        let what = match (kills, done) {
            (false, _) => "runs",
            (true, Some(true)) => "was killed by KILL QUERY, having run",
            (true, _) => "could not be killed, and runs",
        };
        let text = format!(
            "runaway: a statement of user {:?}, thread {}, digest {digest:016x}, {what} for {:.1} s",
            session.user,
            session.thread,
            lasted.as_secs_f64()
        );
        self.tell(sessions, text);
    }

    fn tell(&mut self, sessions: &Sessions, mut text: String) {
        let now = sessions.now();
        if self.told.is_some_and(|told| now - told < QUIET) {
            self.untold += 1;
            return;
        }
        self.told = Some(now);
        let untold = std::mem::take(&mut self.untold);
        if untold > 0 {
            text.push_str(&format!(" (and {untold} others since the last such line)"));
        }
        sessions.server.warn(&text);
    }
}

/// Whether its statement was counted, or has no place.
fn is_known(session: &Session) -> bool {
    let since = Nanos(session.since.load(Relaxed));
    lock(&session.held).is_none_or(|held| held.ran_away == since)
}
