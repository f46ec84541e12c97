//! How long a client may hold something and not move.
//!
//! Half a write and answers that nobody takes hold memory, a handshake that does not end holds a place. Each client is looked
//! at once a second, and what counts is the looks since it moved, not the time: a thread that stood still itself, for
//! however long, has looked once, and ends nobody whose bytes it has not read yet.
//!
//! To move is not enough where others wait for memory: a write of 32 MiB that is fed a little at each look, or as many bytes
//! of answers that are taken so, would keep them waiting for minutes. There they also have to come, or to go, at a least
//! rate: a write in the mean since its head, answers in the mean since the oldest of them was first seen waiting. Who has
//! little outstanding may be slow.

use evenkeel_core::Nanos;

/// From one look to the next.
pub(super) const LOOK: Nanos = Nanos::from_millis(1_000);
/// Bytes that count as having moved: one that comes now and then does not.
const STEP: u64 = 256 << 10;
/// Looks at a handshake, whatever comes of it meanwhile.
const HANDSHAKE: u32 = 10;
/// Looks at a payload or an answer that does not move.
const STILL: u32 = 30;
const STILL_HUNGRY: u32 = 5;
/// Bytes of a payload, or of answers, for each look after the first ones, where others wait for memory. A write of 1 MiB, as
/// disks mostly send them, may take six seconds, so that a line of 2 Mbit/s suffices for it; the largest there is, of 32 MiB,
/// takes at most 37. So for all answers that wait at once.
const LEAST: u64 = 1 << 20;
/// Looks after which one that waits for memory, and holds none, counts.
const HUNGRY: u32 = 2;

/// Progress of something under way: how many were whole before it, and how many of its bytes have moved.
pub(super) type Progress = (u64, u64);

/// Answers that are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backlog {
    /// How often none was left.
    pub emptied: u64,
    /// Those that were ever taken whole, and those that there ever were.
    pub taken: u64,
    pub queued: u64,
    /// Bytes that were ever taken.
    pub moved: u64,
    /// They hold memory.
    pub holding: bool,
}

/// What a client owes, as it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owes {
    Nothing,
    /// The choice of a disk.
    Choice,
    /// The rest of a payload, or to take an answer, or both. `filling`: the payload holds memory, as one that is skipped
    /// does not.
    Rest {
        payload: Option<Progress>,
        filling: bool,
        answers: Option<Backlog>,
    },
}

/// How often something under way was looked at since it last moved.
#[derive(Clone, Copy, Debug, Default)]
struct Still {
    looks: u32,
    seen: Option<Progress>,
}

impl Still {
    fn look(&mut self, now: Option<Progress>) -> u32 {
        let stands =
            |(whole, moved): Progress, (before, bytes): Progress| whole == before && moved - bytes < STEP;
        match (now, self.seen) {
            (Some(now), Some(seen)) if stands(now, seen) => self.looks += 1,
            _ => *self = Self { looks: 0, seen: now },
        }
        self.looks
    }
}

/// What holds memory until so many are whole.
#[derive(Clone, Copy, Debug)]
struct Load {
    whole: u64,
    until: u64,
    moved: u64,
    begun: u64,
}

impl Load {
    fn payload((whole, moved): Progress) -> Self {
        Self { whole, until: whole + 1, moved, begun: 0 }
    }

    fn answers(backlog: Backlog) -> Self {
        let Backlog { taken, queued, moved, .. } = backlog;
        Self { whole: taken, until: queued, moved, begun: moved }
    }
}

/// Looks at one load, whether it moves or not.
#[derive(Clone, Copy, Debug, Default)]
struct Age {
    looks: u32,
    load: Option<Load>,
}

impl Age {
    /// Whether less of it is there than should be by now. What came before others waited counts too: one that has been
    /// slow for long has had its first looks already.
    fn is_late(&mut self, now: Option<Load>) -> bool {
        let Some(now) = now else {
            *self = Self::default();
            return false;
        };
        let load = match self.load {
            Some(load) if now.whole < load.until => {
                self.looks += 1;
                load
            }
            _ => {
                *self = Self { looks: 0, load: Some(now) };
                now
            }
        };
        now.moved - load.begun < LEAST * u64::from(self.looks.saturating_sub(STILL_HUNGRY))
    }
}

/// What was seen of a client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    choosing: u32,
    payload: Still,
    answers: Still,
    filling: Age,
    draining: Age,
    hunger: u32,
}

impl Watch {
    /// Looks whether it waits for memory and holds none, and says whether it has for long.
    pub fn hungers(&mut self, now: bool) -> bool {
        self.hunger = if now { self.hunger + 1 } else { 0 };
        self.hunger >= HUNGRY
    }

    pub fn is_over(&mut self, owes: Owes, hungry: bool) -> bool {
        let (payload, filling, answers) = match owes {
            Owes::Choice => {
                self.choosing += 1;
                return self.choosing >= HANDSHAKE;
            }
            Owes::Nothing => (None, false, None),
            Owes::Rest { payload, filling, answers } => (payload, filling, answers),
        };
        // Both are looked at: one that sends always anew does not take its answers for that.
        let filled = self.filling.is_late(payload.filter(|_| filling).map(Load::payload));
        let drained = self.draining.is_late(answers.filter(|backlog| backlog.holding).map(Load::answers));
        let most = if hungry { STILL_HUNGRY } else { STILL };
        let answers = answers.map(|backlog| (backlog.emptied, backlog.moved));
        let looks = self.payload.look(payload).max(self.answers.look(answers));
        looks >= most || hungry && (filled || drained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(whole: u64, moved: u64) -> Owes {
        Owes::Rest { payload: Some((whole, moved)), filling: true, answers: None }
    }

    fn backlog(moved: u64, taken: u64, queued: u64) -> Backlog {
        Backlog { emptied: 7, taken, queued, moved, holding: true }
    }

    /// Looks until answers of a size are over, always as many outstanding; so much of them is taken from one look to the next.
    fn looks_at_answers(step: u64, size: u64, outstanding: u64, hungry: bool) -> Option<u64> {
        let mut watch = Watch::default();
        let owes = |moved: u64| Owes::Rest {
            payload: None,
            filling: false,
            answers: Some(backlog(moved, moved / size, moved / size + outstanding)),
        };
        (0..1_000).find(|look| watch.is_over(owes(look * step), hungry))
    }

    /// Looks until it is over; so much moves from one to the next.
    fn looks(step: u64, hungry: bool) -> Option<u64> {
        let mut watch = Watch::default();
        (0..1_000).find(|look| watch.is_over(payload(0, look * step), hungry))
    }

    #[test]
    fn what_moves_goes_on_and_what_hardly_does_ends() {
        assert_eq!((looks(LEAST, true), looks(STEP / 16, false)), (None, None));
        assert_eq!((looks(0, false), looks(1, false)), (Some(30), Some(30)));
        assert_eq!((looks(0, true), looks(1, true)), (Some(5), Some(5)), "others wait");
    }

    #[test]
    fn a_payload_that_trickles_ends_where_others_wait_and_goes_on_where_nobody_does() {
        assert_eq!(
            (looks(100_000, true), looks(STEP, true), looks(LEAST / 2, true)),
            (Some(6), Some(7), Some(11))
        );
        assert_eq!((looks(100_000, false), looks(STEP, false)), (None, None), "a slow line");
    }

    #[test]
    fn a_payload_that_was_slow_before_others_waited_ends_when_they_do() {
        let mut watch = Watch::default();
        let is_over = |look: u64, watch: &mut Watch| watch.is_over(payload(0, look * STEP), look >= 40);
        assert_eq!((0..100).find(|&look| is_over(look, &mut watch)), Some(40));
        // As many bytes at once are not late for as many looks as they stand for.
        let mut watch = Watch::default();
        let ahead = |look| payload(0, (16 << 20) + look * STEP);
        assert_eq!((0..100).find(|&look| watch.is_over(ahead(look), true)), Some(29));
    }

    #[test]
    fn answers_that_trickle_end_where_others_wait_and_go_on_where_nobody_does() {
        let (slow, large, small) = (200_000, 1 << 20, 128 << 10);
        assert_eq!(looks_at_answers(slow, large, 31, true), Some(7));
        assert_eq!(looks_at_answers(slow, small, 248, true), Some(7), "many small ones hold as much");
        assert_eq!(looks_at_answers(slow, large, 31, false), None, "a slow line");
    }

    #[test]
    fn one_that_takes_answers_slowly_and_has_few_outstanding_goes_on() {
        assert_eq!(looks_at_answers(200_000, 128 << 10, 8, true), None);
        assert_eq!(looks_at_answers(LEAST, 1 << 20, 32, true), None, "and who is fast may have many");
    }

    #[test]
    fn what_is_skipped_holds_no_memory_and_may_trickle_on() {
        let mut watch = Watch::default();
        let skipped = |look| Owes::Rest { payload: Some((0, look * STEP)), filling: false, answers: None };
        assert!((0..1_000).all(|look| !watch.is_over(skipped(look), true)));
    }

    #[test]
    fn one_payload_after_the_other_is_moving_and_takes_no_answers_for_that() {
        let mut watch = Watch::default();
        assert!((0..1_000).all(|look| !watch.is_over(payload(look, 512), true)));
        let mut watch = Watch::default();
        let stuck =
            |look| Owes::Rest { payload: Some((look, 512)), filling: true, answers: Some(backlog(0, 0, 1)) };
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
