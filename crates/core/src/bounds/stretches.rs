//! Which stretches of a run nobody disturbed.
//!
//! Chosen by what happened around the run alone, never by what it brought: otherwise the choice would be the result.

use crate::caveat::threshold::TAKEN_MAX;

/// Length of a stretch, seconds: short enough that a neighbour's burst spoils little, long enough for the kernel's
/// counters, which tick every 10 ms on some machines.
pub const SECONDS: f64 = 0.1;

/// A pause of the generator from this on spoils a stretch, seconds.
pub const PAUSE_MAX: f64 = 0.005;

/// Stretches on either side of a disturbed one that are left out too: a queue that built up in the disturbance drains
/// in the first of them, and the clocks of generator and sampler differ by less than one.
pub const GUARD: usize = 1;

/// What happened around one stretch; `None` where it cannot be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Around {
    /// Share of the CPU time of the server's CPUs that the hypervisor or others took.
    pub taken: Option<f64>,
    pub pause: Option<f64>,
}

/// For each stretch whether it is free of disturbance, guard bands left out. A stretch of which nothing is known is not.
pub fn free(stretches: &[Around]) -> Vec<bool> {
    let disturbed: Vec<bool> = stretches.iter().map(is_disturbed).collect();
    (0..stretches.len())
        .map(|place| {
            let from = place.saturating_sub(GUARD);
            let to = (place + GUARD + 1).min(disturbed.len());
            !disturbed[from..to].contains(&true)
        })
        .collect()
}

fn is_disturbed(around: &Around) -> bool {
    // Written so that what is not a number disturbs.
    let fits = |value: Option<f64>, most: f64| value.is_none_or(|value| value <= most);
    around.taken.is_none() || !fits(around.taken, TAKEN_MAX) || !fits(around.pause, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(taken: &[f64]) -> Vec<Around> {
        taken.iter().map(|taken| Around { taken: Some(*taken), pause: Some(0.0) }).collect()
    }

    #[test]
    fn a_disturbed_stretch_takes_its_neighbours_with_it() {
        let free = free(&around(&[0.0, 0.0, 0.5, 0.0, 0.0, 0.01]));
        assert_eq!(free, [true, false, false, false, true, true]);
    }

    #[test]
    fn a_pause_of_the_generator_disturbs_as_well() {
        let mut stretches = around(&[0.0; 4]);
        stretches[3].pause = Some(0.02);
        assert_eq!(free(&stretches), [true, true, false, false]);
    }

    #[test]
    fn what_cannot_be_seen_is_not_free() {
        let mut stretches = around(&[0.0; 3]);
        stretches[0].taken = None;
        assert_eq!(free(&stretches), [false, false, true]);
        stretches[2].taken = Some(f64::NAN);
        assert_eq!(free(&stretches), [false; 3]);
        assert!(free(&[]).is_empty());
    }
}
