//! How late the machine wakes a thread that does nothing but sleep: what no generator that sleeps can beat.
//!
//! `sleeper RATE SECONDS` sleeps until evenly spaced instants and prints one JSON object.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]

use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use std::error::Error;
use std::thread::sleep;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rate: f64 = arguments.next().ok_or("which rate?")?.parse()?;
    let seconds: f64 = arguments.next().ok_or("how many seconds?")?.parse()?;
    // SAFETY: a system call without pointers. Without it the kernel may wake 50 us late to save power.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    let mut late = hdrhistogram::Histogram::<u64>::new(3)?;
    let start = monotonic();
    for number in 1..=(rate * seconds) as u64 {
        let due = start + Nanos::from_secs_f64(number as f64 / rate);
        let now = monotonic();
        if now < due {
            sleep((due - now).into());
        }
        // A long sleep makes every instant late that fell into it, as it would every arrival.
        late.record((monotonic() - due).0)?;
    }
    let micros = |share| late.value_at_quantile(share) as f64 / 1e3;
    println!(r#"{{"p50_us": {}, "p99_us": {}, "p999_us": {}}}"#, micros(0.5), micros(0.99), micros(0.999));
    Ok(())
}
