//! How long a client may hold something and not move.
//!
//! Half a write and answers that nobody takes hold memory, a handshake that does not end holds a place. Each client is looked
//! at once a second, and what counts is the looks since it moved, not the time: a thread that stood still itself, for
//! however long, has looked once, and ends nobody whose bytes it has not read yet.

use evenkeel_core::Nanos;

/// From one look to the next.
pub(super) const LOOK: Nanos = Nanos::from_millis(1_000);
/// Bytes that count as having moved: one that comes now and then does not.
const STEP: u64 = 256 << 10;
/// Looks at a handshake, whatever comes of it meanwhile.
const HANDSHAKE: u32 = 10;
/// Looks at a payload or an answer that does not move.
const STILL: u32 = 30;
/// The same where others wait for memory.
const STILL_HUNGRY: u32 = 5;
/// Looks after which one that waits for memory, and holds none, counts.
const HUNGRY: u32 = 2;

/// Something under way: how many were whole before it, and how many bytes have moved.
pub(super) type Way = (u64, u64);

/// What a client owes, as it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owes {
    Nothing,
    /// The choice of a disk.
    Choice,
    /// The rest of a payload, or to take an answer, or both.
    Rest {
        payload: Option<Way>,
        answers: Option<Way>,
    },
}

/// Looks at something under way since it moved.
#[derive(Clone, Copy, Debug, Default)]
struct Still {
    looks: u32,
    seen: Option<Way>,
}

impl Still {
    fn look(&mut self, now: Option<Way>) -> u32 {
        let stands = |(whole, moved): Way, (before, bytes): Way| whole == before && moved - bytes < STEP;
        match (now, self.seen) {
            (Some(now), Some(seen)) if stands(now, seen) => self.looks += 1,
            _ => *self = Self { looks: 0, seen: now },
        }
        self.looks
    }
}

/// What was seen of a client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    choosing: u32,
    payload: Still,
    answers: Still,
    hunger: u32,
}

impl Watch {
    /// Looks whether it waits for memory and holds none, and says whether it has for long.
    pub fn hungers(&mut self, now: bool) -> bool {
        self.hunger = if now { self.hunger + 1 } else { 0 };
        self.hunger >= HUNGRY
    }

    /// Looks at it, and says whether it has had all the patience that there is. `hungry`: others wait for memory.
    pub fn is_over(&mut self, owes: Owes, hungry: bool) -> bool {
        let (payload, answers) = match owes {
            Owes::Choice => {
                self.choosing += 1;
                return self.choosing >= HANDSHAKE;
            }
            Owes::Nothing => (None, None),
            Owes::Rest { payload, answers } => (payload, answers),
        };
        let most = if hungry { STILL_HUNGRY } else { STILL };
        // Both are looked at: one that sends always anew does not take its answers for that.
        let looks = self.payload.look(payload).max(self.answers.look(answers));
        looks >= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(whole: u64, moved: u64) -> Owes {
        Owes::Rest { payload: Some((whole, moved)), answers: None }
    }

    /// Looks until it is over; so much moves from one to the next.
    fn looks(step: u64, hungry: bool) -> Option<u64> {
        let mut watch = Watch::default();
        (0..1_000).find(|look| watch.is_over(payload(0, look * step), hungry))
    }

    #[test]
    fn what_moves_goes_on_and_what_hardly_does_ends() {
        assert_eq!((looks(STEP, true), looks(STEP / 4, true), looks(STEP / 16, false)), (None, None, None));
        assert_eq!((looks(0, false), looks(1, false)), (Some(30), Some(30)));
        assert_eq!((looks(0, true), looks(1, true)), (Some(5), Some(5)), "others wait");
    }

    #[test]
    fn one_payload_after_the_other_is_moving_and_takes_no_answers_for_that() {
        let mut watch = Watch::default();
        assert!((0..1_000).all(|look| !watch.is_over(payload(look, 512), true)));
        let mut watch = Watch::default();
        let stuck = |look| Owes::Rest { payload: Some((look, 512)), answers: Some((7, 0)) };
        assert_eq!((0..1_000).find(|&look| watch.is_over(stuck(look), true)), Some(5));
    }

    #[test]
    fn a_handshake_ends_after_ten_looks_and_a_silent_client_that_owes_nothing_never() {
        let mut watch = Watch::default();
        assert_eq!((0..20).position(|_| watch.is_over(Owes::Choice, false)), Some(9));
        let mut watch = Watch::default();
        assert!((0..1_000).all(|_| !watch.is_over(Owes::Nothing, true)));
    }

    #[test]
    fn who_waits_for_memory_counts_when_it_does_so_twice_in_a_row() {
        let mut watch = Watch::default();
        let seen = [true, false, true, true, false].map(|waits| watch.hungers(waits));
        assert_eq!(seen, [false, false, false, true, false]);
    }
}
