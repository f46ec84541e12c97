//! Numbers as people read them: the one place that decides on digits, units and words.

mod digits;
mod estimates;
mod words;

pub use digits::{ABSENT, BESIDE_DIGITS, beside, fixed, plus_minus, short, significant};
pub use estimates::{
    TimeUnit, estimate, estimate_beside, estimate_percent, estimate_rate, estimate_time, mean, ratio, time,
};
pub use words::{bytes, count, counted, date, instant, listed, percent, plain, rate, seconds, stamp, steers};
