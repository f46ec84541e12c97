//! How long a run must last, by the memory of the queue.

/// Relaxation times that a run lasts where time allows.
pub const RELAXATIONS: f64 = 60.0;

/// Fewest relaxation times of an interval with two ends: below, a run may well not have seen a single one of the queue's
/// long excursions, and then nothing in it says how much more there is.
pub const TWO_SIDED: f64 = 30.0;

/// How much longer than asked for a run may become.
pub const STRETCH_MAX: f64 = 8.0;

/// Share of a run that its warm-up lasts: 15 relaxation times of [`RELAXATIONS`].
const WARM_UP: f64 = 0.25;

/// How long the runs of a cell last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Measured phase in seconds.
    pub seconds: f64,
    /// Warm-up before it in seconds.
    pub warm_up: f64,
    /// Relaxation times that the measured phase lasts, by what the pilot run saw.
    pub relaxations: f64,
}

/// Relaxation time in seconds: after this, what an M/M/1 queue was like is forgotten but for `1 / e` of it.
///
/// `t = s / (1 - sqrt(r))^2` with the mean service time `s = r / l`, utilisation `r` and arrival rate `l` per second (Cohen,
/// The Single Server Queue, 2nd ed., 1982, section II.2; Morse, J. Oper. Res. Soc. Am. 3 (1955) 255). The utilisation is that
/// of the M/M/1 queue with the same mean backlog `L`, `r = L / (1 + L)`: a server with several processors
/// has a smaller one at that backlog and forgets faster. Infinite without arrivals.
pub fn relaxation(backlog: f64, rate: f64) -> f64 {
    let utilisation = backlog / (1.0 + backlog);
    if rate > 0.0 { utilisation / rate / (1.0 - utilisation.sqrt()).powi(2) } else { f64::INFINITY }
}

/// Length of the runs of a cell, from the mean backlog that a pilot run saw at this arrival rate per second:
/// [`RELAXATIONS`] relaxation times, at least `base` seconds and at most [`STRETCH_MAX`] times that.
///
/// The pilot must not be one of the runs that are estimated from: a run that decides by itself whether it was long enough
/// ends when its response happens to be low, which by simulation costs 5 of 95 points of coverage.
pub fn length(backlog: f64, rate: f64, base: f64) -> Length {
    let relaxation = relaxation(backlog.max(0.0), rate);
    let wanted = RELAXATIONS * relaxation;
    let seconds = if wanted.is_nan() { base } else { wanted.max(base).min(STRETCH_MAX * base) };
    Length { seconds, warm_up: WARM_UP * seconds, relaxations: seconds / relaxation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relaxation_time_of_a_queue_is_that_of_the_theory() {
        // Utilisation 0.81 is a backlog of 0.81 / 0.19; (1 - 0.9)^-2 = 100 service times.
        assert!((relaxation(0.81 / 0.19, 810.0) - 0.1).abs() < 1e-12);
        assert_eq!(relaxation(1.0, 0.0), f64::INFINITY);
    }

    #[test]
    fn runs_grow_with_the_backlog_between_what_was_asked_for_and_eight_times_that() {
        // 250 arrivals per second: 0.5, 3 and 50 requests under way.
        let seconds = |backlog: f64| length(backlog, 250.0, 8.0).seconds;
        assert_eq!((seconds(0.0), seconds(0.5), seconds(50.0)), (8.0, 8.0, 64.0));
        assert!((seconds(3.0) - 60.0 * relaxation(3.0, 250.0)).abs() < 1e-9);
        assert!(seconds(3.0) > 8.0 && seconds(3.0) < 64.0);
        let found = length(50.0, 250.0, 8.0);
        assert_eq!(found.warm_up, 16.0);
        assert!(found.relaxations < TWO_SIDED, "{found:?}");
    }

    #[test]
    fn an_idle_or_broken_pilot_leaves_the_length_that_was_asked_for_or_the_longest() {
        assert_eq!(length(0.0, 100.0, 8.0).relaxations, f64::INFINITY);
        assert_eq!(length(f64::NAN, 100.0, 8.0).seconds, 8.0);
        assert_eq!(length(1e300, 100.0, 8.0).seconds, 64.0);
        assert_eq!(length(1.0, 0.0, 8.0).seconds, 64.0);
    }
}
