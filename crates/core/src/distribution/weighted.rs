use crate::random::Random;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightError;

impl fmt::Display for WeightError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("weights must be finite numbers of 0 or more, at least one of them above 0")
    }
}

impl std::error::Error for WeightError {}

/// Draws the index of an alternative with a probability proportional to its weight, in constant time.
///
/// Alias method: each of the `n` columns holds its own alternative up to a threshold and one other, the
/// alias, above it. Sources: Walker, ACM TOMS 3 (1977) 253; set up in linear time as by Vose, IEEE
/// Trans. Softw. Eng. 17 (1991) 972.
#[derive(Clone, Debug)]
pub struct WeightedChoice {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    /// Probability of its own alternative, once the column is chosen.
    own: f64,
    alias: usize,
}

impl WeightedChoice {
    pub fn new(weights: &[f64]) -> Result<Self, WeightError> {
        let sum = check(weights)?;
        let mean = sum / weights.len() as f64;
        let mut columns: Vec<Column> =
            weights.iter().enumerate().map(|(alias, weight)| Column { own: weight / mean, alias }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..columns.len()).partition(|&index| columns[index].own < 1.0);
        // Each small column is filled up by a large one, which is small itself once it has given enough.
        while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
            columns[taker].alias = giver;
            columns[giver].own -= 1.0 - columns[taker].own;
            if columns[giver].own < 1.0 {
                large.pop();
                small.push(giver);
            }
        }
        // What is left over differs from 1 by rounding alone, and is its own alias as far as it was large.
        for index in small.into_iter().chain(large) {
            columns[index].own = 1.0;
        }
        Ok(Self { columns })
    }

    pub fn draw(&self, random: &mut Random) -> usize {
        let place = random.unit() * self.columns.len() as f64;
        let index = place as usize;
        let Column { own, alias } = self.columns[index];
        if place - (index as f64) < own { index } else { alias }
    }
}

fn check(weights: &[f64]) -> Result<f64, WeightError> {
    let sum: f64 = weights.iter().sum();
    let is_fit = weights.iter().all(|weight| *weight >= 0.0) && sum.is_finite() && sum >= 1e-290;
    if is_fit { Ok(sum) } else { Err(WeightError) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_that_cannot_be_drawn_from_are_refused() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -2.0], &[f64::NAN]] {
            assert_eq!(WeightedChoice::new(weights).err(), Some(WeightError), "{weights:?}");
        }
        assert!(WeightedChoice::new(&[f64::MAX, f64::MAX]).is_err());
    }

    proptest! {
        #[test]
        fn the_table_holds_exactly_the_weights(weights in prop::collection::vec(0.0..1e3_f64, 1..50)) {
            prop_assume!(weights.iter().sum::<f64>() > 1e-3);
            let choice = WeightedChoice::new(&weights).unwrap();
            let mut held = vec![0.0; weights.len()];
            for (index, column) in choice.columns.iter().enumerate() {
                held[index] += column.own / weights.len() as f64;
                held[column.alias] += (1.0 - column.own) / weights.len() as f64;
            }
            let sum: f64 = weights.iter().sum();
            for (held, weight) in held.iter().zip(&weights) {
                prop_assert!((held - weight / sum).abs() < 1e-12, "{held} {}", weight / sum);
            }
        }
    }
}
