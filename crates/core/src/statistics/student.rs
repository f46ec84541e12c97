use super::special::{beta_i, ln_gamma, normal_quantile, normal_tail};

/// From this many degrees of freedom on, t differs from the normal distribution by less than 1e-8.
const DEGREES_NORMAL: f64 = 1e9;

/// Probability that a t variable with `degrees` of freedom is above `t`:
/// `I_x(degrees / 2, 1/2) / 2` with `x = degrees / (degrees + t^2)` for `t >= 0` (DLMF 8.17, Abramowitz and
/// Stegun 26.7.1). Not a number unless `degrees` is above zero.
pub fn student_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return f64::NAN;
    }
    if degrees > DEGREES_NORMAL {
        return normal_tail(t);
    }
    let square = t * t;
    // Written so that neither part is the difference of nearly equal numbers, nor infinite over infinite.
    let (x, y) = (1.0 / (1.0 + square / degrees), 1.0 / (1.0 + degrees / square));
    let beyond = beta_i(degrees / 2.0, 0.5, x, y) / 2.0;
    if t >= 0.0 { beyond } else { 1.0 - beyond }
}

/// Probability that the ratio of two variances with `above` and `below` degrees of freedom, both of the same truth, exceeds `ratio`:
/// `I_x(below / 2, above / 2)` with `x = below / (below + above ratio)` (Abramowitz and Stegun 26.6.2).
/// Not a number where the ratio or a degree is not a number.
pub(super) fn f_tail(ratio: f64, above: f64, below: f64) -> f64 {
    let odds = above * ratio / below;
    if odds.is_nan() {
        f64::NAN
    } else {
        beta_i(below / 2.0, above / 2.0, 1.0 / (1.0 + odds), 1.0 / (1.0 + 1.0 / odds))
    }
}

/// The value `t` that a t variable with `degrees` of freedom, whole or not, stays below with probability
/// `p`.
///
/// Infinite at `p` of 0 and 1; not a number outside or unless `degrees` is above zero. Found by Newton's
/// method on the tail, kept between bounds that close in.
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    if degrees.is_nan() || degrees <= 0.0 || degrees > DEGREES_NORMAL || p <= 0.0 || p >= 1.0 || p.is_nan() {
        return if degrees > 0.0 { normal_quantile(p) } else { f64::NAN };
    }
    match p {
        0.5 => 0.0,
        _ if p < 0.5 => -upper_point(p, degrees),
        _ => upper_point(1.0 - p, degrees),
    }
}

/// The `t >= 0` with `student_tail(t) = tail`, for `0 < tail <= 1/2`.
fn upper_point(tail: f64, degrees: f64) -> f64 {
    let mut low = 0.0;
    let mut high = 1.0;
    while student_tail(high, degrees) > tail && high < f64::MAX / 2.0 {
        low = high;
        high *= 2.0;
    }
    let mut t = f64::midpoint(low, high);
    for _ in 0..200 {
        let at = student_tail(t, degrees);
        if at > tail {
            low = t
        } else {
            high = t
        }
        let newton = t + (at - tail) / density(t, degrees);
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        let step = (next - t).abs();
        t = next;
        if step <= 1e-14 * t {
            break;
        }
    }
    t
}

/// Density of t: `gamma((v+1)/2) / (gamma(v/2) sqrt(v pi)) (1 + t^2/v)^(-(v+1)/2)` with `v` degrees.
fn density(t: f64, v: f64) -> f64 {
    let log = ln_gamma((v + 1.0) / 2.0)
        - ln_gamma(v / 2.0)
        - 0.5 * (v * std::f64::consts::PI).ln()
        - (v + 1.0) / 2.0 * (t * t / v).ln_1p();
    log.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_agree_with_the_published_table() {
        let cases = [
            (0.975, 1.0, 12.7062047362),
            (0.975, 2.0, 4.30265272975),
            (0.975, 2.5, 3.574654842),
            (0.975, 5.0, 2.57058183564),
            (0.975, 10.0, 2.22813885199),
            (0.975, 19.0, 2.09302405441),
            (0.975, 30.0, 2.0422724563),
            (0.975, 100.0, 1.98397151852),
            (0.975, 1000.0, 1.96233908083),
            (0.975, 1e5, 1.95998770753),
            (0.95, 4.0, 2.13184678633),
            (0.995, 10.0, 3.16927267262),
            (0.9, 3.0, 1.6377443537),
            (0.75, 7.0, 0.711141778082),
            (0.9995, 20.0, 3.84951627493),
        ];
        for (p, degrees, expected) in cases {
            let t = student_quantile(p, degrees);
            assert!((t - expected).abs() < 1e-8, "{p} {degrees}: {t} {expected}");
            assert!((student_quantile(1.0 - p, degrees) + t).abs() < 1e-8);
        }
    }

    #[test]
    fn the_ends_of_t_and_of_its_degrees_are_in_order() {
        assert_eq!(student_tail(f64::INFINITY, 5.0), 0.0);
        assert_eq!(student_tail(0.0, 5.0), 0.5);
        for degrees in [1e8, 1e12, f64::INFINITY] {
            assert!((student_quantile(0.975, degrees) - 1.959_963_984_54).abs() < 1e-7);
            assert!((student_tail(1.959_963_984_54, degrees) - 0.025).abs() < 1e-8);
        }
    }

    #[test]
    fn variance_ratios_agree_with_the_published_table() {
        for (ratio, above, below, expected) in
            [(6.94427, 2.0, 4.0, 0.05), (3.32583, 5.0, 10.0, 0.05), (6.92661, 2.0, 12.0, 0.01)]
        {
            assert!((f_tail(ratio, above, below) - expected).abs() < 1e-6);
        }
        assert_eq!((f_tail(f64::INFINITY, 2.0, 4.0), f_tail(0.0, 2.0, 4.0)), (0.0, 1.0));
        assert!(f_tail(f64::NAN, 2.0, 4.0).is_nan());
    }

    proptest! {
        #[test]
        fn one_degree_of_freedom_is_the_cauchy_distribution(p in 0.001..0.999_f64) {
            let expected = (std::f64::consts::PI * (p - 0.5)).tan();
            prop_assert!((student_quantile(p, 1.0) - expected).abs() < 1e-9 * expected.abs().max(1.0));
        }

        #[test]
        fn the_tail_inverts_the_quantile(p in 1e-6..0.999_999_f64, degrees in 0.3..1e4_f64) {
            let t = student_quantile(p, degrees);
            prop_assert!((1.0 - student_tail(t, degrees) - p).abs() < 1e-10, "{t}");
        }
    }
}
