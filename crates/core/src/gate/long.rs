//! The limit of the long lane, from what it costs the short one.
//!
//! While long transactions wait, the throughput of short work is compared between the limit in use and one that is higher or lower, in
//! turns of a second each. A step up is kept where it costs short work less than [`COST`], and a step down where it brings that much. So
//! reports that compete for the CPU run one or two at a time, and such as wait for a disk that nobody else wants run side by side.

use std::fmt;

/// Share of short work that a step up may cost.
const COST: f64 = 0.05;
/// Length of a turn, and what is left out at its beginning, in seconds.
const TURN_S: (f64, f64) = (1.0, 0.2);
/// Turns of each of the two limits.
const TURNS: u32 = 3;
/// Seconds from one comparison to the next, the first and the longest.
const REST_S: (f64, f64) = (2.0, 60.0);

/// What happened between two ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongSample {
    pub seconds: f64,
    /// Work of the short lane that ended.
    pub short_work: f64,
    /// Whether long transactions waited, or ran up to their limit.
    pub full: bool,
}

/// Why the limit is what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LongReason {
    #[default]
    Idle,
    New,
    Fixed,
    Comparing(u32),
    /// There was no short work while this limit was compared.
    NoShortWork(u32),
    /// The higher of two limits that were compared cost short work this share.
    Cost {
        higher: u32,
        share: f64,
        in_use: bool,
    },
}

impl fmt::Display for LongReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Idle => f.write_str("nothing waits"),
            Self::New => f.write_str("no other limit was compared yet"),
            Self::Fixed => f.write_str("it is fixed"),
            Self::Comparing(to) => write!(f, "it is being compared with {to}"),
            Self::NoShortWork(to) => write!(f, "{to} was tried, but no short transactions ran to compare"),
            Self::Cost { share, in_use: true, .. } => {
                write!(f, "it costs short work {:.0} %", 100.0 * share.max(0.0))
            }
            Self::Cost { higher, share, .. } => {
                write!(f, "with {higher}, short transactions lose {:.0} %", 100.0 * share)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Side {
    work: f64,
    seconds: f64,
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    to: u32,
    /// Of the limit in use, and of the one that is tried.
    sides: [Side; 2],
    turn: u32,
    turn_s: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Long {
    limit: u32,
    most: u32,
    trial: Option<Trial>,
    up: bool,
    rest_s: f64,
    wait_s: f64,
    full: bool,
    learnt: LongReason,
}

impl Long {
    /// Begins with this limit; it passes `most` never.
    pub fn new(limit: u32, most: u32) -> Self {
        let limit = limit.clamp(1, most.max(1));
        let (rest_s, learnt) = (REST_S.0, LongReason::New);
        Self { limit, most: most.max(1), trial: None, up: false, rest_s, wait_s: rest_s, full: false, learnt }
    }

    /// Why the limit in use is what it is.
    pub fn reason(&self) -> LongReason {
        match &self.trial {
            _ if !self.full => LongReason::Idle,
            Some(trial) => LongReason::Comparing(trial.to),
            None => self.learnt,
        }
    }

    /// The limit in use, which a trial may differ from.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The limit that is to be in force from now on.
    pub fn update(&mut self, sample: &LongSample) -> u32 {
        self.full = sample.full;
        if !sample.full || sample.seconds <= 0.0 {
            // What was begun says nothing any more.
            self.trial = None;
            return self.limit;
        }
        let Some(mut trial) = self.trial.take() else {
            self.wait_s -= sample.seconds;
            if self.wait_s <= 0.0 {
                self.trial = self.next();
            }
            return self.limit;
        };
        let side = usize::from(trial.turn % 2 == 1);
        if trial.turn_s >= TURN_S.1 {
            trial.sides[side].work += sample.short_work;
            trial.sides[side].seconds += sample.seconds;
        }
        trial.turn_s += sample.seconds;
        if trial.turn_s >= TURN_S.0 {
            (trial.turn, trial.turn_s) = (trial.turn + 1, 0.0);
        }
        if trial.turn == 2 * TURNS {
            self.decide(&trial);
            return self.limit;
        }
        self.trial = Some(trial);
        if trial.turn % 2 == 1 { trial.to } else { self.limit }
    }

    /// The step to try: the other way than the last one, as far as there is one.
    fn next(&mut self) -> Option<Trial> {
        let (up, down) = (
            (self.limit + (self.limit / 2).max(1)).min(self.most),
            (self.limit - self.limit / 3).min(self.limit - 1).max(1),
        );
        self.up = if down == self.limit { true } else { !self.up && up != self.limit };
        let to = if self.up { up } else { down };
        self.wait_s = self.rest_s;
        (to != self.limit).then_some(Trial { to, sides: [Side::default(); 2], turn: 0, turn_s: 0.0 })
    }

    fn decide(&mut self, trial: &Trial) {
        let [in_use, tried] = trial.sides.map(|side| side.work / side.seconds.max(1e-9));
        let good = if self.up { tried >= (1.0 - COST) * in_use } else { tried * (1.0 - COST) > in_use };
        let (higher, lower) = if self.up { (tried, in_use) } else { (in_use, tried) };
        // Without short work nothing is to be learnt.
        let taken = good && in_use > 0.0;
        self.learnt = match in_use > 0.0 && lower > 0.0 {
            true => LongReason::Cost {
                higher: self.limit.max(trial.to),
                share: 1.0 - higher / lower,
                in_use: taken == self.up,
            },
            false => LongReason::NoShortWork(trial.to),
        };
        if taken {
            self.limit = trial.to;
            // The next one goes the same way.
            self.up = !self.up;
            self.rest_s = REST_S.0;
        } else {
            self.rest_s = (2.0 * self.rest_s).min(REST_S.1);
        }
        self.wait_s = self.rest_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit after so many seconds, where short work depends on the limit like this.
    fn found(begin: u32, seconds: u32, short_work: impl Fn(u32) -> f64) -> u32 {
        let mut long = Long::new(begin, 64);
        let mut limit = begin;
        for _ in 0..seconds * 20 {
            limit = long.update(&LongSample { seconds: 0.05, short_work: short_work(limit), full: true });
        }
        long.limit()
    }

    #[test]
    fn what_competes_for_the_cpu_runs_one_or_two_at_a_time() {
        let shared = |limit: u32| 8.0 / (8.0 + f64::from(limit));
        assert!(found(2, 60, shared) <= 2);
        assert!(found(16, 120, shared) <= 2);
    }

    #[test]
    fn what_costs_short_work_nothing_runs_side_by_side_up_to_where_it_does() {
        let disk = |limit: u32| if limit <= 12 { 100.0 } else { 50.0 };
        assert!((8..=12).contains(&found(2, 200, disk)));
    }

    #[test]
    fn the_limit_says_what_the_higher_one_costs_and_that_nothing_waits() {
        let full = |short_work| LongSample { seconds: 0.05, short_work, full: true };
        let mut long = Long::new(1, 64);
        let mut limit = long.update(&full(1.0));
        assert_eq!(long.reason().to_string(), "no other limit was compared yet");
        while long.reason() == LongReason::New {
            limit = long.update(&full(1.0));
        }
        assert_eq!(long.reason().to_string(), "it is being compared with 2");
        while long.reason() == LongReason::Comparing(2) {
            limit = long.update(&full(if limit == 2 { 0.88 } else { 1.0 }));
        }
        assert_eq!(
            (limit, long.reason().to_string()),
            (1, "with 2, short transactions lose 12 %".to_owned())
        );
        long.update(&LongSample { full: false, ..full(1.0) });
        assert_eq!(long.reason().to_string(), "nothing waits");
    }

    #[test]
    fn nothing_is_tried_while_nobody_waits() {
        let mut long = Long::new(2, 64);
        for _ in 0..10_000 {
            assert_eq!(long.update(&LongSample { seconds: 0.05, short_work: 1.0, full: false }), 2);
        }
    }

    #[test]
    fn a_trial_is_dropped_where_the_lane_empties() {
        let mut long = Long::new(2, 64);
        let full = LongSample { seconds: 0.05, short_work: 1.0, full: true };
        let tried = (0..200).any(|_| long.update(&full) != 2);
        assert!(tried);
        assert_eq!(long.update(&LongSample { full: false, ..full }), long.limit());
    }
}
