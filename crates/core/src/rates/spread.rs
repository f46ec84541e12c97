/// Fewest rates that make a profile: one at rest, one busy, one in overload.
pub const RATES_MIN: usize = 3;

/// The lowest rate, as a share of the saturation.
const LOWEST: f64 = 0.2;

/// The highest below saturation: the estimate of the saturation is good to 5 %.
const HIGHEST: f64 = 0.95;

/// The one rate above saturation, which shows how the server fails.
const OVERLOAD: f64 = 1.1;

/// `n` rates, rising, for a server that saturates at this rate: `n - 1` from 20 to 95 % of it, closer together
/// the nearer the knee, and one at 110 %. At least [`RATES_MIN`]. Rounded to steps of 1, 2 or 5 times a power of
/// ten, by at most 1 %.
///
/// With `x` from 0 to 1 in equal steps, the share is `0.95 - 0.75 (1 - x)^1.5`; for eight rates 20, 38, 54, 68,
/// 81, 90, 95 and 110 %.
pub fn spread(saturation: f64, n: usize) -> Vec<f64> {
    let exact: Vec<f64> = shares(n.max(RATES_MIN)).map(|share| share * saturation).collect();
    let rounded: Vec<f64> = exact.iter().map(|&rate| round(rate)).collect();
    // So many rates that rounding makes two equal are left as they are.
    if rounded.is_sorted_by(|one, next| one < next) { rounded } else { exact }
}

fn shares(n: usize) -> impl Iterator<Item = f64> {
    let below = move |index| {
        let x = index as f64 / (n - 2) as f64;
        HIGHEST - (HIGHEST - LOWEST) * (1.0 - x).powf(1.5)
    };
    (0..n - 1).map(below).chain([OVERLOAD])
}

/// To the nearest multiple of the largest 1, 2 or 5 times a power of ten that is at most 2 % of the rate.
fn round(rate: f64) -> f64 {
    if !rate.is_finite() || rate <= 0.0 {
        return rate;
    }
    let finest = 0.02 * rate;
    let exponent = finest.log10().floor() as i32;
    let power = 10.0_f64.powi(exponent);
    let step = [5.0, 2.0, 1.0].into_iter().find(|factor| factor * power <= finest).unwrap_or(1.0);
    let steps = (rate / (step * power)).round() * step;
    // Dividing by a power of ten keeps 0.3 from becoming 0.30000000000000004.
    if exponent < 0 { steps / 10.0_f64.powi(-exponent) } else { steps * power }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn eight_rates_for_a_thousand_per_second() {
        assert_eq!(spread(1_000.0, 8), [200.0, 380.0, 540.0, 680.0, 810.0, 900.0, 950.0, 1_100.0]);
        assert_eq!(spread(41.3, 3), [8.3, 39.0, 45.5]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(round(1_234.0), 1_240.0);
        assert_eq!(round(0.387), 0.385);
        assert_eq!(round(0.3), 0.3);
        assert_eq!(round(98.6), 99.0);
        assert_eq!(round(0.0), 0.0);
    }

    proptest! {
        #[test]
        fn rates_rise_from_a_fifth_to_above_saturation(saturation in 0.01..1e7_f64, n in 3..60_usize) {
            let rates = spread(saturation, n);
            prop_assert_eq!(rates.len(), n);
            prop_assert!(rates.is_sorted_by(|one, next| one < next));
            prop_assert!((rates[0] / saturation / 0.2 - 1.0).abs() < 0.013);
            prop_assert!((rates[n - 1] / saturation / 1.1 - 1.0).abs() < 0.013);
            prop_assert!(rates[n - 2] < saturation);
        }

        #[test]
        fn rates_lie_closer_together_near_the_knee(n in 4..12_usize) {
            let shares: Vec<f64> = shares(n).collect();
            let gaps: Vec<f64> = shares[..n - 1].windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(gaps.is_sorted_by(|one, next| one > next), "{gaps:?}");
        }
    }
}
