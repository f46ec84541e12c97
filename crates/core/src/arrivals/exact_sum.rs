/// A sum kept as a whole part and a fraction.
///
/// Adding a term `x` to a plain `f64` sum `S` loses up to `S * 2^-53`, so the error grows with the sum
/// and with the number of terms. Here only the fraction, which is below 1, is ever rounded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExactSum {
    /// Whole part; the fraction is below 1.
    pub(super) whole: u64,
    /// What is above it, `0 <= fraction < 1`.
    fraction: f64,
}

impl ExactSum {
    /// Adds a term that is not negative; the sum stops at the largest whole number.
    pub(super) fn add(&mut self, term: f64) {
        let whole = term.trunc();
        self.whole = self.whole.saturating_add(whole as u64);
        self.fraction += term - whole;
        if self.fraction >= 1.0 {
            self.fraction -= 1.0;
            self.whole = self.whole.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_terms_add_up_without_drift() {
        let mut sum = ExactSum { whole: 1 << 52, fraction: 0.0 };
        for _ in 0..10_000_000 {
            sum.add(0.125);
        }
        assert_eq!(sum.whole, (1 << 52) + 1_250_000);
        assert_eq!(sum.fraction, 0.0);
    }

    #[test]
    fn a_sum_stops_at_the_largest_whole_number() {
        let mut sum = ExactSum::default();
        sum.add(f64::MAX);
        sum.add(5.5);
        assert_eq!(sum.whole, u64::MAX);
    }
}
