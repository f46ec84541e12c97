//! Hosts report to each other, period by period, and there is no host above them.
//!
//! A [`Bus`] sends this member's reports and knows the latest of every other member, with its age by this host's clock: a
//! [`Message`] has a sequence number and no instant. A [`Carrier`] takes it to the others: a file of slots ([`slot`]), which
//! may lie on the storage itself, or NATS ([`nats`]). Neither waits longer than a bound, and a failure is a value.
//!
//! A member is a name, and each start of it is an incarnation. Before its first report a member listens: where its name is
//! live already it does not start. Should two of one name meet later, the younger one falls silent.
#![forbid(unsafe_code)]

mod carrier;
mod member;
pub mod message;
pub mod nats;
mod roster;
pub mod slot;

pub use carrier::{Alone, BusError, Carrier, Piece};
pub use member::Bus;
#[cfg(any(test, feature = "fixture"))]
pub use member::patient;
pub use message::{Dropped, Message};
pub use roster::{Heard, Identity, SILENT_PERIODS};

#[cfg(test)]
mod tests {
    use super::message::tests::message;
    use super::slot::Slots;
    use super::*;
    use evenkeel_core::Nanos;
    use evenkeel_core::share::{DiskUse, Report};
    use evenkeel_os::clock::Clock;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};

    const PERIOD: Nanos = Nanos::from_millis(100);
    /// The one instant at which all members of a test send and hear.
    const NOW: Nanos = Nanos::from_secs(1_000_000);

    /// Only who listens for the living does so by a real clock.
    fn join(path: &Path, name: &str) -> Result<Bus, BusError> {
        join_with(path, name, PERIOD)
    }

    fn join_with(path: &Path, name: &str, period: Nanos) -> Result<Bus, BusError> {
        Bus::open_with(Box::new(Slots::open(path, 4)?), name, (period, patient), Clock::start())
    }

    fn file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slots");
        (dir, path)
    }

    fn report(shares: f64) -> Report {
        Report { disks: vec![DiskUse { shares, wanted: 8.0 }], outstanding: 4.0, ..Report::default() }
    }

    #[test]
    fn members_hear_each_other_and_themselves() {
        let (_dir, path) = file();
        let mut buses = ["a", "b", "c"].map(|name| join(&path, name).unwrap());
        for (place, bus) in buses.iter_mut().enumerate() {
            bus.send(5.0, &report(1.0 + place as f64), NOW).unwrap();
        }
        for bus in &mut buses {
            bus.hear(NOW).unwrap();
            let live = bus.live(NOW);
            let heard: Vec<_> = live
                .iter()
                .map(|heard| (heard.message.member.as_str(), heard.message.report.disks[0].shares))
                .collect();
            assert_eq!(heard, [("a", 1.0), ("b", 2.0), ("c", 3.0)]);
            assert_eq!(live.iter().filter(|heard| bus.is_own(&heard.message)).count(), 1);
        }
    }

    #[test]
    fn a_name_that_is_live_cannot_be_had_twice() {
        let (_dir, path) = file();
        let mut first = join(&path, "a").unwrap();
        std::thread::scope(|scope| {
            // It listens for two of its periods, which is longer than the first may stand still.
            let second = scope.spawn(|| join_with(&path, "a", Nanos::from_secs(60)).map(drop));
            while !second.is_finished() {
                first.send(1.0, &report(1.0), NOW).unwrap();
            }
            assert!(matches!(second.join().unwrap(), Err(BusError::Twin(name)) if name == "a"));
        });
        first.hear(NOW).unwrap();
        assert!(!first.has_twin(NOW), "the second never told anything");
    }

    #[test]
    fn of_two_of_one_name_that_meet_later_the_younger_falls_silent() {
        let (_dir, path) = file();
        let mut bus = join(&path, "a").unwrap();
        bus.send(1.0, &report(1.0), NOW).unwrap();
        // It was cut off when the name was taken, and comes back to a slot of its own.
        let twin = Message { period: PERIOD, ..message("a", 1, 1_000, 1) }.encode();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&twin, 3 * 4_096).unwrap();
        bus.hear(NOW).unwrap();
        assert!(bus.has_twin(NOW));
        assert!(matches!(bus.send(1.0, &report(1.0), NOW), Err(BusError::Twin(_))));
        let later = NOW + Nanos::from_secs(60);
        assert!(bus.send(1.0, &report(1.0), later).is_ok(), "the elder has died");
    }

    #[test]
    fn names_that_would_not_be_carried_are_refused() {
        let (_dir, path) = file();
        for name in ["", "a b", "a*", &"x".repeat(65)] {
            assert!(matches!(join(&path, name), Err(BusError::Name(_))), "{name}");
        }
    }
}
