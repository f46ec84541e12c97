//! What reached a run from outside, and when that is reason enough to measure it once more.
//!
//! Nothing here looks at response times: a run is repeated, and an attempt at it set aside, for what happened around
//! it and never for what it brought. Otherwise the repeats would choose the result.

use crate::caveat::threshold::{OTHER_LOAD_MAX, STEAL_REPEATED};
use std::fmt;

/// Of so many runs of a study one may be measured again: more would make a study on a noisy machine much longer
/// than it was said to be, and a machine that disturbs more than a third of the runs disturbs the repeats as well.
pub const REPEATED_ONE_OF: u32 = 3;

/// What reached a run from outside, in percent of CPU time; `None` where it cannot be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Taken from the CPUs of the server by the hypervisor.
    pub steal: Option<f64>,
    pub other_load: Option<f64>,
}

impl Disturbance {
    /// The larger of its two parts, each over what is tolerated; what cannot be seen counts as nothing.
    pub fn weight(&self) -> f64 {
        let steal = self.steal.unwrap_or(0.0) / STEAL_REPEATED;
        let other_load = self.other_load.unwrap_or(0.0) / OTHER_LOAD_MAX;
        // `max` takes the number where the other is none.
        steal.max(other_load).max(0.0)
    }

    pub fn is_too_large(&self) -> bool {
        self.weight() > 1.0
    }
}

/// `6.9 % stolen, 1.0 % used by others`, without what cannot be seen.
impl fmt::Display for Disturbance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(self.steal, "stolen"), (self.other_load, "used by others")];
        let seen = parts.iter().filter_map(|(percent, what)| Some(format!("{:.1} % {what}", (*percent)?)));
        out.write_str(&seen.collect::<Vec<_>>().join(", "))
    }
}

/// How many runs may have been measured again after `blocks` of `blocks_in_all`, in a study of `runs`: a third in
/// all and one at least, in equal parts over the blocks, so that the first does not use up what the others need.
pub fn repeats_allowed(runs: u32, blocks: u32, blocks_in_all: u32) -> u32 {
    let in_all = u64::from((runs / REPEATED_ONE_OF).max(1));
    // Rounded up, so that a small study has its one repeat in the first block too.
    let so_far = (in_all * u64::from(blocks)).div_ceil(u64::from(blocks_in_all.max(1)));
    u32::try_from(so_far.min(in_all)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(steal: f64, other_load: f64) -> Disturbance {
        Disturbance { steal: Some(steal), other_load: Some(other_load) }
    }

    #[test]
    fn the_larger_part_counts_and_each_against_its_own_threshold() {
        assert_eq!(of(3.0, 5.0).weight(), 1.5);
        assert_eq!(of(1.0, 10.0).weight(), 2.0);
        assert!(of(2.1, 0.0).is_too_large() && of(0.0, 5.1).is_too_large());
        assert!(!of(2.0, 5.0).is_too_large());
    }

    #[test]
    fn what_cannot_be_seen_is_no_reason_to_repeat() {
        assert_eq!(Disturbance::default().weight(), 0.0);
        assert_eq!(of(f64::NAN, -1.0).weight(), 0.0);
        assert_eq!(Disturbance { steal: Some(6.94), other_load: None }.to_string(), "6.9 % stolen");
        assert!(!Disturbance { steal: None, other_load: Some(4.0) }.is_too_large());
    }

    #[test]
    fn a_third_of_the_runs_may_be_repeated_spread_over_the_blocks() {
        let after = |runs, blocks| (1..=blocks).map(move |block| repeats_allowed(runs, block, blocks));
        assert_eq!(after(24, 3).collect::<Vec<_>>(), [3, 6, 8]);
        assert_eq!(after(2, 2).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(after(1, 1).collect::<Vec<_>>(), [1]);
        assert_eq!(repeats_allowed(0, 1, 0), 1);
        assert_eq!(repeats_allowed(u32::MAX, u32::MAX, 2), u32::MAX / 3);
    }
}
