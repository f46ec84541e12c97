//! The server's own status, asked with an account of the operator's.

use super::account::Account;
use anyhow::Result;
use evenkeel_guard::control::LatestStatus;
use evenkeel_os::clock::Clock;
use evenkeel_sense::status::StatusReading;
use evenkeel_site::server::{Control, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// From one reading to the next; a status costs a server about a millisecond.
const EVERY: Duration = Duration::from_millis(500);
/// Until a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(3);
/// A server that says nothing for so long has not answered.
const ANSWER: Duration = Duration::from_secs(10);
/// Who stops does not wait longer for a server that says nothing.
const LEAVING: Duration = Duration::from_secs(1);
const QUERY: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Uptime_since_flush_status', \
                     'Innodb_row_lock_time', 'Innodb_row_lock_current_waits', 'Threads_running')";

/// A thread that asks; it ends when this is dropped, or, where its server does not answer, some seconds later.
pub struct Monitor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Asks the server behind `url` for its status again and again, and puts each reading into `latest` with the time of `clock`.
    /// `first` looks at the server once.
    ///
    /// # Errors
    /// A URL that is none; a server that does not answer is no error, and asked again later.
    pub fn start(url: &str, (latest, clock): (LatestStatus, Clock), first: Account) -> Result<Self> {
        let target = Target::parse(url)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let watch = move || watch(&target, (&latest, &clock), first, &stopped);
        let thread = std::thread::Builder::new().name("monitor".into()).spawn(watch)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        thread.thread().unpark();
        let clock = Clock::start();
        while !thread.is_finished() && Duration::from(clock.now()) < LEAVING {
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.is_finished() {
            // A panic in it is in the log already.
            let _ = thread.join();
        }
    }
}

fn watch(target: &Target, (latest, clock): (&LatestStatus, &Clock), mut first: Account, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match Control::connect(target) {
            Err(error) => first.fail(&error),
            Ok(mut control) => {
                control.limit_waits(ANSWER);
                first.ask(&mut control);
                while let Some(reading) = read(&mut control) {
                    latest.put(clock.now(), Some(reading));
                    std::thread::park_timeout(EVERY);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }
        }
        latest.put(clock.now(), None);
        std::thread::park_timeout(PAUSE);
    }
}

fn read(control: &mut Control) -> Option<StatusReading> {
    let mut named = Vec::new();
    let rows = control.query(QUERY).ok()?;
    for row in &rows.rows {
        if let [Some(name), Some(value)] = row.as_slice() {
            named.push((name.as_str(), value.as_str()));
        }
    }
    Some(StatusReading::new(named))
}
