//! What the operator of a history chose.

use super::slot::SLOTS;
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_guard::admission::Options;
use evenkeel_os::address::Address;
use std::path::PathBuf;

/// What the operator of this history chose: bounds of everything, some of them tight. Where most clients take locks, few of
/// them may pass the queue for it.
pub(super) fn options(lockers: bool, random: &mut Random) -> Options {
    let most = SLOTS as u64;
    let tight = if lockers { 0.5 } else { 0.15 };
    let mut some =
        |chance: f64, low: u64, high: u64| random.chance(chance).then(|| random.uniform(low, high));
    Options {
        queue_max: some(0.4, 0, 1).map(|most| 3 * most as usize),
        wait_max: some(0.3, 50, 500).map(Nanos::from_millis),
        close_after: some(0.3, 200, 900).map(Nanos::from_millis),
        named_max: some(tight, 0, 2).unwrap_or(most) as usize,
        // Only that bound counts here: it is known to whoever judges a wait.
        named_min: SLOTS,
        lent_max: some(0.3, 0, 2).unwrap_or(most) as usize,
        ..Options::default()
    }
}

/// A server of the same system, where socket accounts would be open to everybody, or one far away.
pub(super) fn backend(random: &mut Random) -> Address {
    match random.chance(0.8) {
        true => Address::Unix(PathBuf::from("/model")),
        false => Address::Tcp { host: "model".to_owned(), port: 3306 },
    }
}
