/// Buckets of an octave: a bucket is 1/32 to 1/64 of its values wide.
const IN_OCTAVE: u64 = 32;

/// Buckets that 64 bits of nanoseconds reach.
const BUCKETS: usize = bucket(u64::MAX) as usize + 1;

/// Bucket of a value: below 32 the value itself; above, its octave and the five bits that follow its highest one.
const fn bucket(value: u64) -> u16 {
    if value < IN_OCTAVE {
        return value as u16;
    }
    let octave = value.ilog2() - IN_OCTAVE.ilog2();
    (octave as u64 * IN_OCTAVE + (value >> octave)) as u16
}

/// Lowest value and width of a bucket.
fn bounds(bucket: u16) -> (f64, f64) {
    let bucket = u64::from(bucket);
    let octave = (bucket / IN_OCTAVE).saturating_sub(1);
    let low = bucket - octave * IN_OCTAVE;
    let width = (octave as f64).exp2();
    (low as f64 * width, width)
}

/// How often values of each size came, in buckets of 1/32 of an octave. Only buckets that hold something are kept.
///
/// Within a bucket values are taken to lie evenly, so that a quantile moves smoothly with the counts; it is at most
/// 3 % off, commonly much less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spectrum {
    pairs: Vec<(u16, u64)>,
    count: u64,
}

impl Spectrum {
    /// From buckets and their counts, in any order; what stands twice is added up. Buckets that no value has are
    /// left out.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (u16, u64)>) -> Self {
        let mut pairs: Vec<(u16, u64)> =
            pairs.into_iter().filter(|&(bucket, count)| count > 0 && usize::from(bucket) < BUCKETS).collect();
        pairs.sort_unstable();
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 = kept.1.saturating_add(if same { next.1 } else { 0 });
            same
        });
        let count = pairs.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        Self { pairs, count }
    }

    pub fn pairs(&self) -> &[(u16, u64)] {
        &self.pairs
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn merged<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut counter = SpectrumCounter::new();
        for spectrum in all {
            spectrum.pairs.iter().for_each(|&(bucket, count)| counter.add(usize::from(bucket), count));
        }
        counter.take()
    }

    /// The value that this share of the values does not exceed; `None` of no values.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let mut rank = quantile.clamp(0.0, 1.0) * self.count as f64;
        let last = self.pairs.len().checked_sub(1)?;
        for (place, &(bucket, count)) in self.pairs.iter().enumerate() {
            let count = count as f64;
            if rank <= count || place == last {
                let (low, width) = bounds(bucket);
                return Some(low + width * (rank / count).min(1.0));
            }
            rank -= count;
        }
        None
    }

    /// How many values are above this one; a bucket that it cuts counts with the share that lies above.
    pub fn above(&self, value: f64) -> f64 {
        let share = |bucket: u16| {
            let (low, width) = bounds(bucket);
            ((low + width - value) / width).clamp(0.0, 1.0)
        };
        self.pairs
            .iter()
            .rev()
            .map(|&(bucket, count)| share(bucket) * count as f64)
            .take_while(|n| *n > 0.0)
            .sum()
    }
}

/// Counts values as they come, one addition for each, without allocating.
#[derive(Clone, Debug)]
pub struct SpectrumCounter {
    counts: Vec<u64>,
    /// Buckets that may hold something: from here up to there.
    used: (usize, usize),
}

impl Default for SpectrumCounter {
    fn default() -> Self {
        Self::new()
    }
}

impl SpectrumCounter {
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS], used: (BUCKETS, 0) }
    }

    pub fn record(&mut self, value: u64) {
        self.add(usize::from(bucket(value)), 1);
    }

    fn add(&mut self, bucket: usize, count: u64) {
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
        self.used = (self.used.0.min(bucket), self.used.1.max(bucket + 1));
    }

    /// What was counted; counting begins anew.
    pub fn take(&mut self) -> Spectrum {
        let (from, to) = std::mem::replace(&mut self.used, (BUCKETS, 0));
        let mut pairs = Vec::new();
        let mut all = 0_u64;
        for bucket in from..to {
            let count = std::mem::take(&mut self.counts[bucket]);
            if count > 0 {
                pairs.push((bucket as u16, count));
                all = all.saturating_add(count);
            }
        }
        Spectrum { pairs, count: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spectrum(values: &[u64]) -> Spectrum {
        let mut counter = SpectrumCounter::new();
        values.iter().for_each(|&value| counter.record(value));
        counter.take()
    }

    #[test]
    fn small_values_have_buckets_of_their_own_and_octaves_thirty_two() {
        assert_eq!(
            (bucket(0), bucket(31), bucket(32), bucket(63), bucket(64), bucket(65), bucket(66)),
            (0, 31, 32, 63, 64, 64, 65)
        );
        assert_eq!((bounds(31), bounds(32), bounds(64)), ((31.0, 1.0), (32.0, 1.0), (64.0, 2.0)));
        assert_eq!(usize::from(bucket(u64::MAX)), BUCKETS - 1);
    }

    #[test]
    fn pairs_that_stand_twice_are_added_and_buckets_of_no_value_left_out() {
        let found = Spectrum::from_pairs([(40, 2), (7, 1), (40, 3), (9, 0), (u16::MAX, 5)]);
        assert_eq!((found.pairs(), found.count()), (&[(7, 1), (40, 5)][..], 6));
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value in 0..1_u64 << 52) {
            let (low, width) = bounds(bucket(value));
            prop_assert!(low <= value as f64 && (value as f64) < low + width);
            prop_assert!(width <= (value as f64 / 32.0).max(1.0));
        }

        #[test]
        fn a_quantile_is_within_a_bucket_of_that_of_the_sorted_values(
            mut values in prop::collection::vec(1..1_000_000_000_u64, 1..300), quantile in 0.0..1.0_f64,
        ) {
            let found = spectrum(&values);
            values.sort_unstable();
            let rank = (quantile * values.len() as f64).ceil().max(1.0) as usize;
            let exact = values[rank - 1] as f64;
            prop_assert!((found.quantile(quantile).unwrap() / exact - 1.0).abs() <= 1.0 / 32.0 + 1.0 / exact);
        }

        #[test]
        fn as_many_are_above_a_quantile_as_it_says(
            values in prop::collection::vec(1..1_000_000_000_u64, 1..300), quantile in 0.0..1.0_f64,
        ) {
            let found = spectrum(&values);
            let above = found.above(found.quantile(quantile).unwrap());
            prop_assert!((above - (1.0 - quantile) * values.len() as f64).abs() < 1e-6);
        }

        #[test]
        fn parts_make_the_whole(one in prop::collection::vec(0..u64::MAX, 0..50), two in prop::collection::vec(0..u64::MAX, 0..50)) {
            let merged = Spectrum::merged([&spectrum(&one), &spectrum(&two)]);
            prop_assert_eq!(&merged, &spectrum(&[one, two].concat()));
            prop_assert_eq!(Spectrum::from_pairs(merged.pairs().iter().copied()), merged);
        }
    }
}
