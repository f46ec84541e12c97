//! Keeping text apart.

/// Moves heights so that neighbours are at least `gap` apart and all lie within `low..=high`, as far as
/// there is room, without changing their order and moving as little as a greedy pass does.
pub fn apart(heights: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    let mut placed = heights.to_vec();
    let mut floor = low;
    for &at in &order {
        placed[at] = placed[at].max(floor);
        floor = placed[at] + gap;
    }
    let mut ceiling = high;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_their_order_and_distance() {
        assert_eq!(apart(&[50.0, 52.0, 10.0], 12.0, 0.0, 100.0), [50.0, 62.0, 10.0]);
        assert_eq!(apart(&[99.0, 99.0, 99.0], 12.0, 0.0, 100.0), [76.0, 88.0, 100.0]);
        assert!(apart(&[], 12.0, 0.0, 100.0).is_empty());
    }

    #[test]
    fn too_many_for_the_room_still_differ() {
        let placed = apart(&[5.0; 12], 12.0, 0.0, 60.0);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9), "{placed:?}");
    }
}
