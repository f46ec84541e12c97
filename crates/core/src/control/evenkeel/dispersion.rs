//! How far counts of completions scatter by themselves, by the length of the stretches that are compared.
//!
//! For Poisson counts variance over mean is 1, whatever the length. A machine whose speed wobbles by a share `w` has
//! `1 + n w^2` at `n` completions a tick, and where the wobble lasts longer than a tick, more over longer stretches: a test
//! that took ticks for independent would be far too sure. So neighbouring stretches of 1, 2, 4, ... ticks at one limit are held
//! against each other, which shows how far the machine differs from itself on the scale on which limits are compared (the
//! two-sample variance of Allan, Proc. IEEE 54 (1966) 221, over that of Poisson counts):
//!
//! `phi(m) = E[(d s - c t)^2 / (s t (c + d))]`
//!
//! with counts `c` and `d` in neighbouring stretches of `s` and `t` seconds, `m` ticks each.

use super::evidence::Tally;

/// Number of lengths that are observed: 1, 2, 4, ... 32 ticks.
const LENGTHS: usize = 6;
/// Weight of the first pair of ticks, of the first pair of longer stretches, and of any pair later. Few long pairs are mostly
/// chance, so that they weigh less beside the dispersion of the shorter ones.
const LEARN: (f64, f64, f64) = (0.2, 0.1, 0.02);
/// A difference of more than so many times the dispersion is a change of the server and counts no further than that.
const JUMP: f64 = 6.0;
/// The least and the most dispersion. With less, the tests of a very regular server would take any drift for a difference.
const PHI: (f64, f64) = (0.8, 10_000.0);
/// Wobble that a machine is taken to have before anything was measured of it.
const WOBBLE: f64 = 0.05;
/// Pairs that must have been seen before the dispersion of a length counts.
const PAIRS: u32 = 3;
/// A length of which no pair was seen while so many could have been is forgotten.
const STALE: u64 = 16;
/// Factors by which the dispersion of twice the length is larger: as expected, and the most that is believed from shorter ones.
const GROWTH: (f64, f64) = (1.15, 2.0);

#[derive(Clone, Copy, Debug)]
struct Length {
    /// A stretch whose neighbour has not ended yet.
    waiting: Option<Tally>,
    phi: f64,
    weight: f64,
    pairs: u32,
    /// The tick that ended the last pair.
    at: u64,
}

impl Length {
    /// Takes in two neighbouring stretches; `below` is the dispersion of half the length.
    fn learn(&mut self, first: &Tally, second: &Tally, below: f64) {
        let (count, product) = (first.count + second.count, first.seconds * second.seconds);
        if count <= 0.0 || product <= 0.0 {
            return;
        }
        if self.pairs == 0 {
            self.phi = below;
        }
        let apart = second.count * first.seconds - first.count * second.seconds;
        let seen = (apart.powi(2) / (product * count)).min(JUMP * self.phi.max(1.0));
        self.phi += self.weight * (seen - self.phi);
        self.weight = (0.9 * self.weight).max(LEARN.2);
        self.pairs = self.pairs.saturating_add(1);
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Dispersion {
    tick_s: f64,
    ticks: u64,
    lengths: [Length; LENGTHS],
}

impl Default for Dispersion {
    fn default() -> Self {
        let length = Length { waiting: None, phi: 1.0, weight: LEARN.1, pairs: 0, at: 0 };
        let mut lengths = [length; LENGTHS];
        lengths[0].weight = LEARN.0;
        Self { tick_s: 0.0, ticks: 0, lengths }
    }
}

impl Dispersion {
    /// The next tick is no neighbour of the last one, because the limit changes or ticks are left out.
    pub fn part(&mut self) {
        self.lengths.iter_mut().for_each(|length| length.waiting = None);
    }

    pub fn tick(&mut self, tick: &Tally) {
        if self.tick_s == 0.0 {
            self.lengths[0].phi = 1.0 + tick.count * WOBBLE.powi(2);
            self.tick_s = tick.seconds;
        }
        self.tick_s += 0.1 * (tick.seconds - self.tick_s);
        self.ticks += 1;
        // Halves of tests may be too short for long stretches for hours. By then the load may be another one.
        for (place, length) in self.lengths.iter_mut().enumerate().skip(1) {
            if length.pairs > 0 && self.ticks - length.at > STALE << (place + 1) {
                (length.pairs, length.weight) = (0, LEARN.1);
            }
        }
        let ticks = self.ticks;
        let (mut stretch, mut below) = (*tick, self.lengths[0].phi);
        for length in &mut self.lengths {
            let Some(first) = length.waiting.take() else {
                length.waiting = Some(stretch);
                return;
            };
            length.learn(&first, &stretch, below);
            length.at = ticks;
            below = length.phi;
            stretch.add(&first);
        }
    }

    pub fn phi(&self, seconds: f64) -> f64 {
        let most = (LENGTHS - 1) as f64;
        let at = if self.tick_s > 0.0 { (seconds / self.tick_s).max(1.0).log2().min(most) } else { 0.0 };
        let (low, part) = (at.floor(), at.fract());
        let phi = (1.0 - part) * self.of(low as usize) + part * self.of(at.ceil() as usize);
        phi.clamp(PHI.0, PHI.1)
    }

    /// The dispersion of the difference between a stretch of `one` and one of `other` seconds. The shorter one has fewer counts
    /// and scatters more, so that its dispersion counts more.
    pub fn between(&self, one: f64, other: f64) -> f64 {
        let both = one + other;
        if one <= 0.0 || other <= 0.0 || !both.is_finite() {
            return self.phi(one.max(other));
        }
        (self.phi(one) * other + self.phi(other) * one) / both
    }

    /// The dispersion of a length. Where too few pairs were seen it comes from the longest length of which enough were, and
    /// from the growth up to there: the geometric mean of what was expected and what was seen.
    fn of(&self, length: usize) -> f64 {
        let longest = self.lengths.iter().rposition(|length| length.pairs >= PAIRS).unwrap_or(0);
        let beyond = length.saturating_sub(longest) as f64;
        let seen = match longest {
            0 => GROWTH.0,
            _ => (self.lengths[longest].phi / self.lengths[0].phi).powf(1.0 / longest as f64),
        };
        let growth = (GROWTH.0 * seen.clamp(1.0, GROWTH.1)).sqrt();
        self.lengths[length.min(longest)].phi * growth.powf(beyond)
    }

    /// Seconds of the stretch that gives the most evidence for its time, where each loses `lag_s` before it counts: a long one
    /// where counts scatter by chance, a short one where the machine's speed drifts.
    pub fn best_s(&self, lag_s: f64) -> f64 {
        let cost = |&seconds: &f64| self.phi(seconds) * (1.0 + lag_s / seconds);
        let lengths = (0..LENGTHS).map(|length| self.tick_s.max(1e-3) * f64::from(1_u32 << length));
        lengths.min_by(|one, other| cost(one).total_cmp(&cost(other))).unwrap_or(self.tick_s)
    }

    /// How many completions are as much evidence as one of a Poisson stream, in stretches of so many seconds.
    pub fn scale(&self, seconds: f64) -> f64 {
        self.phi(seconds).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    /// Ticks of 0.1 s with a mean of `count`, whose speed wobbles by `wobble` with a memory of `memory` ticks.
    fn learnt(count: f64, wobble: f64, memory: f64) -> Dispersion {
        let mut random = Random::new(Seed(5));
        let keep: f64 = if memory > 0.0 { (-1.0 / memory).exp() } else { 0.0 };
        let (mut dispersion, mut speed) = (Dispersion::default(), 0.0);
        for _ in 0..20_000 {
            speed = keep * speed + (1.0 - keep * keep).sqrt() * wobble * random.normal();
            let mean = count * (1.0 + speed);
            let count = (mean + mean.max(0.0).sqrt() * random.normal()).max(0.0);
            dispersion.tick(&Tally { count, work: count, seconds: 0.1 });
        }
        dispersion
    }

    #[test]
    fn chance_alone_is_one_at_every_length_and_long_stretches_are_best() {
        let chance = learnt(1_000.0, 0.0, 0.0);
        for seconds in [0.1, 0.4, 3.2] {
            assert!((0.6..1.6).contains(&chance.phi(seconds)), "{seconds} s: {}", chance.phi(seconds));
        }
        assert!(chance.best_s(0.2) >= 0.8, "{}", chance.best_s(0.2));
    }

    #[test]
    fn a_wobble_from_tick_to_tick_counts_by_its_square_and_one_that_lasts_grows_with_length() {
        // 1 + 1,000 * 0.1^2 = 11.
        let white = learnt(1_000.0, 0.1, 0.0);
        assert!((7.0..16.0).contains(&white.phi(0.1)), "{}", white.phi(0.1));
        assert!((7.0..16.0).contains(&white.phi(1.6)), "{}", white.phi(1.6));
        let lasting = learnt(1_000.0, 0.1, 10.0);
        assert!(lasting.phi(0.1) < 4.0 && lasting.phi(1.6) > 20.0, "{lasting:?}");
        assert!(lasting.best_s(0.2) < white.best_s(0.2), "{} {}", lasting.best_s(0.2), white.best_s(0.2));
    }

    #[test]
    fn before_anything_is_known_a_machine_is_taken_to_wobble_and_a_jump_is_no_scatter() {
        let mut dispersion = Dispersion::default();
        let tick = |count: f64| Tally { count, work: count, seconds: 0.1 };
        dispersion.tick(&tick(1_000.0));
        // 1 + 1,000 * 0.05^2.
        assert!((dispersion.phi(0.1) - 3.5).abs() < 1e-9);
        assert!(dispersion.phi(1.6) > 3.5);
        dispersion.tick(&tick(10.0));
        assert!(dispersion.phi(0.1) <= 3.5 + 0.2 * 5.0 * 3.5 + 1e-9, "{}", dispersion.phi(0.1));
    }

    #[test]
    fn what_long_stretches_said_of_another_load_is_forgotten() {
        let mut random = Random::new(Seed(5));
        let mut dispersion = Dispersion::default();
        let tally = |count: f64| Tally { count, work: count, seconds: 0.1 };
        (0..3_000).for_each(|_| dispersion.tick(&tally(2.0 + random.unit())));
        // Speed that lasts for four ticks, in halves of eight.
        for number in 0..6_000 {
            if number % 8 == 0 {
                dispersion.part();
            }
            dispersion.tick(&tally(if number % 8 < 4 { 400.0 } else { 600.0 }));
        }
        assert!(dispersion.phi(3.2) >= dispersion.phi(0.4), "{dispersion:?}");
    }

    #[test]
    fn between_a_short_stretch_and_a_long_one_the_short_one_counts_most() {
        let lasting = learnt(500.0, 0.17, 10.0);
        let (short, long) = (lasting.phi(0.1), lasting.phi(3.2));
        assert!((lasting.between(0.4, 0.4) - lasting.phi(0.4)).abs() < 1e-9);
        let mixed = lasting.between(0.1, 3.2);
        assert!((short..long / 4.0).contains(&mixed), "{short} {mixed} {long}");
        assert!((mixed - lasting.between(3.2, 0.1)).abs() < 1e-9);
    }

    #[test]
    fn what_was_parted_is_no_neighbour() {
        let mut dispersion = Dispersion::default();
        for number in 0..1_000 {
            let count = if number % 2 == 0 { 10.0 } else { 1_000.0 };
            dispersion.part();
            dispersion.tick(&Tally { count, work: count, seconds: 0.1 });
        }
        assert_eq!(dispersion.lengths[0].pairs, 0);
    }
}
