//! Fits the models.

use super::basis::{Basis, Measured};
use super::curve::{Curve, Kind};
use super::regression;
use super::station::{response, wait};

/// Steps of the search for the one figure that is not linear.
const STEPS: usize = 60;
/// How often that search begins anew about its best step.
const ROUNDS: usize = 2;
/// The end of a server lies above what it was measured at by this at least, and by this at most.
const END: (f64, f64) = (1.01, 30.0);
/// How far the end may lie from where the CPUs are full, as the standard deviation of its logarithm: other resources may end before them, and
/// work that falls as load rises lets them go on for longer.
const END_BY_CPU: f64 = 0.2;

/// The best of a model; `None` where points are too few for it, or the model needs what is not known. `degree` is that of a polynomial.
pub(super) fn fit(kind: Kind, points: &[Measured], basis: &Basis, degree: usize) -> Option<Curve> {
    match kind {
        Kind::Queue => queue(points, basis),
        Kind::Network => network(points, basis),
        Kind::Regression => regression::fit(points, degree),
    }
}

/// Degrees of freedom that a model takes from the points: what it fits. Where the CPUs are known to be full says where a queue ends.
pub(super) fn taken(kind: Kind, basis: &Basis, degree: usize) -> usize {
    match kind {
        Kind::Queue => 3 - usize::from(basis.full_at.is_some()),
        Kind::Network => 3,
        Kind::Regression => degree + 1,
    }
}

fn highest(points: &[Measured]) -> f64 {
    points.iter().map(|point| point.rate).fold(0.0, f64::max)
}

fn queue(points: &[Measured], basis: &Basis) -> Option<Curve> {
    let highest = highest(points);
    let (low, high) = (END.0 * highest, END.1 * highest);
    let attempt = |end: f64| {
        let waits: Vec<f64> = points.iter().map(|point| wait(point.rate, end, basis.cpus)).collect();
        let (delay, factor, misfit) = line(points, &waits);
        let off = basis.full_at.map_or(0.0, |full| ((end / full).ln() / END_BY_CPU).powi(2));
        let curve = Curve::Queue { delay, factor, capacity: end, servers: basis.cpus };
        (misfit + off, curve)
    };
    search(low, high, attempt)
}

fn network(points: &[Measured], basis: &Basis) -> Option<Curve> {
    let highest = highest(points);
    let capacity = basis.full_at?.max(END.0 * highest);
    let service = basis.cpus.max(1.0) / capacity;
    // The disk ends above what was measured, and may do next to nothing.
    let (low, high) = (1e-3 * service.min(1.0 / highest), 1.0 / (END.0 * highest));
    let attempt = |demand: f64| {
        let parts = |point: &Measured| wait(point.rate, capacity, basis.cpus) + response(point.rate, demand);
        let queues: Vec<f64> = points.iter().map(parts).collect();
        let (delay, scale, misfit) = line(points, &queues);
        (misfit, Curve::Network { delay, capacity, servers: basis.cpus, scale, demand })
    };
    if low < high { search(low, high, attempt) } else { None }
}

/// The best curve over a figure between two ends, searched on the logarithmic scale.
fn search(low: f64, high: f64, attempt: impl Fn(f64) -> (f64, Curve)) -> Option<Curve> {
    let (mut from, mut to) = (low.ln(), high.ln());
    let mut best: Option<(f64, f64, Curve)> = None;
    for _ in 0..ROUNDS {
        let step = (to - from) / STEPS as f64;
        for at in 0..=STEPS {
            let place = from + step * at as f64;
            let (misfit, curve) = attempt(place.exp());
            if misfit.is_finite() && best.as_ref().is_none_or(|(least, ..)| misfit < *least) {
                best = Some((misfit, place, curve));
            }
        }
        let middle = best.as_ref()?.1;
        (from, to) = ((middle - step).max(low.ln()), (middle + step).min(high.ln()));
    }
    best.map(|(_, _, curve)| curve)
}

/// The line `a + b x` through responses with neither below zero, by least squares of what it is off relative to their error, and the sum
/// of these squares.
fn line(points: &[Measured], xs: &[f64]) -> (f64, f64, f64) {
    let weigh = |point: &Measured| 1.0 / (point.response * point.error()).powi(2);
    let (mut s, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (point, x) in points.iter().zip(xs) {
        let (weight, y) = (weigh(point), point.response);
        s += weight;
        sx += weight * x;
        sy += weight * y;
        sxx += weight * x * x;
        sxy += weight * x * y;
    }
    let determinant = s * sxx - sx * sx;
    let free = ((sxx * sy - sx * sxy) / determinant, (s * sxy - sx * sy) / determinant);
    let (a, b) = match free {
        (a, b) if a >= 0.0 && b >= 0.0 => (a, b),
        (a, _) if a < 0.0 => (0.0, sxy / sxx),
        _ => (sy / s, 0.0),
    };
    let off = |(point, x): (&Measured, &f64)| weigh(point) * (point.response - a - b * x).powi(2);
    (a, b, points.iter().zip(xs).map(off).sum())
}
