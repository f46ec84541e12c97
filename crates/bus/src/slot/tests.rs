//! These tests are of the file itself: what is taken for a slot file, who gets which slot, and what becomes of a torn block.

use super::super::message::tests::message;
use super::*;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A slot may be had after ten of these: no machine stands still for as long.
const PERIOD: Nanos = Nanos::from_secs(60);

fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slots");
    (dir, path)
}

fn report(name: &str, incarnation: u64, sequence: u64) -> Vec<u8> {
    Message { period: PERIOD, ..message(name, incarnation, sequence, 2) }.encode()
}

fn heard(slots: &mut Slots) -> Vec<Result<String, Dropped>> {
    let pieces = slots.hear(Duration::ZERO).unwrap();
    pieces.iter().map(|piece| Message::decode(&piece.bytes).map(|message| message.member)).collect()
}

fn write(path: &Path, slot: usize, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, ((slot + 1) * BLOCK) as u64).unwrap();
}

#[test]
fn members_find_slots_of_their_own_and_the_size_that_the_file_was_made_with() {
    let (_dir, path) = file();
    let mut all: Vec<Slots> = (0..3)
        .map(|number| {
            let mut slots = Slots::open(&path, 3 + number).unwrap();
            slots.join(&report(&format!("m{number}"), 1, 1)).unwrap();
            slots
        })
        .collect();
    assert_eq!(all.iter().map(|slots| slots.own).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_eq!(heard(&mut all[0]).len(), 3);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 * BLOCK as u64);
}

#[test]
fn claims_at_one_instant_get_different_slots() {
    let (_dir, path) = file();
    let claim = |number: usize| {
        let mut slots = Slots::open(&path, 16).unwrap();
        slots.join(&report(&format!("m{number}"), 1, 1)).unwrap();
        slots.own.unwrap()
    };
    let mut places = std::thread::scope(|scope| {
        let claim = &claim;
        let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || claim(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    places.sort_unstable();
    assert_eq!(places, (0..16).collect::<Vec<_>>());
}

#[test]
fn a_block_that_is_torn_is_passed_over_and_whole_at_the_next_report() {
    let (_dir, path) = file();
    let (mut writer, mut reader) = (Slots::open(&path, 2).unwrap(), Slots::open(&path, 2).unwrap());
    writer.join(&report("a", 1, 1)).unwrap();
    let mut torn = report("a", 1, 2);
    torn[100] ^= 0xff;
    write(&path, 0, &torn);
    assert_eq!(heard(&mut reader), [Err(Dropped::Checksum)]);
    heard(&mut writer);
    writer.send(&report("a", 1, 3)).unwrap();
    assert_eq!(heard(&mut reader), [Ok("a".to_owned())]);
}

#[test]
fn a_full_file_is_told_where_all_its_members_live() {
    let (_dir, path) = file();
    let mut holds = Slots::open(&path, 1).unwrap();
    holds.join(&report("a", 1, 1)).unwrap();
    let mut late = Slots::open(&path, 1).unwrap();
    std::thread::scope(|scope| {
        let joins = scope.spawn(move || late.join(&report("b", 1, 1)));
        let mut sequence = 2;
        while !joins.is_finished() {
            holds.send(&report("a", 1, sequence)).unwrap();
            sequence += 1;
        }
        let error = joins.join().unwrap().unwrap_err();
        assert!(matches!(error, BusError::Full { slots: 1, .. }), "{error}");
    });
}

#[test]
fn the_slot_of_a_dead_member_is_had_by_the_next_one() {
    let (_dir, path) = file();
    let dead = Message { period: Nanos::from_millis(20), ..message("dead", 1, 900, 2) }.encode();
    Slots::open(&path, 1).unwrap().join(&dead).unwrap();
    let mut next = Slots::open(&path, 1).unwrap();
    next.join(&report("b", 1, 1)).unwrap();
    assert_eq!(heard(&mut next), [Ok("b".to_owned())]);
}

#[test]
fn a_slot_that_somebody_else_took_is_left_to_him() {
    let (_dir, path) = file();
    let mut slots = Slots::open(&path, 2).unwrap();
    slots.join(&report("a", 1, 1)).unwrap();
    write(&path, 0, &report("b", 9, 1));
    heard(&mut slots);
    slots.send(&report("a", 1, 2)).unwrap();
    assert_eq!(slots.own, Some(1));
    assert_eq!(heard(&mut slots), [Ok("b".to_owned()), Ok("a".to_owned())]);
    write(&path, 1, &report("c", 9, 1));
    heard(&mut slots);
    assert!(matches!(slots.send(&report("a", 1, 3)), Err(BusError::Lost(_))));
}

#[test]
fn what_is_no_slot_file_is_left_as_it_is() {
    let (dir, path) = file();
    for text in [String::new(), "short".to_owned(), "x".repeat(3 * BLOCK)] {
        std::fs::write(&path, &text).unwrap();
        assert!(matches!(Slots::open(&path, 4), Err(BusError::NotSlots { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    assert!(matches!(Slots::open(dir.path(), 4), Err(BusError::NotSlots { .. })));
    assert!(matches!(Slots::open(&dir.path().join("no/where"), 4), Err(BusError::File { .. })));
}

#[test]
fn a_file_that_was_put_in_place_of_the_first_is_gone_over_to() {
    let (_dir, path) = file();
    let mut slots = Slots::open(&path, 2).unwrap();
    slots.join(&report("a", 1, 1)).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(slots.hear(Duration::ZERO), Err(BusError::File { .. })));
    assert!(!path.exists(), "what is missing may be unmounted");
    let mut other = Slots::open(&path, 2).unwrap();
    heard(&mut slots);
    slots.send(&report("a", 1, 2)).unwrap();
    assert_eq!(heard(&mut other), [Ok("a".to_owned())]);
}

#[test]
fn an_empty_file_in_place_of_the_first_is_no_slot_file() {
    let (dir, path) = file();
    let mut slots = Slots::open(&path, 2).unwrap();
    slots.join(&report("a", 1, 1)).unwrap();
    let empty = dir.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    std::fs::rename(&empty, &path).unwrap();
    assert!(matches!(slots.hear(Duration::ZERO), Err(BusError::NotSlots { .. })));
    assert_eq!(
        std::fs::metadata(&path).unwrap().len(),
        0,
        "one with a single slot would silence all but one"
    );
}

#[test]
fn no_file_is_made_with_fewer_slots_than_asked_for() {
    let (_dir, path) = file();
    for slots in [0, SLOTS_MAX + 1, 4_096] {
        assert!(matches!(Slots::open(&path, slots), Err(BusError::Slots(_))), "{slots}");
        assert!(!path.exists());
    }
    assert_eq!(Slots::open(&path, SLOTS_MAX).unwrap().file.slots(), SLOTS_MAX);
}

#[test]
fn a_file_system_in_memory_carries_too() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = dir.path().join("slots");
    let (mut a, mut b) = (Slots::open(&path, 2).unwrap(), Slots::open(&path, 2).unwrap());
    a.join(&report("a", 1, 1)).unwrap();
    b.join(&report("b", 1, 1)).unwrap();
    assert_eq!(heard(&mut a), [Ok("a".to_owned()), Ok("b".to_owned())]);
    assert_eq!(a.note().is_some(), !a.file.is_direct());
}
