//! How long statements of a kind usually take, so that one that takes far longer is known while it runs.
//!
//! A kind is the digest of a statement: the same text but for its literals. What is kept of it is the longest
//! time that one took lately. The maximum and not the mean, because a statement that lends its permit while it
//! works is one more at the server: only one that takes longer than its kind ever does may count as stuck.

use crate::numbers::NumberMap;
use evenkeel_core::Nanos;

/// Kinds that are remembered.
const KINDS_MAX: usize = 4_096;
/// A maximum that is not reached again halves in about 180 statements of its kind.
const FADE: f64 = 1.0 - 1.0 / 256.0;
/// A statement has outstayed its kind at this many times the longest of it.
const PATIENCE: f64 = 2.0;
/// Below this, a stall of the machine would pass for a long statement.
const PATIENCE_MIN: Nanos = Nanos::from_millis(100);
/// Whatever is known, and where nothing is: so long a permit stays with a statement that does not end.
pub const PATIENCE_MAX: Nanos = Nanos::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Kind {
    longest_s: f64,
    epoch: u32,
}

/// The kinds that one thread saw lately.
#[derive(Debug, Default)]
pub struct Kinds {
    known: NumberMap<u64, Kind>,
    epoch: u32,
}

impl Kinds {
    /// A statement of this kind (0: not known) has ended after this time at the server.
    pub fn took(&mut self, digest: u64, time: Nanos) {
        if digest == 0 {
            return;
        }
        let (seconds, epoch) = (time.as_secs_f64(), self.epoch);
        if let Some(kind) = self.known.get_mut(&digest) {
            *kind = Kind { longest_s: (kind.longest_s * FADE).max(seconds), epoch };
        } else if self.make_room() {
            self.known.insert(digest, Kind { longest_s: seconds, epoch: self.epoch });
        }
    }

    /// How long a statement of this kind may be at the server before it has outstayed its kind.
    pub fn patience(&self, digest: u64) -> Nanos {
        let known = self.known.get(&digest);
        known.map_or(PATIENCE_MAX, |kind| {
            Nanos::from_secs_f64(kind.longest_s * PATIENCE).clamp(PATIENCE_MIN, PATIENCE_MAX)
        })
    }

    /// What was not seen since the table was full the last time makes room.
    fn make_room(&mut self) -> bool {
        if self.known.len() >= KINDS_MAX {
            let epoch = self.epoch;
            self.known.retain(|_, kind| kind.epoch == epoch);
            self.epoch = self.epoch.wrapping_add(1);
        }
        self.known.len() < KINDS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn a_kind_may_take_twice_its_longest_within_bounds() {
        for (took, patience) in [
            (&[1, 2][..], 100),
            (&[50], 100),
            (&[200, 10], 399),
            (&[10, 300], 600),
            (&[500], 1_000),
            (&[9_000], 1_000),
        ] {
            let mut kinds = Kinds::default();
            took.iter().for_each(|millis| kinds.took(7, ms(*millis)));
            let known = kinds.patience(7);
            assert!(known >= ms(patience) - ms(1) && known <= ms(patience), "{took:?}: {known:?}");
        }
    }

    #[test]
    fn one_long_statement_is_forgotten_in_time() {
        let mut kinds = Kinds::default();
        kinds.took(7, ms(400));
        (0..100).for_each(|_| kinds.took(7, ms(1)));
        assert!(kinds.patience(7) > ms(400));
        (0..1_000).for_each(|_| kinds.took(7, ms(1)));
        assert_eq!(kinds.patience(7), ms(100));
    }

    #[test]
    fn the_table_is_bounded_and_kinds_that_are_in_use_stay_while_others_pass() {
        let mut kinds = Kinds::default();
        for digest in 2..40_000 {
            kinds.took(1, ms(200));
            kinds.took(digest, ms(1));
            assert!(kinds.known.len() <= KINDS_MAX);
        }
        assert_eq!([1, 39_999, 2, 0].map(|kind| kinds.patience(kind)), [400, 100, 1_000, 1_000].map(ms));
    }
}
