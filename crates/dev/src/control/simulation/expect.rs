//! What a scenario expects of a controller, and which of its expectations a run did not meet.

use super::Trace;
use evenkeel_core::Nanos;
use std::fmt;

/// Stretch over which throughput is averaged before it is judged.
pub const SMOOTH: Nanos = Nanos::from_millis(500);

/// Expectations of a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// The stretch begins here.
    pub from: Nanos,
    /// The stretch ends here.
    pub until: Nanos,
    /// Throughput averaged over half a second reaches this share of the best within this time.
    pub settled_within: Option<(Nanos, f64)>,
    /// It is never below this share for longer than this.
    pub never_below: Option<(f64, Nanos)>,
    /// At most this share of the transactions that were possible is lost.
    pub regret_below: Option<f64>,
    /// The limit stays within these bounds.
    pub limit_within: Option<(u32, u32)>,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub enum Broken {
    /// It did not settle in time.
    NotSettled {
        /// Best share reached in the time.
        share: f64,
        /// Share of the best throughput that was expected, from 0 to 1.
        near: f64,
        /// The time within which it was expected.
        within: Nanos,
    },
    /// It was too low for too long.
    Below {
        /// The least share that was expected.
        floor: f64,
        /// When it fell below that share.
        since: Nanos,
        /// How long it stayed below that share.
        lasted: Nanos,
    },
    /// Too much was lost.
    Regret {
        /// Share that was lost.
        regret: f64,
        /// Most that was allowed to be lost.
        allowed: f64,
    },
    /// The limit left its bounds.
    Limit {
        /// The limit that was out of bounds.
        limit: u32,
        /// When that was.
        at: Nanos,
    },
}

impl Expect {
    /// Everything that a trace breaks.
    pub fn broken_by(&self, trace: &Trace) -> Vec<Broken> {
        let within = self.part(trace);
        let mut broken = Vec::new();
        broken.extend(self.settling(&within));
        broken.extend(self.floor(&within));
        if let Some(allowed) = self.regret_below {
            let regret = trace.regret(self.from, self.until);
            broken.extend((regret > allowed).then_some(Broken::Regret { regret, allowed }));
        }
        if let Some((low, high)) = self.limit_within {
            let strayed = within.steps.iter().find(|step| !(low..=high).contains(&step.limit));
            broken.extend(strayed.map(|step| Broken::Limit { limit: step.limit, at: step.start }));
        }
        broken
    }

    fn part(&self, trace: &Trace) -> Trace {
        let within = |start: Nanos, end: Nanos| start >= self.from && end <= self.until;
        Trace { steps: trace.steps.iter().filter(|step| within(step.start, step.end)).copied().collect() }
    }

    fn settling(&self, within: &Trace) -> Option<Broken> {
        let (time, near) = self.settled_within?;
        let in_time = within.steps.iter().filter(|step| step.end <= self.from + time).copied().collect();
        let best = Trace { steps: in_time }.shares_from(self.from, SMOOTH).into_iter().fold(0.0, f64::max);
        (best < near).then_some(Broken::NotSettled { share: best, near, within: time })
    }

    fn floor(&self, within: &Trace) -> Option<Broken> {
        let (floor, longest) = self.never_below?;
        let settled = self.settled_within.map_or(self.from, |(time, _)| self.from + time);
        let mut since: Option<Nanos> = None;
        for step in within.steps.iter().filter(|step| step.start >= settled) {
            if step.share() >= floor {
                since = None;
                continue;
            }
            let began = *since.get_or_insert(step.start);
            let lasted = step.end - began;
            if lasted > longest {
                return Some(Broken::Below { floor, since: began, lasted });
            }
        }
        None
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSettled { share, near, within } => write!(
                f,
                "not settled: at most {:.0} % of the best within {:.1} s, {:.0} % expected",
                share * 100.0,
                within.as_secs_f64(),
                near * 100.0
            ),
            Self::Below { floor, since, lasted } => write!(
                f,
                "below {:.0} % of the best from {:.1} s on, for {:.1} s and longer",
                floor * 100.0,
                since.as_secs_f64(),
                lasted.as_secs_f64()
            ),
            Self::Regret { regret, allowed } => {
                write!(f, "{:.1} % lost, at most {:.1} % expected", regret * 100.0, allowed * 100.0)
            }
            Self::Limit { limit, at } => {
                write!(f, "limit {limit} at {:.1} s is out of bounds", at.as_secs_f64())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::*;

    /// Ticks of 100 ms with these shares of the best.
    fn trace(shares: impl IntoIterator<Item = f64>) -> Trace {
        let step = |(tick, share): (u64, f64)| Step {
            start: Nanos::from_millis(100 * tick),
            end: Nanos::from_millis(100 * tick + 100),
            limit: 4,
            in_flight: 4.0,
            completions: 0,
            true_per_s: 1_000.0 * share,
            best_per_s: 1_000.0,
        };
        Trace { steps: (0..).zip(shares).map(step).collect() }
    }

    fn expect() -> Expect {
        Expect {
            from: Nanos::ZERO,
            until: Nanos::from_secs(10),
            settled_within: Some((Nanos::from_secs(2), 0.9)),
            never_below: Some((0.7, Nanos::from_millis(500))),
            regret_below: None,
            limit_within: None,
        }
    }

    #[test]
    fn a_run_that_settles_in_time_and_stays_breaks_nothing() {
        let shares = (0..100).map(|tick| if tick < 10 { 0.3 } else { 0.95 });
        assert_eq!(expect().broken_by(&trace(shares)), []);
    }

    #[test]
    fn what_is_late_low_dear_or_astray_is_named() {
        let late = expect().broken_by(&trace((0..100).map(|tick| if tick < 30 { 0.5 } else { 1.0 })));
        assert!(
            matches!(late[0], Broken::NotSettled { share, .. } if (share - 0.5).abs() < 1e-9),
            "{late:?}"
        );
        let dip =
            expect().broken_by(&trace((0..100).map(|tick| if (50..57).contains(&tick) { 0.5 } else { 1.0 })));
        assert!(matches!(dip[..], [Broken::Below { since, .. }] if since == Nanos::from_secs(5)), "{dip:?}");
        let short =
            expect().broken_by(&trace((0..100).map(|tick| if (50..55).contains(&tick) { 0.5 } else { 1.0 })));
        assert_eq!(short, []);
        let dear = Expect { regret_below: Some(0.05), limit_within: Some((5, 9)), ..expect() };
        let broken = dear.broken_by(&trace([0.9; 100]));
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert_eq!(broken[0].to_string(), "10.0 % lost, at most 5.0 % expected");
    }
}
