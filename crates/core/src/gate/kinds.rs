//! Which transactions are long, by the digest of their first statement.
//!
//! A transaction is long where it takes ten times the present median and at least 20 ms: what slows all of them down makes none long. A kind is long where more than half of its transactions lately were. What is not known starts short.

use super::Lane;
use crate::Nanos;
use crate::number_map::Recent;

/// Long is this many times the median, and at least so much: below it a stall of the machine would pass for a long transaction.
const TIMES: f64 = 10.0;
const LEAST: Nanos = Nanos::from_millis(20);
/// Before any median is known.
const FIRST: Nanos = Nanos::from_millis(200);
/// Transactions of a kind after which older ones count half.
const HORIZON: f64 = 256.0;
/// From so many on a kind is known, and a single one of it that lasts has met with something: so many times the threshold are borne.
const KNOWN: f64 = 32.0;
const PATIENCE: u64 = 5;
/// Share of long ones from which on a kind is long, and below which it is short again.
const SHARES: (f64, f64) = (0.5, 0.2);
/// A kind is a trifle whose fastest takes less than the first, and no more above the second, in seconds: a wake-up takes about as long.
/// The fastest, since all of them are slow where too many run at once.
const TRIFLE_S: (f64, f64) = (100e-6, 200e-6);
/// A floor that is not reached again doubles in about 2,800 transactions.
const FORGET: f64 = 1.0 + 1.0 / 4_096.0;
/// Transactions after which a kind may be called a trifle.
const TRIFLE_COUNT: f64 = 16.0;
/// Buckets of times: eight for each factor of ten, from a microsecond on.
const BUCKETS: usize = 64;
const PER_DECADE: f64 = 8.0;
/// Transactions that the median is taken of.
const RECENT: f64 = 64.0;

/// What was seen of the transactions of one kind since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    pub count: u32,
    /// Of these, such as took as long as the threshold or longer.
    pub long: u32,
    /// Shortest time of one in seconds.
    pub floor_s: f64,
}

/// What the gate does with a kind that is not of the usual sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Long,
    /// So short that a wait would cost more than it: what only reads needs no place.
    Trifle,
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    count: f64,
    long: f64,
    floor_s: f64,
    class: Option<Class>,
}

impl Kind {
    fn add(&mut self, seen: Seen) {
        let count = f64::from(seen.count);
        if count <= 0.0 {
            return;
        }
        self.count += count;
        self.long += f64::from(seen.long);
        self.floor_s = (self.floor_s * FORGET.powf(count)).min(seen.floor_s);
        let share = self.long / self.count;
        self.class = match self.class {
            Some(Class::Long) if share >= SHARES.1 => Some(Class::Long),
            _ if share > SHARES.0 => Some(Class::Long),
            Some(Class::Trifle) if self.floor_s < TRIFLE_S.1 => Some(Class::Trifle),
            _ if self.count >= TRIFLE_COUNT && self.floor_s < TRIFLE_S.0 => Some(Class::Trifle),
            _ => None,
        };
        if self.count > HORIZON {
            (self.count, self.long) = (HORIZON / 2.0, share * HORIZON / 2.0);
        }
    }
}

/// The kinds that were seen lately, and from when on a transaction is long.
#[derive(Debug)]
pub struct Kinds {
    known: Recent<Kind>,
    times: [f64; BUCKETS],
    threshold: Nanos,
}

impl Default for Kinds {
    fn default() -> Self {
        Self { known: Recent::default(), times: [0.0; BUCKETS], threshold: FIRST }
    }
}

impl Kinds {
    /// The bucket of a time.
    pub fn bucket(time: Nanos) -> usize {
        let micros = (time.0 as f64 / 1e3).max(1.0);
        ((micros.log10() * PER_DECADE) as usize).min(BUCKETS - 1)
    }

    /// So many transactions took times of this bucket.
    pub fn took(&mut self, bucket: usize, count: u32) {
        self.times[bucket.min(BUCKETS - 1)] += f64::from(count);
    }

    /// So it went with the transactions of this kind; whether its lane has changed by that.
    pub fn learn(&mut self, digest: u64, seen: Seen) -> bool {
        let fresh = Kind { count: 0.0, long: 0.0, floor_s: f64::INFINITY, class: None };
        let Some(kind) = self.known.used(digest, fresh) else { return false };
        let before = kind.class;
        kind.add(seen);
        kind.class != before
    }

    pub fn lane(&self, digest: u64) -> Lane {
        let class = self.known.get(digest).and_then(|kind| kind.class);
        if class == Some(Class::Long) { Lane::Long } else { Lane::Short }
    }

    pub fn is_trifle(&self, digest: u64) -> bool {
        self.known.get(digest).is_some_and(|kind| kind.class == Some(Class::Trifle))
    }

    /// The kinds that have a class.
    pub fn classes(&self) -> impl Iterator<Item = (u64, Class)> {
        self.known.iter().filter_map(|(digest, kind)| Some((digest, kind.class?)))
    }

    /// From when on a transaction is long.
    pub fn threshold(&self) -> Nanos {
        self.threshold
    }

    /// How long one of this kind may last before it leaves the short lane.
    pub fn patience(&self, digest: u64) -> Nanos {
        let known =
            self.known.get(digest).is_some_and(|kind| kind.count >= KNOWN && kind.class != Some(Class::Long));
        if known { Nanos(self.threshold.0.saturating_mul(PATIENCE)) } else { self.threshold }
    }

    /// Works out the threshold anew where enough has ended since the last time.
    pub fn tick(&mut self) {
        let all: f64 = self.times.iter().sum();
        if all < RECENT {
            return;
        }
        let mut below = 0.0;
        let median = self.times.iter().position(|count| {
            below += count;
            below >= all / 2.0
        });
        // Its upper end.
        let micros = 10_f64.powf((median.unwrap_or(0) + 1) as f64 / PER_DECADE);
        self.threshold = Nanos((TIMES * micros * 1e3) as u64).max(LEAST);
        self.times = [0.0; BUCKETS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(count: u32, long: u32) -> Seen {
        Seen { count, long, floor_s: 0.001 }
    }

    #[test]
    fn a_kind_is_long_where_most_of_it_is_and_short_again_where_hardly_any_is() {
        let mut kinds = Kinds::default();
        assert_eq!(kinds.lane(7), Lane::Short);
        assert!(kinds.learn(7, seen(1, 1)), "the first one says enough");
        assert_eq!(kinds.lane(7), Lane::Long);
        kinds.learn(7, seen(2, 1));
        assert_eq!(kinds.lane(7), Lane::Long);
        kinds.learn(7, seen(100, 0));
        assert_eq!(kinds.lane(7), Lane::Short);
        kinds.learn(8, seen(1_000, 0));
        kinds.learn(8, seen(64, 64));
        assert_eq!(kinds.lane(8), Lane::Short, "a moment of overload makes nothing long");
        assert_eq!((kinds.patience(8), kinds.patience(9)), (Nanos::from_secs(1), FIRST));
        assert_eq!(kinds.lane(0), Lane::Short);
    }

    #[test]
    fn a_kind_is_a_trifle_where_its_fastest_is_faster_than_a_wake_up() {
        let mut kinds = Kinds::default();
        let class = |kinds: &Kinds| kinds.classes().find(|(digest, _)| *digest == 7).map(|(_, class)| class);
        let took = |count: u32, floor_s: f64| Seen { count, long: 0, floor_s };
        kinds.learn(7, took(100, 20e-6));
        assert_eq!(class(&kinds), Some(Class::Trifle));
        kinds.learn(7, took(100, 900e-6));
        assert_eq!(class(&kinds), Some(Class::Trifle), "one stall says nothing");
        kinds.learn(7, took(20_000, 900e-6));
        assert_eq!(class(&kinds), None);
    }

    #[test]
    fn long_is_ten_times_the_median_and_never_less_than_a_stall() {
        let mut kinds = Kinds::default();
        kinds.took(Kinds::bucket(Nanos::from_millis(1)), 100);
        kinds.took(Kinds::bucket(Nanos::from_secs(2)), 90);
        kinds.tick();
        assert_eq!(kinds.threshold(), LEAST);
        kinds.took(Kinds::bucket(Nanos::from_millis(30)), 63);
        kinds.tick();
        assert_eq!(kinds.threshold(), LEAST, "too few to say");
        kinds.took(Kinds::bucket(Nanos::from_millis(30)), 1);
        kinds.tick();
        let threshold = kinds.threshold().as_secs_f64();
        assert!((0.3..0.45).contains(&threshold), "{threshold}");
    }

    #[test]
    fn the_table_is_bounded_and_kinds_in_use_stay() {
        let mut kinds = Kinds::default();
        for digest in 2..40_000 {
            kinds.learn(1, seen(1, 1));
            kinds.learn(digest, seen(1, 0));
        }
        assert!(kinds.known.iter().count() <= Recent::<Kind>::MAX);
        assert_eq!(kinds.lane(1), Lane::Long);
    }
}
