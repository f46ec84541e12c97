use hdrhistogram::Histogram;

/// The value that this share of the values does not exceed, up to the precision of the histogram; `None`
/// of an empty histogram.
pub fn percentile(histogram: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile) as f64)
}

/// One histogram of all values, with the precision of the most precise.
pub fn merged(runs: &[&Histogram<u64>]) -> Histogram<u64> {
    let digits = runs.iter().map(|run| run.sigfig()).max().unwrap_or(3);
    let mut all = Histogram::new(digits).expect("the precision of a histogram that exists is valid");
    for run in runs {
        all.add(*run).expect("a histogram that resizes itself takes any value");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.iter().for_each(|&value| histogram.record(value).unwrap());
        histogram
    }

    #[test]
    fn histograms_of_different_bounds_merge() {
        let mut small = Histogram::new_with_bounds(1, 1_000, 2).unwrap();
        small.record(7).unwrap();
        let all = merged(&[&small, &histogram(&[u64::from(u32::MAX)])]);
        assert_eq!((all.len(), all.sigfig()), (2, 3));
    }

    proptest! {
        #[test]
        fn the_merged_percentile_is_that_of_the_sorted_values(
            one in prop::collection::vec(1..1_000_000_000_u64, 1..100),
            two in prop::collection::vec(1..1_000_000_000_u64, 0..100),
            quantile in 0.0..1.0_f64,
        ) {
            let pooled = percentile(&merged(&[&histogram(&one), &histogram(&two)]), quantile).unwrap();
            let mut all = [one, two].concat();
            all.sort_unstable();
            let rank = (quantile * all.len() as f64).ceil().max(1.0) as usize;
            let exact = all[rank - 1] as f64;
            prop_assert!((pooled / exact - 1.0).abs() < 0.002, "{pooled} {exact}");
        }
    }
}
