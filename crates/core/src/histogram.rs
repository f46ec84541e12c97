use crate::Nanos;

const SUB: u32 = 8;
const OCTAVES: u32 = 36;
const BUCKETS: usize = (SUB * (OCTAVES + 1)) as usize;

/// Durations from a microsecond to 19 hours; shorter and longer ones count at the ends.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    total: u64,
    sum: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), total: 0, sum: 0.0 }
    }
}

impl Histogram {
    pub fn record(&mut self, duration: Nanos) {
        self.counts[bucket(duration)] += 1;
        self.total += 1;
        self.sum += duration.as_secs_f64();
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    /// Their sum in seconds.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Upper end of the bucket that holds the quantile `0 < q <= 1`; `None` before the first duration.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let rank = (q * self.total as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.counts.iter().position(|&count| {
            below += count;
            below >= rank
        });
        found.map(upper)
    }

    /// How many durations lie in buckets that end at or below `bound`: for cumulative counts, as Prometheus
    /// wants them.
    pub fn at_most(&self, bound: Nanos) -> u64 {
        let ends = (0..BUCKETS).take_while(|&index| upper(index) <= bound).count();
        self.counts[..ends].iter().sum()
    }

    /// Halves all counts: the old fades, the shape stays.
    pub fn fade(&mut self) {
        self.counts.iter_mut().for_each(|count| *count /= 2);
        self.total = self.counts.iter().sum();
        self.sum /= 2.0;
    }
}

/// The first octave is one microsecond, linear; then eight buckets to each doubling.
fn bucket(duration: Nanos) -> usize {
    let scaled = (duration.0 / (1_000 / u64::from(SUB))).min(u64::from(SUB) << OCTAVES);
    if scaled < u64::from(SUB) {
        return scaled as usize;
    }
    let octave = scaled.ilog2() - SUB.ilog2();
    let index = octave * SUB + (scaled >> octave) as u32;
    (index as usize).min(BUCKETS - 1)
}

fn upper(index: usize) -> Nanos {
    let (index, sub) = (index as u64, u64::from(SUB));
    let octave = (index / sub).saturating_sub(1);
    let mantissa = if index < sub { index } else { sub + index % sub };
    Nanos(((mantissa + 1) << octave) * (1_000 / sub))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_in_its_bucket_and_buckets_follow_one_another() {
        for nanos in (0..60).flat_map(|shift| [1_u64 << shift, (1 << shift) + 1, (1 << shift) * 3 / 2]) {
            let index = bucket(Nanos(nanos));
            if index < BUCKETS - 1 {
                assert!(Nanos(nanos) < upper(index), "{nanos}");
            }
            assert!(index == 0 || Nanos(nanos) >= upper(index - 1), "{nanos}");
        }
        assert!((1..BUCKETS).all(|index| upper(index) > upper(index - 1)));
    }

    #[test]
    fn quantiles_are_known_to_an_eighth() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1_000).for_each(|millis| histogram.record(Nanos::from_millis(millis)));
        for (q, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = histogram.quantile(q).unwrap().as_millis_f64();
            assert!((expected..expected * 1.125).contains(&found), "{q}: {found}");
        }
        assert!((histogram.sum() - 500.5).abs() < 1e-6);
    }

    #[test]
    fn cumulative_counts_never_pass_the_bound_and_end_at_all() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|millis| histogram.record(Nanos::from_millis(millis)));
        assert_eq!(histogram.at_most(Nanos::from_micros(900)), 0);
        assert!((35..=50).contains(&histogram.at_most(Nanos::from_millis(50))));
        assert_eq!(histogram.at_most(Nanos::MAX), 100);
    }

    #[test]
    fn what_fades_keeps_its_shape() {
        let mut histogram = Histogram::default();
        (0..1_000).for_each(|_| histogram.record(Nanos::from_millis(2)));
        histogram.fade();
        assert_eq!(histogram.count(), 500);
        assert!(histogram.quantile(0.99).unwrap() >= Nanos::from_millis(2));
    }
}
