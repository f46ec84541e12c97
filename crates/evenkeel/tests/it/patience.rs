//! Waiting for what must come, on a machine that may stand still for seconds.

use evenkeel_core::Nanos;
use std::time::Duration;

/// From one look to the next.
const NAP: Duration = Duration::from_millis(10);
/// A minute of naps.
const LOOKS: usize = 6_000;
/// Looks that take long themselves are so many at least, and then no more than ten minutes.
const LEAST: usize = 10;
/// The ten minutes of [`LEAST`].
const LONG: Nanos = Nanos::from_secs(600);

/// What is found in the end.
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = evenkeel_os::clock::Clock::start();
    for number in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        if number >= LEAST && clock.now() > LONG {
            break;
        }
        std::thread::sleep(NAP);
    }
    panic!("{what} did not come in its time");
}

/// Waits until it is so.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    found(what, || condition().then_some(()));
}
