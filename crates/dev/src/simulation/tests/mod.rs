//! What core says of queues whose truth is known.

mod bounds;
mod rates;
mod stability;

use super::Served;
use super::cell::Seconds;
use evenkeel_core::Nanos;
use evenkeel_core::stability::Second;

/// The seconds of a run after its warm-up.
fn seconds(served: impl Iterator<Item = Served>, warm_up: u64, measure: u64) -> Vec<Second> {
    let end = Nanos::from_secs(warm_up + measure);
    let mut seconds = Seconds::new(Nanos::from_secs(warm_up), Nanos::from_secs(measure));
    served.take_while(|one| one.arrival < end).for_each(|one| seconds.count(one));
    seconds.finish()
}
