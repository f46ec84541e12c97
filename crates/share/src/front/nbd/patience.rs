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
/// Where others wait, all that a client holds has to move within so many looks.
const TURNOVER: u64 = 30;

/// Progress of something under way: how many were whole before it, and how many of its bytes have moved.
pub(super) type Progress = (u64, u64);

/// What a client owes, as it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owes {
    Nothing,
    /// The choice of a disk.
    Choice,
    /// The rest of a payload, or to take an answer, or both.
    Rest {
        payload: Option<Progress>,
        answers: Option<Progress>,
    },
}

/// How often something under way was looked at since it last moved.
#[derive(Clone, Copy, Debug, Default)]
struct Still {
    looks: u32,
    seen: Option<Progress>,
}

impl Still {
    /// `step` is how many bytes count as having moved.
    fn look(&mut self, now: Option<Progress>, step: u64) -> u32 {
        let stands =
            |(whole, moved): Progress, (before, bytes): Progress| whole == before && moved - bytes < step;
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
}

impl Watch {
    /// Looks at it once more; whether it has not moved for too long. `hungry`: the bytes that it holds, where others wait for them.
    pub fn is_over(&mut self, owes: Owes, hungry: Option<usize>) -> bool {
        let (payload, answers) = match owes {
            Owes::Choice => {
                self.choosing += 1;
                return self.choosing >= HANDSHAKE;
            }
            Owes::Nothing => (None, None),
            Owes::Rest { payload, answers } => (payload, answers),
        };
        // Both are looked at: one that sends always anew does not take its answers for that.
        let most = if hungry.is_some() { STILL_HUNGRY } else { STILL };
        let step = STEP.max(hungry.unwrap_or(0) as u64 * u64::from(most) / TURNOVER);
        self.payload.look(payload, step).max(self.answers.look(answers, step)) >= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(whole: u64, moved: u64) -> Owes {
        Owes::Rest { payload: Some((whole, moved)), answers: None }
    }

    /// The look at which it is over.
    fn over(owes: impl Fn(u64) -> Owes) -> Option<u64> {
        over_where(None, owes)
    }

    fn over_where(hungry: Option<usize>, owes: impl Fn(u64) -> Owes) -> Option<u64> {
        let mut watch = Watch::default();
        (0..1_000).find(|&look| watch.is_over(owes(look), hungry))
    }

    #[test]
    fn what_moves_goes_on_and_what_hardly_does_ends() {
        let looks = |step| over(|look| payload(0, look * step));
        assert_eq!((looks(STEP), looks(STEP / 16)), (None, None));
        assert_eq!((looks(0), looks(1)), (Some(30), Some(30)));
        assert_eq!(over_where(Some(0), |_| payload(0, 0)), Some(5), "others wait for memory");
        let at = |rate: u64| over_where(Some(32 << 20), |look| payload(0, look * rate));
        assert_eq!((at(1 << 20), at(2 << 20)), (Some(5), None), "32 MiB have to move within half a minute");
        assert_eq!(over(|look| Owes::Rest { payload: None, answers: Some((7, look)) }), Some(30));
    }

    #[test]
    fn one_payload_after_the_other_is_moving_and_takes_no_answers_for_that() {
        assert_eq!(over(|look| payload(look, 512)), None);
        let stuck = |look| Owes::Rest { payload: Some((look, 512)), answers: Some((0, 0)) };
        assert_eq!(over(stuck), Some(30));
    }

    #[test]
    fn a_handshake_ends_after_ten_looks_and_a_silent_client_that_owes_nothing_never() {
        assert_eq!((over(|_| Owes::Choice), over(|_| Owes::Nothing)), (Some(9), None));
    }
}
