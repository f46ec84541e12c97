//! Numbers as people read them: the one place that decides on digits, units and words.

mod digits;
mod estimates;
mod times;
mod words;

pub use digits::{ABSENT, BESIDE_DIGITS, beside, fixed, plus_minus, short, significant};
pub use estimates::{estimate, estimate_beside, estimate_percent, estimate_rate, estimate_time, mean, ratio};
pub use times::{TimeUnit, time};
pub use words::{bytes, count, counted, date, instant, listed, percent, plain, rate, seconds, stamp, steers};
