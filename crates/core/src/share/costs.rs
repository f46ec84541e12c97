//! What a host takes I/Os to cost: measured by `share knee --costs`, or set by hand; the same for all hosts of an array.

use super::{Cost, Io};
use crate::statistics::Sample;

/// Bytes of the read that costs 1.
pub const UNIT_BYTES: u32 = 16_384;
pub const SIZES_MAX: usize = 8;
/// A read is not taken to cost less than this, or than the least that was given, where sizes fall below those given.
const LEAST: f64 = 0.1;
/// Least and most cost that can be given.
const COST_LEAST: f64 = 0.001;
const COST_MOST: f64 = 10_000.0;
/// How far the cost of a read of 16 KB may be from 1, because measured costs are rounded.
const UNIT_TOLERANCE: f64 = 0.02;

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CostsError {
    #[error("a table of costs has 1 to {SIZES_MAX} sizes, not {0}")]
    Sizes(usize),
    /// A size is there twice, or is 0.
    #[error("sizes of a table of costs must be above 0, each of them once")]
    Order,
    #[error("a cost must be between {COST_LEAST} and {COST_MOST}, not {0}")]
    Cost(f64),
    /// A read of 16 KB has this cost instead of 1.
    #[error("the unit of costs is a read of 16k, which must cost 1, not {0}")]
    Unit(f64),
}

/// Values by size, linear in bytes between those given.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Curve {
    points: [(u32, f64); SIZES_MAX],
    count: usize,
}

impl Curve {
    fn new(given: &[(u32, f64)]) -> Result<Self, CostsError> {
        if given.is_empty() || given.len() > SIZES_MAX {
            return Err(CostsError::Sizes(given.len()));
        }
        if let Some(&(_, cost)) = given.iter().find(|(_, cost)| !(COST_LEAST..=COST_MOST).contains(cost)) {
            return Err(CostsError::Cost(cost));
        }
        let mut points = [(0, 0.0); SIZES_MAX];
        points[..given.len()].copy_from_slice(given);
        let sizes = &mut points[..given.len()];
        sizes.sort_by_key(|(bytes, _)| *bytes);
        if sizes[0].0 == 0 || sizes.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(CostsError::Order);
        }
        Ok(Self { points, count: given.len() })
    }

    fn points(&self) -> &[(u32, f64)] {
        &self.points[..self.count]
    }

    fn on_line(&self, bytes: u32) -> f64 {
        let points = self.points();
        let [.., last] = points else { return 1.0 };
        if points.len() == 1 {
            return last.1;
        }
        let above = points.iter().position(|(size, _)| *size >= bytes).unwrap_or(points.len() - 1).max(1);
        let ((low, from), (high, to)) = (points[above - 1], points[above]);
        from + (to - from) * (f64::from(bytes) - f64::from(low)) / f64::from(high - low)
    }

    /// Between the outermost values: the first or the last beyond those given.
    fn within(&self, bytes: u32) -> f64 {
        match self.points() {
            [first, .., last] => self.on_line(bytes.clamp(first.0, last.0)),
            _ => self.on_line(bytes),
        }
    }
}

/// What I/Os cost, in units of a 16 KB read: reads by size, and by how much a write of a size costs more than a read of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    reads: Curve,
    /// Cost of a write over that of a read of the same size, at the sizes given; none where they cost the same.
    writes: Option<Curve>,
}

impl Default for Costs {
    /// 256 KB cost 1.4 times what 16 KB cost, reads and writes the same.
    fn default() -> Self {
        Self::from(Cost::default())
    }
}

impl From<Cost> for Costs {
    fn from(cost: Cost) -> Self {
        let curve = |points: [(u32, f64); 2], count| {
            let mut all = [(0, 0.0); SIZES_MAX];
            all[..2].copy_from_slice(&points);
            Curve { points: all, count }
        };
        let read = |bytes| (bytes, cost.of(Io { bytes, write: false }));
        let factor = (UNIT_BYTES, cost.write);
        Self {
            reads: curve([read(UNIT_BYTES), read(16 * UNIT_BYTES)], 2),
            writes: (cost.write != 1.0).then(|| curve([factor, (0, 0.0)], 1)),
        }
    }
}

impl Costs {
    /// Of reads and of writes, by size in bytes and in any order. Sizes between those given, and beyond them, follow the line
    /// through the two next to them; writes cost as much more than reads as at the sizes given, and the same where none is.
    pub fn new(reads: &[(u32, f64)], writes: &[(u32, f64)]) -> Result<Self, CostsError> {
        let mut costs = Self { reads: Curve::new(reads)?, writes: None };
        let unit = costs.read(UNIT_BYTES);
        if (unit - 1.0).abs() > UNIT_TOLERANCE {
            return Err(CostsError::Unit(unit));
        }
        if !writes.is_empty() {
            let mut factors = Curve::new(writes)?;
            factors.points[..writes.len()].iter_mut().for_each(|(bytes, cost)| *cost /= costs.read(*bytes));
            costs.writes = Some(factors);
        }
        Ok(costs)
    }

    pub fn of(&self, io: Io) -> f64 {
        let read = self.read(io.bytes);
        match &self.writes {
            Some(factors) if io.write => read * factors.within(io.bytes),
            _ => read,
        }
    }

    fn read(&self, bytes: u32) -> f64 {
        let least = self.reads.points().first().map_or(LEAST, |(_, cost)| cost.min(LEAST));
        self.reads.on_line(bytes).max(least)
    }

    pub fn mark(&self) -> u64 {
        let numbers = |curve: &Curve| {
            let pair = |&(bytes, cost): &(u32, f64)| [u64::from(bytes), (cost * 1e6).round() as u64];
            curve.points().iter().flat_map(pair).collect::<Vec<u64>>()
        };
        let writes = self.writes.as_ref().map_or(Vec::new(), numbers);
        let all = numbers(&self.reads).into_iter().chain([u64::MAX]).chain(writes);
        // FNV-1a, over words.
        all.fold(0xcbf2_9ce4_8422_2325, |mark, word| (mark ^ word).wrapping_mul(0x0100_0000_01b3))
    }
}

/// A mean with its standard error over the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Standard error over it; infinite where there are too few samples to know.
    pub error: f64,
}

/// The mean of samples; `None` where there is none, or it is not above zero.
pub fn mean(samples: &[f64]) -> Option<Estimate> {
    let sample: Sample = samples.iter().copied().collect();
    let mean = sample.mean().filter(|mean| mean.is_finite() && *mean > 0.0)?;
    Some(Estimate { value: mean, error: sample.standard_error().map_or(f64::INFINITY, |error| error / mean) })
}

/// Cost of I/Os of which full storage does so many in a second, by samples of both; `None` where one of them has none.
///
/// Two closed loops of the same depth, one of reads of 16 KB and one of the I/Os in question, keep full storage busy for the
/// same time in each second. So one I/O takes the device time of as many reads as `X(reads) / X(I/Os)`, however many spindles
/// there are, whatever a network adds to a latency, and behind a write cache too, as soon as that is full. Latency would show
/// none of it: a cached write looks cheap, and a queue makes all I/Os look alike.
pub fn cost(reads: &[f64], ios: &[f64]) -> Option<Estimate> {
    let (reads, ios) = (mean(reads)?, mean(ios)?);
    Some(Estimate { value: reads.value / ios.value, error: reads.error.hypot(ios.error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: u32) -> Io {
        Io { bytes, write: false }
    }

    fn write(bytes: u32) -> Io {
        Io { bytes, write: true }
    }

    #[test]
    fn sizes_between_and_beyond_those_given_follow_the_line() {
        let costs = Costs::new(&[(16_384, 1.0), (4_096, 0.4), (65_536, 4.0)], &[]).unwrap();
        for (bytes, cost) in [(4_096, 0.4), (10_240, 0.7), (16_384, 1.0), (40_960, 2.5), (131_072, 8.0)] {
            assert!((costs.of(read(bytes)) - cost).abs() < 1e-9, "{bytes}: {}", costs.of(read(bytes)));
            assert_eq!(
                costs.of(write(bytes)),
                costs.of(read(bytes)),
                "writes cost the same unless it is said"
            );
        }
        assert!((costs.of(read(512)) - 0.225).abs() < 1e-9);
        assert!(costs.of(read(0)) > 0.0);
    }

    #[test]
    fn one_cost_of_a_write_is_a_factor_for_all_sizes_and_several_are_a_table() {
        let reads = [(16_384, 1.0), (262_144, 8.0)];
        let one = Costs::new(&reads, &[(16_384, 4.0)]).unwrap();
        assert!((one.of(write(262_144)) - 32.0).abs() < 1e-9);
        let two = Costs::new(&reads, &[(262_144, 16.0), (16_384, 4.0)]).unwrap();
        assert!((two.of(write(262_144)) - 16.0).abs() < 1e-9 && (two.of(write(16_384)) - 4.0).abs() < 1e-9);
        assert!((two.of(write(1 << 20)) / two.of(read(1 << 20)) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_costs_of_an_array_are_known_by_two_sizes_and_a_factor() {
        for (per_byte, factor) in [(0.4 / 245_760.0, 1.0), (7.0 / 245_760.0, 4.0), (15.0 / 245_760.0, 8.0)] {
            let truth = Cost { per_byte, write: factor };
            let costs = Costs::from(truth);
            for io in
                [512, 4_096, 16_384, 65_536, 262_144, 1 << 20].into_iter().flat_map(|b| [read(b), write(b)])
            {
                assert!((costs.of(io) / truth.of(io) - 1.0).abs() < 1e-9, "{io:?}: {}", costs.of(io));
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |reads: &[(u32, f64)], writes: &[(u32, f64)]| Costs::new(reads, writes).unwrap_err();
        assert_eq!(refused(&[], &[]), CostsError::Sizes(0));
        assert_eq!(refused(&[(16_384, 1.0); 9], &[]), CostsError::Sizes(9));
        assert_eq!(refused(&[(16_384, 1.0); 2], &[]), CostsError::Order);
        assert_eq!(refused(&[(0, 1.0), (16_384, 1.0)], &[]), CostsError::Order);
        assert_eq!(refused(&[(16_384, 0.0)], &[]), CostsError::Cost(0.0));
        assert!(matches!(refused(&[(16_384, 1.0)], &[(4_096, f64::NAN)]), CostsError::Cost(_)));
        assert_eq!(refused(&[(16_384, 4.0)], &[]), CostsError::Unit(4.0));
    }

    #[test]
    fn costs_that_differ_have_other_marks() {
        let of = |large: f64, write: f64| {
            Costs::new(&[(16_384, 1.0), (262_144, large)], &[(16_384, write)]).unwrap().mark()
        };
        assert_eq!(of(8.0, 4.0), of(8.0, 4.0));
        assert!(of(8.0, 4.0) != of(8.01, 4.0) && of(8.0, 4.0) != of(8.0, 4.1));
        assert_ne!(Costs::default().mark(), of(1.4, 2.0));
    }

    #[test]
    fn half_as_many_in_a_second_cost_twice_as_much() {
        let found = cost(&[990.0, 1_000.0, 1_010.0], &[505.0, 495.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-9);
        // Standard errors of 5.77 of 1,000 and of 5 of 500.
        assert!((found.error - 0.005_77_f64.hypot(0.01)).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn one_sample_does_not_say_how_far_it_can_be_trusted_and_none_says_nothing() {
        assert_eq!(mean(&[5.0]), Some(Estimate { value: 5.0, error: f64::INFINITY }));
        assert_eq!((mean(&[]), mean(&[0.0, 0.0]), mean(&[f64::NAN])), (None, None, None));
        assert_eq!(cost(&[1.0], &[]), None);
    }
}
