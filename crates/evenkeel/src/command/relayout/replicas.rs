//! Replicas that a relayout waits for before each table.

use crate::config::units;
use crate::console::Session;
use crate::failure::Stopped;
use crate::progress::{ProgressEvent, View};
use crate::server::place;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_site::relayout::lag_s;
use evenkeel_site::server::Target;
use std::fmt::Display;
use std::thread;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A replica needs a moment to hear of the table that was rebuilt last.
const HEARS_WITHIN: Duration = Duration::from_secs(2);
/// How soon a stop is seen.
const NAP: Duration = Duration::from_millis(50);

pub struct Replicas {
    targets: Vec<Target>,
    max_lag: Nanos,
    /// Whether a table was begun.
    has_begun: bool,
}

impl Replicas {
    pub fn new(session: &Session, urls: &[String], max_lag: &str) -> Result<Self> {
        let target = |url: &String| Ok(Target { database: None, ..place::target(session, url, "")? });
        Ok(Self {
            targets: urls.iter().map(target).collect::<Result<_>>()?,
            max_lag: units::duration(max_lag)?,
            has_begun: false,
        })
    }

    /// Waits until no replica is further behind than it may be.
    /// Errors: one is not a replica, or cannot be asked; somebody asked to stop.
    pub fn wait(&mut self, stop: &Stop, view: &mut View) -> Result<()> {
        if self.has_begun && !self.targets.is_empty() {
            nap(HEARS_WITHIN, stop)?;
        }
        self.has_begun = true;
        for replica in &self.targets {
            let mut is_told = false;
            while let Some(why) = behind(replica, lag_s(replica, stop)?, self.max_lag) {
                let text = format!("waiting: {why} (Ctrl-C to stop)");
                view.show(&match is_told {
                    true => ProgressEvent::Step { text },
                    false => ProgressEvent::Warning { text },
                });
                is_told = true;
                nap(LOOK_EVERY, stop)?;
            }
        }
        Ok(())
    }
}

/// What is said of a replica that is waited for; `None` where it is not.
fn behind(replica: impl Display, lag_s: Option<u64>, limit: Nanos) -> Option<String> {
    match lag_s {
        None => Some(format!("replication is not running on {replica}")),
        Some(lag_s) if Nanos::from_secs(lag_s) > limit => Some(format!("{replica} is {lag_s} s behind")),
        Some(_) => None,
    }
}

fn nap(time: Duration, stop: &Stop) -> Result<()> {
    for _ in 0..time.as_millis() / NAP.as_millis() {
        if stop.is_set() {
            return Err(Stopped("before the next table".to_owned()).into());
        }
        thread::sleep(NAP);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_waited_for_beyond_the_limit_and_while_it_does_not_replicate() {
        let limit = Nanos::from_secs(10);
        assert_eq!(behind("db2", Some(10), limit), None);
        assert_eq!(behind("db2", Some(11), limit).as_deref(), Some("db2 is 11 s behind"));
        assert!(behind("db2", None, limit).is_some());
    }
}
