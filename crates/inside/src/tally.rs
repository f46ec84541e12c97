//! What the sessions of a shard did between two ticks.

use evenkeel_core::Nanos;
use evenkeel_core::admission::{Costs, Interval, Outcome};
use evenkeel_core::gate::{Kinds, Seen};
use evenkeel_core::number_map::NumberMap;

const BUCKETS: usize = 64;
/// Kinds that are told apart between two ticks; the rest count as unknown.
const KINDS_MAX: usize = 256;

#[derive(Debug)]
pub struct Tally {
    /// Transactions that came in though the limit was reached, since nobody is held back.
    pub would_wait: u64,
    pub waits: u64,
    pub waited_s: f64,
    completions: u64,
    rolled_back: u64,
    overloads: u64,
    ignored: u64,
    response_s: f64,
    shortest_s: f64,
    longest_s: f64,
    times: [u32; BUCKETS],
    kinds: NumberMap<u64, (Seen, u32)>,
    /// Trifles that ran without a place.
    pub trifles: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            would_wait: 0,
            waits: 0,
            waited_s: 0.0,
            completions: 0,
            rolled_back: 0,
            overloads: 0,
            ignored: 0,
            response_s: 0.0,
            shortest_s: f64::INFINITY,
            longest_s: 0.0,
            times: [0; BUCKETS],
            kinds: NumberMap::default(),
            trifles: 0,
        }
    }
}

impl Tally {
    pub fn waited(&mut self, time: Nanos) {
        self.waits += 1;
        self.waited_s += time.as_secs_f64();
    }

    /// A transaction has ended after so long at the server; from when on one is long.
    pub fn ended(&mut self, outcome: Option<Outcome>, digest: u64, busy: Nanos, threshold: Nanos) {
        let good = outcome == Some(Outcome::Success);
        match outcome {
            Some(Outcome::Success) => self.succeeded(busy),
            Some(Outcome::RolledBack) => self.rolled_back += 1,
            Some(Outcome::Overload) => self.overloads += 1,
            Some(Outcome::Ignored) | None => self.ignored += 1,
        }
        self.times[Kinds::bucket(busy)] += 1;
        *self.see(digest, busy, threshold) += u32::from(good);
    }

    /// One that ran without a place has ended.
    pub fn trifle(&mut self, digest: u64, busy: Nanos, threshold: Nanos) {
        self.trifles += 1;
        self.times[Kinds::bucket(busy)] += 1;
        self.see(digest, busy, threshold);
    }

    /// Counts one of its kind; how many of them succeeded under a place.
    fn see(&mut self, digest: u64, busy: Nanos, threshold: Nanos) -> &mut u32 {
        let full = self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&digest);
        let (seen, completed) = self.kinds.entry(if full { 0 } else { digest }).or_default();
        let seconds = busy.as_secs_f64();
        seen.floor_s = if seen.count == 0 { seconds } else { seen.floor_s.min(seconds) };
        seen.count += 1;
        seen.long += u32::from(busy >= threshold);
        completed
    }

    fn succeeded(&mut self, busy: Nanos) {
        let seconds = busy.as_secs_f64();
        self.completions += 1;
        self.response_s += seconds;
        self.shortest_s = self.shortest_s.min(seconds);
        self.longest_s = self.longest_s.max(seconds);
    }

    pub fn add(&mut self, other: &Self) {
        self.would_wait += other.would_wait;
        self.waits += other.waits;
        self.waited_s += other.waited_s;
        self.completions += other.completions;
        self.rolled_back += other.rolled_back;
        self.overloads += other.overloads;
        self.ignored += other.ignored;
        self.response_s += other.response_s;
        self.shortest_s = self.shortest_s.min(other.shortest_s);
        self.longest_s = self.longest_s.max(other.longest_s);
        self.trifles += other.trifles;
        self.times.iter_mut().zip(other.times).for_each(|(one, other)| *one += other);
        for (digest, (seen, completed)) in &other.kinds {
            let (one, count) = self.kinds.entry(*digest).or_default();
            one.floor_s = if one.count == 0 { seen.floor_s } else { one.floor_s.min(seen.floor_s) };
            one.count += seen.count;
            one.long += seen.long;
            *count += completed;
        }
    }

    /// Learns which kinds are long; whether that has changed.
    pub fn teach(&self, kinds: &mut Kinds) -> bool {
        self.times.iter().enumerate().for_each(|(bucket, count)| kinds.took(bucket, *count));
        kinds.tick();
        self.kinds.iter().fold(false, |changed, (digest, (seen, _))| kinds.learn(*digest, *seen) || changed)
    }

    /// The figures of one lane for its controller, without its times.
    pub fn interval(&self, costs: &mut Costs, counts: impl Fn(u64) -> bool) -> Interval {
        let mut work = 0.0;
        let mut completions = 0;
        for (digest, (seen, completed)) in
            self.kinds.iter().filter(|(digest, (_, completed))| *completed > 0 && counts(**digest))
        {
            let weight = costs.weigh_many(*digest, Nanos::from_secs_f64(seen.floor_s), seen.count);
            work += weight * f64::from(*completed);
            completions += u64::from(*completed);
        }
        let time = |seconds: f64| (self.completions > 0).then(|| Nanos::from_secs_f64(seconds));
        Interval {
            completions,
            work,
            overloads: self.overloads,
            rolled_back: self.rolled_back,
            ignored: self.ignored,
            response_mean: time(self.response_s / self.completions.max(1) as f64),
            response_min: time(self.shortest_s),
            response_max: time(self.longest_s),
            ..Interval::default()
        }
    }

    pub fn completions(&self) -> u64 {
        self.completions
    }

    pub fn rolled_back(&self) -> u64 {
        self.rolled_back
    }
}
