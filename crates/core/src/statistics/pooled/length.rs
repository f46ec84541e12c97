/// Relaxation times that a run lasts where time allows.
pub const RELAXATIONS: f64 = 60.0;

/// Fewest relaxation times of an interval with two ends: below, a run may well not have seen a single one of the queue's
/// long excursions, and then nothing in it says how much more there is.
pub const TWO_SIDED: f64 = 30.0;

/// Fewest relaxation times by the backlog of the runs themselves, where others say that they are long enough: a server whose
/// memory is several times longer than that of a queue has something else that lasts. So far below [`TWO_SIDED`] that it hardly ever
/// decides where the queue is one.
pub const OWN_MIN: f64 = 10.0;

/// How much longer than asked for a run may become.
pub const STRETCH_MAX: f64 = 8.0;

/// Share of a run that its warm-up lasts: 15 relaxation times of [`RELAXATIONS`].
const WARM_UP: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    pub seconds: f64,
    pub warm_up: f64,
    /// Relaxation times that the measured phase lasts, by that saturation.
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

/// Relaxation time in seconds at an arrival rate, from the saturation that runs at other rates saw, both per second.
/// Infinite where the rate is not below the saturation, or either is no number: such a queue never comes to rest.
///
/// For a server with several processors it is that of one processor as fast as all of them together, which forgets as fast
/// near the saturation.
pub fn relaxation_by(saturation: f64, rate: f64) -> f64 {
    let utilisation = rate / saturation;
    if saturation > 0.0 && utilisation < 1.0 {
        relaxation(utilisation / (1.0 - utilisation), rate)
    } else {
        f64::INFINITY
    }
}

/// Length of the runs of a cell at this arrival rate, from the saturation that runs at other rates saw, both per second:
/// [`RELAXATIONS`] relaxation times, at least `base` seconds and at most [`STRETCH_MAX`] times that.
///
/// The runs that are estimated from have no say in it: a run that decides by itself whether it was long enough
/// ends when its response happens to be low, which by simulation costs 5 of 95 points of coverage.
pub fn length(saturation: f64, rate: f64, base: f64) -> Length {
    let relaxation = relaxation_by(saturation, rate);
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
    fn runs_grow_towards_the_saturation_between_what_was_asked_for_and_eight_times_that() {
        let seconds = |load: f64| length(250.0 / load, 250.0, 8.0).seconds;
        assert_eq!((seconds(0.001), seconds(0.3), seconds(0.98)), (8.0, 8.0, 64.0));
        assert!((seconds(0.75) - 60.0 * relaxation(3.0, 250.0)).abs() < 1e-9);
        assert!(seconds(0.75) > 8.0 && seconds(0.75) < 64.0);
        let found = length(250.0 / 0.98, 250.0, 8.0);
        assert_eq!(found.warm_up, 16.0);
        assert!(found.relaxations < TWO_SIDED, "{found:?}");
    }

    #[test]
    fn a_rate_that_is_not_below_the_saturation_never_comes_to_rest() {
        for saturation in [100.0, 99.0, 0.0, -5.0, f64::NAN] {
            assert_eq!(relaxation_by(saturation, 100.0), f64::INFINITY, "{saturation}");
            let found = length(saturation, 100.0, 8.0);
            assert_eq!((found.seconds, found.relaxations), (64.0, 0.0), "{saturation}");
        }
        assert_eq!(relaxation_by(100.0, 0.0), f64::INFINITY);
    }
}
