//! How long calls last: log-logistic with a median of 60 s and a shape of 1.6, at most 4 h, as the calls of most callers.

use evenkeel_core::random::Random;

const LONGEST_S: f64 = 14_400.0;
const MEDIAN_S: f64 = 60.0;
const SHAPE: f64 = 1.6;

pub(super) fn draw(random: &mut Random) -> u64 {
    // The inverse of F(x) = 1 / (1 + (x/a)^-b), up to where F reaches the longest call.
    let most = 1.0 / (1.0 + (LONGEST_S / MEDIAN_S).powf(-SHAPE));
    let share = random.unit() * most;
    (MEDIAN_S * (share / (1.0 - share)).powf(1.0 / SHAPE)).max(1.0) as u64
}
