//! The server itself counts the CPU time of its statements where it is set to.
//!
//! MariaDB does with `userstat=ON`; MySQL from 8.0.28 on where the consumer `events_statements_cpu` is enabled. Threads that
//! clean and write in the background are in neither, and how many CPUs the server has, it does not say: it is work per
//! request, no utilisation.

use crate::server::{Control, Flavor, Target};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_os::{Background, Until};
use std::time::Duration;

/// A server that takes longer to answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const USERS: &str = "SELECT SUM(CPU_TIME) FROM information_schema.USER_STATISTICS";
const IS_COUNTED: &str = "SELECT 1 FROM performance_schema.setup_consumers WHERE NAME = 'events_statements_cpu' AND ENABLED = 'YES'";
const STATEMENTS: &str =
    "SELECT SUM(SUM_CPU_TIME) / 1e12 FROM performance_schema.events_statements_summary_global_by_event_name";

/// CPU time of all statements until now; `None` where the server does not count it, or does not show it.
pub(super) fn cpu_time(control: &mut Control) -> Option<Nanos> {
    control.limit_waits(PATIENCE);
    let sql = match control.version().flavor {
        Flavor::MariaDb => USERS,
        Flavor::MySql => {
            control.query_value(IS_COUNTED).ok()??;
            STATEMENTS
        }
    };
    let seconds: f64 = control.query_value(sql).ok()??.parse().ok()?;
    // MariaDB answers 0, not NULL, before the first statement is counted.
    (seconds.is_finite() && seconds > 0.0 && seconds < 1e9).then(|| Nanos::from_secs_f64(seconds))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Used {
    pub cpu: Nanos,
    pub over: Nanos,
}

#[derive(Debug)]
pub(super) struct Watch(Option<Background<Option<Used>>>);

impl Watch {
    /// `begins` and `ends` are those of the measured phase.
    pub(super) fn start(target: &Target, begins: Nanos, ends: Nanos) -> Self {
        let target = target.clone();
        let watch = move |until: &Until| {
            let mut control = Control::connect(&target).ok()?;
            until.wait_until(begins, monotonic);
            let before = look(&mut control)?;
            // Or until the run has ended: by its own clock that may be a moment earlier.
            until.wait_until(ends, monotonic);
            let after = look(&mut control)?;
            // It falls where somebody resets it.
            let used = Used { cpu: Nanos(after.1.0.checked_sub(before.1.0)?), over: after.0 - before.0 };
            // A run that was stopped, or a server that answered so late that it was asked for less than it did.
            let asked = (ends - begins).0;
            (2 * used.over.0 >= asked && 10 * used.over.0 <= 11 * asked).then_some(used)
        };
        Self(Background::start("statistics", watch).ok())
    }

    /// What was used; `None` where one of the looks brought nothing.
    pub(super) fn finish(self) -> Option<Used> {
        self.0?.finish()?
    }
}

/// The counter, and when it was read.
fn look(control: &mut Control) -> Option<(Nanos, Nanos)> {
    let cpu = cpu_time(control)?;
    Some((monotonic(), cpu))
}
