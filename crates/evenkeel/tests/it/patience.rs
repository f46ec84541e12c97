//! Waiting for what must come, on a machine that may stand still for seconds.

use std::time::Duration;

/// From one look to the next.
const NAP: Duration = Duration::from_millis(10);
/// A minute of naps, however long each look takes.
const LOOKS: usize = 6_000;

/// What is found in the end.
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(NAP);
    }
    panic!("{what} did not come within a minute");
}

/// Waits until it is so.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    found(what, || condition().then_some(()));
}
