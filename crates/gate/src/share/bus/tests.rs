//! Members on one slot file, and two of one name.

use super::message::tests::told;
use super::slot::Slots;
use super::*;
use evenkeel_core::share::DiskUse;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PERIOD: Nanos = Nanos::from_millis(100);

pub(super) fn join(path: &Path, name: &str, clock: Clock) -> Result<Bus, BusError> {
    Bus::open(Box::new(Slots::open(path, 4)?), name, PERIOD, clock)
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slots");
    (dir, path)
}

fn report(shares: f64) -> Report {
    Report { disks: vec![DiskUse { shares, wanted: 8.0 }], outstanding: 4.0, ..Report::default() }
}

fn names(bus: &Bus, now: Nanos) -> Vec<String> {
    bus.live(now).into_iter().map(|heard| heard.told.member).collect()
}

#[test]
fn members_hear_each_other_and_themselves() {
    let (_dir, path) = file();
    let clock = Clock::start();
    let mut buses = ["a", "b", "c"].map(|name| join(&path, name, clock).unwrap());
    for (place, bus) in buses.iter_mut().enumerate() {
        bus.tell(5.0, &report(1.0 + place as f64), clock.now()).unwrap();
    }
    for bus in &mut buses {
        bus.hear(clock.now()).unwrap();
        let live = bus.live(clock.now());
        let heard: Vec<_> = live
            .iter()
            .map(|heard| (heard.told.member.as_str(), heard.told.report.disks[0].shares))
            .collect();
        assert_eq!(heard, [("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        assert_eq!(live.iter().filter(|heard| bus.is_own(&heard.told)).count(), 1);
    }
}

#[test]
fn who_leaves_is_gone_at_once_and_may_come_back_at_once() {
    let (_dir, path) = file();
    let clock = Clock::start();
    let mut stays = join(&path, "stays", clock).unwrap();
    let mut goes = join(&path, "goes", clock).unwrap();
    goes.tell(1.0, &report(1.0), clock.now()).unwrap();
    stays.tell(1.0, &report(1.0), clock.now()).unwrap();
    stays.hear(clock.now()).unwrap();
    assert_eq!(names(&stays, clock.now()), ["goes", "stays"]);
    drop(goes);
    // The thread of the one that goes writes its last report after it has gone.
    while names(&stays, clock.now()) != ["stays"] {
        stays.tell(1.0, &report(1.0), clock.now()).unwrap();
        stays.hear(clock.now()).unwrap();
    }
    assert!(join(&path, "goes", clock).is_ok());
}

#[test]
fn a_name_that_is_live_cannot_be_had_twice() {
    let (_dir, path) = file();
    let clock = Clock::start();
    let mut first = join(&path, "a", clock).unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| join(&path, "a", clock).map(drop));
        while !second.is_finished() {
            first.tell(1.0, &report(1.0), clock.now()).unwrap();
        }
        assert!(matches!(second.join().unwrap(), Err(BusError::Twin(name)) if name == "a"));
    });
    first.hear(clock.now()).unwrap();
    assert!(!first.has_twin(clock.now()), "the second never told anything");
}

#[test]
fn what_a_dead_member_left_neither_counts_nor_keeps_its_name() {
    let (_dir, path) = file();
    let clock = Clock::start();
    let dead = Told { period: PERIOD, ..told("a", 1, 500, 1) }.encode();
    Slots::open(&path, 4).unwrap().join(&dead).unwrap();
    let mut other = join(&path, "b", clock).unwrap();
    other.tell(1.0, &report(1.0), clock.now()).unwrap();
    other.hear(clock.now()).unwrap();
    assert_eq!(names(&other, clock.now()), ["b"]);
    assert!(join(&path, "a", clock).is_ok());
}

#[test]
fn of_two_of_one_name_that_meet_later_the_younger_falls_silent() {
    let (_dir, path) = file();
    let clock = Clock::start();
    let mut bus = join(&path, "a", clock).unwrap();
    bus.tell(1.0, &report(1.0), clock.now()).unwrap();
    // It was cut off when the name was taken, and comes back to a slot of its own.
    let twin = Told { period: PERIOD, ..told("a", 1, 1_000, 1) }.encode();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&twin, 3 * 4_096).unwrap();
    bus.hear(clock.now()).unwrap();
    assert!(bus.has_twin(clock.now()));
    assert!(matches!(bus.tell(1.0, &report(1.0), clock.now()), Err(BusError::Twin(_))));
    let later = clock.now() + Nanos::from_secs(60);
    assert!(bus.tell(1.0, &report(1.0), later).is_ok(), "the elder has died");
}

#[test]
fn names_that_would_not_be_carried_are_refused() {
    let (_dir, path) = file();
    for name in ["", "a b", "a*", &"x".repeat(65)] {
        assert!(matches!(join(&path, name, Clock::start()), Err(BusError::Name(_))), "{name}");
    }
}
