//! The logarithm of the response as a polynomial of the rate.

use super::basis::Measured;
use super::curve::Curve;

/// Points from which on the polynomial bends.
const BENDS_FROM: usize = 5;

/// Degree of the polynomial through so many points; where one of them is left out, it stays that of all.
pub(super) fn degree(points: usize) -> usize {
    if points >= BENDS_FROM { 2 } else { 1 }
}

/// By weighted least squares; `None` of points that leave it open.
pub(super) fn fit(points: &[Measured], degree: usize) -> Option<Curve> {
    let unit = points.iter().map(|point| point.rate).fold(0.0, f64::max);
    let size = degree + 1;
    let mut rows = [[0.0; 4]; 3];
    for point in points {
        let (x, weight) = (point.rate / unit, 1.0 / point.error().powi(2));
        let powers = [1.0, x, x * x];
        for (row, one) in rows.iter_mut().zip(powers) {
            row.iter_mut().zip(powers).for_each(|(cell, other)| *cell += weight * one * other);
            row[3] += weight * one * point.response.ln();
        }
    }
    let factors = solved(&mut rows, size)?;
    Some(Curve::Regression { factors, unit })
}

/// Gauss's elimination with pivots, of the first `size` rows.
fn solved(rows: &mut [[f64; 4]; 3], size: usize) -> Option<[f64; 3]> {
    for at in 0..size {
        let pivot =
            (at..size).max_by(|one, other| rows[*one][at].abs().total_cmp(&rows[*other][at].abs()))?;
        rows.swap(at, pivot);
        let top = rows[at];
        if !top[at].is_finite() || top[at].abs() < 1e-9 * top[0].abs().max(1e-9) {
            return None;
        }
        for row in rows.iter_mut().take(size).skip(at + 1) {
            let times = row[at] / top[at];
            row.iter_mut().zip(top).for_each(|(cell, above)| *cell -= times * above);
        }
    }
    let mut factors = [0.0; 3];
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|next| rows[at][next] * factors[next]).sum();
        factors[at] = (rows[at][3] - known) / rows[at][at];
    }
    factors.iter().all(|factor| factor.is_finite()).then_some(factors)
}
