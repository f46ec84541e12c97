//! Numbers as people read them: the one place that decides on digits, units and words.

mod digits;
mod estimates;

pub use digits::{
    ABSENT, BESIDE_DIGITS, beside, bytes, count, counted, date, fixed, instant, listed, percent, plain,
    plus_minus, rate, seconds, short, significant, stamp, steers,
};
pub use estimates::{
    TimeUnit, estimate, estimate_beside, estimate_percent, estimate_rate, estimate_time, mean, ratio, time,
};
