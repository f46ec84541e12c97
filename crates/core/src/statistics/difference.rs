use super::mean::Estimate;

/// `one - other`, with Welch's interval: the variances add up, and the degrees of freedom are those of Welch and Satterthwaite.
///
/// `degrees` are those of the two standard errors. Without an error on either side there is none of the difference.
pub fn difference(one: &Estimate, other: &Estimate, degrees: (f64, f64)) -> Estimate {
    let errors = one.standard_error().zip(other.standard_error());
    let variances = errors.map(|(one, other)| (one * one, other * other));
    let error = variances.map(|(one, other)| (one + other).sqrt());
    let joint = variances.map_or(1.0, |variances| joint_degrees(variances, degrees));
    Estimate::with_error(one.n.min(other.n), one.mean - other.mean, error, joint)
}

/// Welch's and Satterthwaite's degrees of freedom of the sum of two variances of means. Without any variance the interval has no width,
/// whatever its degrees.
pub(super) fn joint_degrees((one, other): (f64, f64), degrees: (f64, f64)) -> f64 {
    let joint = (one + other).powi(2) / (one * one / degrees.0 + other * other / degrees.1);
    if joint.is_finite() { joint } else { degrees.0.min(degrees.1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_worked_example() {
        // Welch: se = sqrt(2.5 / 5 + 10 / 5), degrees = 2.5^2 / (0.25 / 4 + 4 / 4), t(0.975, 5.88) = 2.459.
        let one = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let other = Estimate::of(&[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
        let found = difference(&one, &other, (4.0, 4.0));
        assert_eq!((found.n, found.mean), (5, -3.0));
        assert!((found.standard_error().unwrap() - 2.5_f64.sqrt()).abs() < 1e-12);
        assert!((found.low().unwrap() + 6.888).abs() < 2e-3, "{found:?}");
        assert!((found.high().unwrap() - 0.888).abs() < 2e-3, "{found:?}");
    }
}
