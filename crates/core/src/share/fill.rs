//! Weighted water-filling: everybody gets his share, nobody more than he can use, and what is left goes to the others.

/// What somebody gets at a level: nothing where his weight or his cap is not above zero.
pub fn under(level: f64, weight: f64, cap: f64) -> f64 {
    if weight > 0.0 && cap > 0.0 { cap.min(level * weight) } else { 0.0 }
}

/// The level at which what all get adds up to `total`: the part of whoever is not full, over his weight; infinite where
/// all are full before. Of different lengths the shorter counts.
pub fn level(total: f64, weights: &[f64], caps: &[f64]) -> f64 {
    let claims = weights.iter().copied().zip(caps.iter().copied());
    let mut open: Vec<(f64, f64)> = claims.filter(|&(weight, cap)| weight > 0.0 && cap > 0.0).collect();
    // Whoever is full first has the least cap for its weight.
    open.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let mut left = if total.is_finite() { total.max(0.0) } else { 0.0 };
    let mut weights: f64 = open.iter().map(|(weight, _)| weight).sum();
    for (weight, cap) in open {
        if cap / weight > left / weights {
            return left / weights;
        }
        left -= cap;
        weights -= weight;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(total: f64, weights: &[f64], caps: &[f64]) -> Vec<f64> {
        let level = level(total, weights, caps);
        weights.iter().zip(caps).map(|(&weight, &cap)| under(level, weight, cap)).collect()
    }

    fn close(parts: &[f64], expected: &[f64]) {
        assert_eq!(parts.len(), expected.len());
        for (part, expected) in parts.iter().zip(expected) {
            assert!((part - expected).abs() < 1e-9, "{parts:?}");
        }
    }

    #[test]
    fn parts_follow_the_weights_where_no_cap_binds() {
        close(&fill(30.0, &[1.0, 2.0], &[100.0, 100.0]), &[10.0, 20.0]);
    }

    #[test]
    fn what_one_cannot_use_goes_to_the_others_by_their_weights() {
        close(&fill(32.0, &[1.0, 1.0, 2.0], &[2.0, 100.0, 100.0]), &[2.0, 10.0, 20.0]);
    }

    #[test]
    fn nobody_gets_more_than_he_can_use() {
        close(&fill(1_000.0, &[1.0, 4.0], &[3.0, 5.0]), &[3.0, 5.0]);
        close(&fill(10.0, &[0.0, 1.0], &[5.0, 0.0]), &[0.0, 0.0]);
        close(&fill(f64::NAN, &[1.0], &[5.0]), &[0.0]);
    }
}
