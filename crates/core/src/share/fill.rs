//! Weighted water-filling: everybody gets his share, nobody more than he can use, and what is left goes to the others.

/// Divides `total` by `weights`, each part at most its `cap`; the parts add up to `total` or to all caps, whichever is less.
///
/// Weights and caps that are not above zero get nothing. Of different lengths the shorter counts.
pub fn fill(total: f64, weights: &[f64], caps: &[f64]) -> Vec<f64> {
    let mut parts = vec![0.0; weights.len().min(caps.len())];
    let mut open: Vec<usize> =
        (0..parts.len()).filter(|&place| weights[place] > 0.0 && caps[place] > 0.0).collect();
    // Whoever is full first has the least cap for its weight.
    open.sort_by(|&a, &b| (caps[a] / weights[a]).total_cmp(&(caps[b] / weights[b])));
    let mut left = if total.is_finite() { total.max(0.0) } else { 0.0 };
    let mut weight: f64 = open.iter().map(|&place| weights[place]).sum();
    for place in open {
        parts[place] = caps[place].min(left * weights[place] / weight);
        left -= parts[place];
        weight -= weights[place];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

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
