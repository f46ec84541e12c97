//! A sequential test that compares the throughput of two limits.
//!
//! There are `a` completions in `s` seconds at the limit in use, and `b` in `t` seconds at the one tried. With true rates `x`
//! and `y`, the question is the sign of `theta = ln(y / x) - shift`. Given `c = a + b`, `b` is binomial with
//! `p = y t / (x s + y t)` for Poisson counts, whatever the rates; under `theta = 0` `p0 = e^shift t / (s + e^shift t)`.
//! The signed root of the deviance (Wilks) stays useful where one count is 0, which a logarithm does not:
//!
//! `z^2 = 2 (a ln(a / (c (1 - p0))) + b ln(b / (c p0))) / phi`
//!
//! with `phi` the dispersion of the counts, which is 1 for Poisson counts and depends on the length of what is compared
//! (`dispersion`). The test is looked at every tick, so that its error must be bounded over all looks together: with a normal
//! prior of standard deviation `tau` on theta, mixing gives the boundary (Robbins, Ann. Math. Stat. 41 (1970) 1397; Johari et
//! al., KDD 2017)
//!
//! `z^2 >= (1 + v / tau^2) (2 ln(1 / alpha) + ln(1 + tau^2 / v))`, `v = phi (1 / (c p0) + 1 / (c (1 - p0)))`
//!
//! which under `theta = 0` is ever crossed with a probability of at most `alpha`.

use crate::statistics::normal_tail;

/// Prior standard deviation of theta: differences as large as this are usual between the limits of a probe.
const TAU: f64 = 0.5;

/// Completions at a limit and the time in which they were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub count: f64,
    pub work: f64,
    pub seconds: f64,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.work += other.work;
        self.seconds += other.seconds;
    }

    pub fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.work / self.seconds)
    }

    /// Shrinks counts and time alike so that no more than `most` completions remain.
    pub fn cap(&mut self, most: f64) {
        if self.count > most {
            let keep = most / self.count;
            *self = Self { count: most, work: self.work * keep, seconds: self.seconds * keep };
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    pub theta: f64,
    /// Logarithm of the throughput at the limit tried over that at the limit in use.
    pub gain: f64,
    pub se: f64,
    pub z: f64,
}

impl Test {
    /// Compares `tried` with `in_use`; `None` while there is nothing to compare.
    ///
    /// Work stands for counts: mean work per completion scales both rates, and the variance is that of the counts.
    pub fn of(in_use: &Tally, tried: &Tally, shift: f64, phi: f64) -> Option<Self> {
        let total = in_use.work + tried.work;
        let count = in_use.count + tried.count;
        if in_use.seconds <= 0.0 || tried.seconds <= 0.0 || total <= 0.0 || count <= 0.0 {
            return None;
        }
        let weight = count / total;
        let (a, b) = (in_use.work * weight, tried.work * weight);
        let lifted = shift.exp() * tried.seconds;
        let p0 = lifted / (in_use.seconds + lifted);
        let (expected_a, expected_b) = (count * (1.0 - p0), count * p0);
        let part = |seen: f64, expected: f64| if seen > 0.0 { seen * (seen / expected).ln() } else { 0.0 };
        let deviance = (2.0 * (part(a, expected_a) + part(b, expected_b)) / phi).max(0.0);
        let variance = phi * (1.0 / expected_a + 1.0 / expected_b);
        let gain = ((b + 0.5) / tried.seconds).ln() - ((a + 0.5) / in_use.seconds).ln();
        let theta = gain - shift;
        Some(Self {
            theta,
            gain,
            se: variance.sqrt(),
            z: deviance.sqrt() * if b >= expected_b { 1.0 } else { -1.0 },
        })
    }

    /// The test together with an earlier estimate of the gain, which counts half as much as its variance would have it.
    pub fn pooled(&self, gain: f64, variance: f64) -> Self {
        let (here, there) = (1.0 / self.se.powi(2), 0.5 / variance);
        let mean = (self.gain * here + gain * there) / (here + there);
        let theta = self.theta + mean - self.gain;
        let se = (1.0 / (here + there)).sqrt();
        Self { theta, gain: mean, se, z: theta / se }
    }

    /// Whether `tried` is better, with a probability of at most `alpha` of ever saying so of equals.
    pub fn clearly_better(&self, alpha: f64) -> bool {
        self.z > 0.0 && self.z * self.z >= boundary(self.se.powi(2), alpha)
    }

    /// Whether `tried` is worse, with the same bound on the error.
    pub fn clearly_worse(&self, alpha: f64) -> bool {
        self.z < 0.0 && self.z * self.z >= boundary(self.se.powi(2), alpha)
    }

    /// How sure the sign would be if this were the only look.
    pub fn sure(&self) -> f64 {
        1.0 - normal_tail(self.z.abs())
    }
}

/// The square of `z` from which on the sign is clear.
fn boundary(variance: f64, alpha: f64) -> f64 {
    let ratio = variance / (TAU * TAU);
    (1.0 + ratio) * (2.0 * (1.0 / alpha).ln() + (1.0 / ratio).ln_1p())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    fn tally(count: f64, seconds: f64) -> Tally {
        Tally { count, work: count, seconds }
    }

    #[test]
    fn the_deviance_of_two_counts_has_its_textbook_value() {
        // 60 and 40 in equal times: 2 (60 ln 1.2 + 40 ln 0.8) = 4.0271.
        let test = Test::of(&tally(60.0, 1.0), &tally(40.0, 1.0), 0.0, 1.0).unwrap();
        assert!((test.z + 4.027_1_f64.sqrt()).abs() < 1e-4, "{test:?}");
        assert!((test.gain - (40.5_f64 / 60.5).ln()).abs() < 1e-12);
        // Twice the dispersion, half the deviance.
        let spread = Test::of(&tally(60.0, 1.0), &tally(40.0, 1.0), 0.0, 2.0).unwrap();
        assert!((spread.z * spread.z - 4.027_1 / 2.0).abs() < 1e-4);
    }

    #[test]
    fn nothing_where_much_was_due_is_clearly_worse_after_few() {
        let test = Test::of(&tally(1_000.0, 1.0), &tally(0.0, 0.012), 0.0, 1.0).unwrap();
        assert!(test.clearly_worse(0.05), "{test:?}");
        assert!(!Test::of(&tally(1_000.0, 1.0), &tally(0.0, 0.004), 0.0, 1.0).unwrap().clearly_worse(0.05));
        assert_eq!(Test::of(&tally(0.0, 1.0), &tally(0.0, 1.0), 0.0, 1.0), None);
    }

    #[test]
    fn looking_at_every_tick_errs_no_more_often_than_it_says() {
        let mut wrong = 0;
        for seed in 0..2_000 {
            let mut random = Random::new(Seed(seed));
            let (mut in_use, mut tried) = (tally(0.0, 0.0), tally(0.0, 0.0));
            // Two equal Poisson processes, 10 a tick, 200 looks.
            let mut draw = || {
                let (mut left, mut count) = (1.0, 0.0);
                loop {
                    left -= random.exponential(0.1);
                    if left < 0.0 {
                        return count;
                    }
                    count += 1.0;
                }
            };
            wrong += u32::from((0..200).any(|_| {
                in_use.add(&tally(draw(), 0.05));
                tried.add(&tally(draw(), 0.05));
                let test = Test::of(&in_use, &tried, 0.0, 1.0);
                test.is_some_and(|test| test.clearly_better(0.05) || test.clearly_worse(0.05))
            }));
        }
        assert!(wrong <= 100, "{wrong} of 2000, at most 100 expected");
    }

    #[test]
    fn an_earlier_estimate_sharpens_and_does_not_decide_alone() {
        let test = Test::of(&tally(300.0, 1.0), &tally(330.0, 1.0), 0.0, 1.0).unwrap();
        let pooled = test.pooled(0.1, test.se.powi(2));
        assert!(pooled.se < test.se && pooled.z > test.z);
        assert!((pooled.se / test.se - (2.0_f64 / 3.0).sqrt()).abs() < 1e-9);
    }
}
