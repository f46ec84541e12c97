use super::special::gamma_q;

/// Probability that a standard normal variable is above `x`: `Q(1/2, x^2 / 2) / 2` for `x >= 0`.
pub fn normal_tail(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let beyond = gamma_q(0.5, x * x / 2.0) / 2.0;
    if x >= 0.0 { beyond } else { 1.0 - beyond }
}

/// The value `x` that a standard normal variable stays below with probability `p`.
///
/// Infinite at `p` of 0 and 1, not a number outside. Starts from Hastings' approximation (Abramowitz and
/// Stegun 26.2.23, error below 4.5e-4) and improves it by Newton's method on the logarithm of the tail,
/// which is nearly a parabola, so that it works far out as well.
pub fn normal_quantile(p: f64) -> f64 {
    match p {
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        _ if !(0.0..=1.0).contains(&p) => f64::NAN,
        _ if p > 0.5 => upper_point(1.0 - p),
        _ => -upper_point(p),
    }
}

/// The `x >= 0` with `normal_tail(x) = tail`, for `0 < tail <= 1/2`.
fn upper_point(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    let start = t
        - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    let root_two_pi = std::f64::consts::TAU.sqrt();
    let mut x = start.max(0.0);
    for _ in 0..4 {
        let at = normal_tail(x);
        let density = (-x * x / 2.0).exp() / root_two_pi;
        x += (at / tail).ln() * at / density;
    }
    x.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_agree_with_published_values() {
        let cases = [
            (0.5, 0.0),
            (0.6, 0.2533471031358),
            (0.9, 1.2815515655446),
            (0.975, 1.95996398454005),
            (0.995, 2.5758293035489),
            (0.999, 3.09023230616781),
            (1e-10, -6.36134090240406),
            (1e-300, -37.0470962993612),
        ];
        for (p, expected) in cases {
            assert!((normal_quantile(p) - expected).abs() < 1e-11, "{p}: {}", normal_quantile(p));
        }
    }

    proptest! {
        #[test]
        fn the_tail_inverts_the_quantile(p in 1e-12..0.999_999_f64) {
            prop_assert!((1.0 - normal_tail(normal_quantile(p)) - p).abs() < 1e-12);
        }
    }
}
