//! A controller under supervision: it is asked only with samples that make sense, and where it fails the last proven limit
//! is kept. Only the operator opens the gate fully.

use super::baseline::{Fault, check};
use crate::control::{Controller, Decision, Sample};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub limit: u32,
    pub decision: Option<Decision>,
    /// What was wrong, where something was.
    pub fault: Option<Fault>,
}

impl Verdict {
    /// Whether the last proven limit is kept for want of a decision.
    pub fn is_kept(&self) -> bool {
        self.decision.is_none()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.decision, self.fault) {
            (Some(decision), None) => decision.fmt(f),
            (Some(decision), Some(fault)) => write!(f, "{decision} ({fault}; it was left out)"),
            (None, Some(fault)) => {
                write!(f, "limit {}, because {fault}; the last proven limit is kept", self.limit)
            }
            (None, None) => write!(f, "limit {}, because nothing was decided", self.limit),
        }
    }
}

/// A controller and the limits that it has proven.
pub struct SupervisedController {
    controller: Box<dyn Controller>,
    max_limit: u32,
    current: u32,
    proven: u32,
    dead: bool,
}

impl SupervisedController {
    /// Supervises a controller that has not been asked yet. `initial_limit` is in force until something is proven, and no limit
    /// passes `max_limit`.
    pub fn new(controller: Box<dyn Controller>, initial_limit: u32, max_limit: u32) -> Self {
        let max_limit = max_limit.max(1);
        let initial = initial_limit.clamp(1, max_limit);
        Self { controller, max_limit, current: initial, proven: initial, dead: false }
    }

    pub fn name(&self) -> &'static str {
        self.controller.name()
    }

    /// The last limit under which transactions completed while the controller was well.
    pub fn proven(&self) -> u32 {
        self.proven
    }

    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Puts another controller in its place, which goes on from the limit in force.
    pub fn replace(&mut self, controller: Box<dyn Controller>, max_limit: u32) {
        *self = Self { proven: self.proven, ..Self::new(controller, self.current, max_limit) };
    }

    pub fn set_max_limit(&mut self, max_limit: u32) {
        self.max_limit = max_limit.max(1);
        self.current = self.current.min(self.max_limit);
        self.proven = self.proven.min(self.max_limit);
    }

    /// Takes in a tick and decides the limit from its end on. Sensors that lie are taken out of the sample.
    pub fn tick(&mut self, sample: &mut Sample) -> Verdict {
        if self.dead {
            return self.keep(Fault::Panic);
        }
        let lying = match check(sample) {
            Ok(lying) => lying,
            Err(fault) => return self.keep(fault),
        };
        let asked = catch_unwind(AssertUnwindSafe(|| self.controller.update(sample)));
        let Ok(decision) = asked else {
            self.dead = true;
            return self.keep(Fault::Panic);
        };
        if decision.limit == 0 {
            return self.keep(Fault::Limit);
        }
        if sample.completions > 0 && sample.limit == self.current {
            self.proven = self.current;
        }
        self.current = decision.limit.min(self.max_limit);
        Verdict { limit: self.current, decision: Some(decision), fault: lying }
    }

    fn keep(&mut self, fault: Fault) -> Verdict {
        self.current = self.proven;
        Verdict { limit: self.proven, decision: None, fault: Some(fault) }
    }
}

impl fmt::Debug for SupervisedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = (self.name(), self.max_limit, self.current, self.proven, self.dead);
        f.debug_tuple("SupervisedController").field(&known).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sensor;
    use super::*;
    use crate::Nanos;
    use crate::control::Reason;

    /// Gives the limits of a list, and panics at its end.
    struct Script(Vec<u32>, usize);

    impl Controller for Script {
        fn name(&self) -> &'static str {
            "script"
        }

        fn update(&mut self, _: &Sample) -> Decision {
            self.1 += 1;
            Decision { limit: self.0[self.1 - 1], why: Reason::Start }
        }
    }

    fn supervised(limits: &[u32]) -> SupervisedController {
        SupervisedController::new(Box::new(Script(limits.to_vec(), 0)), 4, 100)
    }

    fn sample(limit: u32) -> Sample {
        let end = Nanos::from_millis(100);
        Sample { end, limit, in_flight_mean: 3.0, completions: 50, work: 50.0, ..Sample::default() }
    }

    #[test]
    fn decisions_pass_within_the_bounds_and_a_limit_of_zero_is_refused() {
        let mut controller = supervised(&[7, 5_000]);
        assert_eq!(
            controller.tick(&mut sample(4)).to_string(),
            "limit 7, because nothing has been measured yet"
        );
        assert_eq!(controller.tick(&mut sample(7)).limit, 100);
        let verdict = supervised(&[0]).tick(&mut sample(4));
        assert_eq!((verdict.limit, verdict.fault), (4, Some(Fault::Limit)));
    }

    #[test]
    fn a_controller_that_fails_leaves_the_last_proven_limit_for_good() {
        let mut controller = supervised(&[7, 9]);
        controller.tick(&mut sample(4));
        controller.tick(&mut sample(7));
        // 9 was decided and never ran with success.
        let kept = controller.tick(&mut Sample { completions: 0, ..sample(9) });
        assert_eq!((kept.limit, kept.is_kept()), (7, true));
        assert_eq!(kept.to_string(), "limit 7, because the controller failed; the last proven limit is kept");
        assert!(controller.is_dead());
        assert_eq!(controller.tick(&mut sample(7)).limit, 7);
        controller.replace(Box::new(Script(vec![12], 0)), 100);
        assert_eq!((controller.tick(&mut sample(7)).limit, controller.is_dead()), (12, false));
    }

    #[test]
    fn a_clock_that_stands_still_and_figures_without_sense_are_not_shown_to_the_controller() {
        for (bad, fault) in [
            (Sample { end: Nanos::ZERO, ..sample(4) }, Fault::Clock),
            (Sample { end: Nanos::from_secs(60), ..sample(4) }, Fault::Gap),
            (Sample { in_flight_mean: f64::NAN, ..sample(4) }, Fault::Figures),
            (Sample { work: -1.0, ..sample(4) }, Fault::Figures),
            (Sample { queued: f64::INFINITY, ..sample(4) }, Fault::Figures),
        ] {
            let mut controller = supervised(&[]);
            let verdict = controller.tick(&mut bad.clone());
            assert_eq!((verdict.limit, verdict.fault), (4, Some(fault)));
            assert!(!controller.is_dead());
        }
    }

    #[test]
    fn a_lying_sensor_becomes_not_available_and_is_named() {
        for lie in [f64::NAN, -0.5, f64::INFINITY] {
            let mut lying = sample(4);
            lying.signals.cpu_per_commit = Some(lie);
            lying.signals.lock_wait_share = Some(0.5);
            let verdict = supervised(&[5]).tick(&mut lying);
            assert_eq!((verdict.limit, verdict.fault), (5, Some(Fault::Sensor(Sensor::CpuPerCommit))));
            assert_eq!((lying.signals.cpu_per_commit, lying.signals.lock_wait_share), (None, Some(0.5)));
        }
    }

    #[test]
    fn a_share_just_above_one_is_one_and_far_above_a_lie() {
        for (value, kept) in [(1.02, Some(1.0)), (7.0, None)] {
            let mut odd = sample(4);
            odd.signals.user_cpu_share = Some(value);
            supervised(&[5]).tick(&mut odd);
            assert_eq!(odd.signals.user_cpu_share, kept);
        }
    }
}
