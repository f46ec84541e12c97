//! What sessions of a server are at, asked again and again from a connection beside the load: by Little's law the sessions in a state, over
//! time and by requests, are the time that a request spends in it. An answer takes the server about 0.1 ms of CPU.

use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::statistics::Sample;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::{Control, HangUp, Target};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Mean time from one look to the next.
const SPACING: Nanos = Nanos::from_millis(10);
/// A server may take so long to answer the last look.
const LAST_LOOK: Nanos = Nanos::from_secs(2);
/// A commit waits in the first for its log or for a replica, and a statement in the second for a lock of a table. MariaDB and MySQL use these
/// names, and show any account the sessions of its own user, which are those of the load.
const ASKED: &str = "SELECT SUM(STATE LIKE '%commit%' OR STATE LIKE '%semi-sync%'), SUM(STATE LIKE 'Waiting for%lock%') \
                     FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID() \
                     AND USER = SUBSTRING_INDEX(USER(), '@', 1)";

/// Time of all sessions together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct InStates {
    pub commit_s: f64,
    pub table_lock_s: f64,
}

pub(super) struct States {
    thread: JoinHandle<Option<InStates>>,
    /// The way to end a look that the server does not answer.
    line: HangUp,
    stop: Stop,
}

impl States {
    /// Looks until it is finished; `None` without a connection or a thread.
    pub fn look(target: &Target, stop: &Stop) -> Option<Self> {
        let mut control = Control::connect_until(target, stop).ok()?;
        let (line, stop) = (control.hang_up(), Stop::default());
        let end = stop.clone();
        let looking = thread::Builder::new().name("states".into()).spawn(move || looked(&mut control, &end));
        Some(Self { thread: looking.ok()?, line, stop })
    }

    /// `None` if the server refused, was gone, or leaves the last look unanswered.
    pub fn finish(self) -> Option<InStates> {
        self.stop.set();
        let clock = Clock::start();
        while !self.thread.is_finished() {
            if clock.now() >= LAST_LOOK {
                self.line.hang_up();
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().ok()?
    }
}

/// Looks at random moments, so that no periodic load is met always at the same place.
fn looked(control: &mut Control, end: &Stop) -> Option<InStates> {
    let (clock, mut random) = (Clock::start(), Random::new(Seed(1)));
    let (mut commits, mut table_locks) = (Sample::new(), Sample::new());
    while !end.is_set() {
        let rows = control.query(ASKED).ok()?;
        // A sum over no session is NULL.
        let number = |at: usize| -> f64 {
            rows.rows.first().and_then(|row| row.get(at)?.as_deref()?.parse().ok()).unwrap_or_default()
        };
        commits.push(number(0));
        table_locks.push(number(1));
        thread::sleep(Nanos((2.0 * random.unit() * SPACING.0 as f64) as u64).into());
    }
    let seconds = |sessions: &Sample| Some(sessions.mean()? * clock.now().as_secs_f64());
    Some(InStates { commit_s: seconds(&commits)?, table_lock_s: seconds(&table_locks)? })
}
