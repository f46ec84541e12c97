//! Every host can read and write the file of slots: there is no service to run, and it may lie on the storage that is shared.
//!
//! A member writes its own block of 4 KiB and reads the whole file at once, past the caches of its host where the file
//! system lets it. A slot is claimed under a lock; where the file system has none, or one that other hosts do not see, the
//! member finds out by reading that its slot is somebody else's, and claims another. A block that is torn has a wrong
//! checksum and is passed over; the next read has it whole.

mod file;
mod make;

pub use super::carrier::SLOTS_MAX;
pub use make::{BLOCK, make};

use super::message::{Dropped, Message};
use super::{BusError, Carrier, Piece};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use file::SlotFile;
use std::path::Path;
use std::time::Duration;

/// Slots of a file that is made anew.
pub const SLOTS: usize = 64;
/// Own periods of silence after which a member's slot may be had by another one.
const DEAD_PERIODS: u64 = 10;
/// A block that cannot be read is somebody's for at least so long.
const UNREADABLE: Nanos = Nanos::from_secs(20);
/// From one look to the next while all slots are taken.
const LOOK: Duration = Duration::from_millis(50);

/// What a slot held when it was last looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// CRC-32 of the block.
    sum: u32,
    /// When it was first seen to hold that.
    since: Nanos,
    /// Whether it has changed since the file was opened.
    moved: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nobody's, or its member has left.
    #[default]
    Free,
    /// A member's with this period.
    Taken(Nanos),
}

/// The carrier over a file of slots.
#[derive(Debug)]
pub struct Slots {
    file: SlotFile,
    seen: Vec<Seen>,
    own: Option<usize>,
    /// The one that is written to the own slot.
    incarnation: u64,
    clock: Clock,
}

impl Slots {
    /// Opens a slot file, or makes one with as many slots where nothing stands. Of a block device [`make`] makes one.
    pub fn open(path: &Path, slots: usize) -> Result<Self, BusError> {
        Ok(Self::of(SlotFile::open(path, Some(slots))?))
    }

    fn of(file: SlotFile) -> Self {
        let seen = vec![Seen::default(); file.slots()];
        Self { file, seen, own: None, incarnation: 0, clock: Clock::start() }
    }

    /// All blocks that are not empty, after one read.
    fn look(&mut self) -> Result<Vec<Piece>, BusError> {
        let now = self.clock.now();
        let mut pieces = Vec::new();
        for (seen, block) in self.seen.iter_mut().zip(self.file.read()?) {
            let sum = crc32fast::hash(block);
            if sum != seen.sum || seen.since == Nanos::ZERO {
                let moved = seen.since != Nanos::ZERO;
                let since = now.max(Nanos(1));
                *seen = Seen { sum, since, moved, state: state(block) };
            }
            if block.iter().any(|byte| *byte != 0) {
                pieces.push(Piece { bytes: block.to_vec(), sender: None });
            }
        }
        Ok(pieces)
    }

    /// A slot to be had: one that has the name already, a free one, or one of a member that is dead.
    fn vacancy(&mut self, hello: &Message) -> Result<Option<usize>, BusError> {
        self.look()?;
        let now = self.clock.now();
        let is_named = |place: usize, seen: &Seen| {
            // One that moves under another incarnation is of somebody who lives.
            let is_ours = |message: &Message| message.incarnation == hello.incarnation || !seen.moved;
            let message = Message::decode(self.file.block(place));
            message.is_ok_and(|message| message.member == hello.member && is_ours(&message))
        };
        let named = self.seen.iter().enumerate().position(|(place, seen)| is_named(place, seen));
        let free = || self.seen.iter().position(|seen| seen.state == State::Free);
        let dead = || self.seen.iter().position(|seen| is_dead(seen, now));
        Ok(named.or_else(free).or_else(dead))
    }

    /// Takes a slot under the lock, if there is one.
    fn claim(&mut self, report: &[u8]) -> Result<bool, BusError> {
        let Ok(message) = Message::decode(report) else { return Ok(false) };
        let _held = self.file.lock()?;
        let Some(place) = self.vacancy(&message)? else { return Ok(false) };
        self.file.write(place, report)?;
        (self.own, self.incarnation) = (Some(place), message.incarnation);
        Ok(true)
    }

    /// Whether every slot is that of a member that has sent something since the file was opened.
    fn all_are_live(&self) -> bool {
        self.seen.iter().all(|seen| seen.moved && seen.state != State::Free)
    }

    /// Whether the file is still the one at its path (a new one is not made: it may be unmounted), and the own slot this member's.
    fn check(&mut self) -> Result<(), BusError> {
        if self.file.is_replaced() {
            *self = Self { clock: self.clock, ..Self::of(SlotFile::open(self.file.path(), None)?) };
        } else if let Some(place) = self.own
            && Message::decode(self.file.block(place))
                .is_ok_and(|message| message.incarnation != self.incarnation)
        {
            // What is torn or empty is written again with the next report; another member's slot is left to him.
            self.own = None;
        }
        Ok(())
    }
}

fn state(block: &[u8]) -> State {
    match Message::decode(block) {
        Ok(message) if message.leaves => State::Free,
        Ok(message) => State::Taken(message.period),
        Err(Dropped::Malformed) if block.iter().all(|byte| *byte == 0) => State::Free,
        Err(_) => State::Taken(Nanos::ZERO),
    }
}

fn is_dead(seen: &Seen, now: Nanos) -> bool {
    let silence = now - seen.since;
    match seen.state {
        State::Free => true,
        State::Taken(Nanos::ZERO) => silence > UNREADABLE,
        State::Taken(period) => silence > Nanos(DEAD_PERIODS.saturating_mul(period.0)),
    }
}

impl Carrier for Slots {
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError> {
        // It ends: each slot moves, or is dead one day.
        while !self.claim(hello)? {
            if self.all_are_live() {
                let path = self.file.path().to_owned();
                return Err(BusError::Full { path, slots: self.file.slots() });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn send(&mut self, report: &[u8]) -> Result<(), BusError> {
        if let Some(place) = self.own {
            return self.file.write(place, report);
        }
        if self.claim(report)? { Ok(()) } else { Err(BusError::Lost(self.file.path().to_owned())) }
    }

    fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
        let pieces = self.look()?;
        self.check()?;
        Ok(pieces)
    }

    fn keeps(&self) -> bool {
        true
    }

    fn note(&self) -> Option<String> {
        let what = "cannot be read past the cache of this host: use it for members on one host, or on a \
                    file system with coherent caches";
        (!self.file.is_direct()).then(|| format!("slot file {} {what}", self.file.path().display()))
    }
}

#[cfg(test)]
mod tests {
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
}
