//! Several conditions compared with one of them, where every block has measured each condition once.
//!
//! The logarithms of block `r` and condition `c` are taken as `m_c + b_r + e`: what drifts from block to block is in `b_r` and cancels.
//! The variance of `e` is pooled over all conditions, with `(C - 1) (R - 1)` degrees of freedom (two-way layout without interaction:
//! Scheffe, The Analysis of Variance, 1959, section 4.2). Where the differences of one condition vary more than that, their own variance
//! counts, with `R - 1` degrees, so that a restless condition is not taken for another level.

use super::CONFIDENCE;
use super::mean::{Estimate, Sample};
use super::ratio::Ratio;
use super::student::{student_quantile, student_tail};

/// How the first condition compares with another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The first over the other, with its own 95 % interval.
    pub ratio: Ratio,
    /// How probable so large a difference is where there is none; 1 where a single block says nothing about that.
    pub p: f64,
}

/// The first value of each block over each of the others, in their order.
///
/// `None` without a block, where blocks are not of the same length, or where a value is not above zero and finite.
pub fn first_over_others(blocks: &[Vec<f64>]) -> Option<Vec<Compared>> {
    let conditions = blocks.first()?.len();
    let is_number = |value: &f64| *value > 0.0 && value.is_finite();
    if !blocks.iter().all(|block| block.len() == conditions && block.iter().all(is_number)) {
        return None;
    }
    let logs: Vec<Vec<f64>> =
        blocks.iter().map(|block| block.iter().map(|value| value.ln()).collect()).collect();
    let degrees = (conditions as f64 - 1.0) * (blocks.len() as f64 - 1.0);
    let pooled = (2.0 * residuals(&logs) / degrees / blocks.len() as f64).sqrt();
    Some((1..conditions).map(|other| compared(&logs, other, pooled, degrees)).collect())
}

fn compared(logs: &[Vec<f64>], other: usize, pooled: f64, degrees: f64) -> Compared {
    let differences: Sample = logs.iter().map(|block| block[0] - block[other]).collect();
    let (n, mean) = (logs.len() as u64, differences.estimate().map_or(0.0, |of| of.mean));
    let Some(own) = differences.standard_error() else {
        return Compared { ratio: Ratio { n, ratio: mean.exp(), interval: None }, p: 1.0 };
    };
    let (error, degrees) = if own > pooled { (own, n as f64 - 1.0) } else { (pooled, degrees) };
    let half = student_quantile(f64::midpoint(1.0, CONFIDENCE), degrees) * error;
    let p = match mean.abs() / error {
        t if t.is_finite() => 2.0 * student_tail(t, degrees),
        _ => 1.0,
    };
    let interval = Some(((mean - half).exp(), (mean + half).exp()));
    Compared { ratio: Ratio { n, ratio: mean.exp(), interval }, p }
}

/// The sum of the squared residuals.
fn residuals(logs: &[Vec<f64>]) -> f64 {
    let mean = |values: &[f64]| Estimate::of(values).map_or(0.0, |of| of.mean);
    let of_blocks: Vec<f64> = logs.iter().map(|block| mean(block)).collect();
    let whole = mean(&of_blocks);
    let of_condition = |at: usize| mean(&logs.iter().map(|block| block[at]).collect::<Vec<_>>());
    let conditions: Vec<f64> = (0..logs[0].len()).map(of_condition).collect();
    let of_block = |(block, own): (&Vec<f64>, &f64)| -> f64 {
        block.iter().zip(&conditions).map(|(value, mean)| (value - mean - own + whole).powi(2)).sum()
    };
    logs.iter().zip(&of_blocks).map(of_block).sum()
}

/// Which of several findings stand, so that with probability `1 - alpha` none of them is a false one (Holm, Scand. J. Statist. 6
/// (1979) 65).
pub fn holm(p: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let mut stands = vec![false; p.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if p[at].is_nan() || p[at] > alpha / (p.len() - rank) as f64 {
            break;
        }
        stands[at] = true;
    }
    stands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn holm_stops_at_the_first_that_does_not_stand() {
        assert_eq!(holm(&[0.04, 0.001, 0.013, 0.9], 0.05), [false, true, true, false]);
        assert_eq!(holm(&[0.02, 0.02], 0.03), [false, false]);
        assert_eq!(holm(&[f64::NAN], 0.05), [false]);
        assert!(holm(&[], 0.05).is_empty());
    }

    #[test]
    fn drift_from_block_to_block_cancels() {
        let block = |drift: f64, noise: f64| vec![100.0 * drift, 50.0 * drift * noise, 100.0 * drift / noise];
        let found = first_over_others(&[block(1.0, 1.01), block(2.0, 0.99), block(4.0, 1.0)]).unwrap();
        let (low, high) = found[0].ratio.interval.unwrap();
        assert!(low > 1.9 && high < 2.1 && found[0].p < 1e-4, "{found:?}");
        assert!(found[1].p > 0.3, "{found:?}");
    }

    #[test]
    fn one_block_says_nothing_and_what_is_no_rate_has_no_ratio() {
        let one = first_over_others(&[vec![2.0, 1.0]]).unwrap();
        assert_eq!((one[0].ratio.interval, one[0].p), (None, 1.0));
        assert!((one[0].ratio.ratio - 2.0).abs() < 1e-12);
        for wrong in [vec![], vec![vec![1.0, 0.0]], vec![vec![1.0, 2.0], vec![1.0]]] {
            assert_eq!(first_over_others(&wrong), None);
        }
    }

    #[test]
    fn conditions_that_are_alike_are_found_different_as_rarely_as_was_asked_for() {
        let mut random = Random::new(Seed(7));
        let mut wrong = 0;
        for _ in 0..1_000 {
            let blocks: Vec<Vec<f64>> =
                (0..3).map(|_| (0..5).map(|_| (0.05 * random.normal()).exp()).collect()).collect();
            let p: Vec<f64> = first_over_others(&blocks).unwrap().iter().map(|found| found.p).collect();
            wrong += usize::from(holm(&p, 0.05).contains(&true));
        }
        assert!(wrong <= 60, "{wrong} of 1,000");
    }

    #[test]
    fn a_restless_condition_is_not_taken_for_another_level() {
        let mut random = Random::new(Seed(8));
        let mut wrong = 0;
        for _ in 0..1_000 {
            let mut value = |deviation: f64| (deviation * random.normal()).exp();
            let blocks: Vec<Vec<f64>> =
                (0..3).map(|_| vec![value(0.01), value(0.01), value(0.01), value(0.2)]).collect();
            wrong += usize::from(first_over_others(&blocks).unwrap()[2].p < 0.05 / 3.0);
        }
        assert!(wrong < 50, "{wrong} of 1,000");
    }
}
