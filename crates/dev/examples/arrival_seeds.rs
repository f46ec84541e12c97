//! How many of 200 seeds pass each test of randomness at the 5 % level: about 95 % should.
//!
//! Prints one JSON object. The arrivals are those that a plan with this seed sends: 10,000 at 1,000 per second.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]

use evenkeel_core::arrivals::{Arrivals, Poisson};
use evenkeel_core::random::Seed;
use evenkeel_dev::randomness::{index_of_dispersion, kolmogorov_smirnov_exponential, lag1_correlation};
use std::error::Error;

const SEEDS: u64 = 200;
const RATE: f64 = 1_000.0;
const ARRIVALS: usize = 10_000;
/// Of the intervals in which arrivals are counted.
const INTERVAL_NS: u64 = 20_000_000;
const LEVEL: f64 = 0.05;

fn main() -> Result<(), Box<dyn Error>> {
    let mut passed = [0_u32; 3];
    for seed in 1..=SEEDS {
        let mut poisson = Poisson::new(RATE, Seed(seed).child("arrivals"))?;
        let instants: Vec<u64> =
            std::iter::from_fn(|| poisson.next_arrival()).map(|instant| instant.0).take(ARRIVALS).collect();
        let mut gaps: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let last = instants.last().copied().unwrap_or_default();
        let mut counts = vec![0; usize::try_from(last / INTERVAL_NS)?];
        for instant in instants {
            // The last interval is not complete and is left out.
            if let Some(count) = counts.get_mut(usize::try_from(instant / INTERVAL_NS)?) {
                *count += 1;
            }
        }
        let correlation = lag1_correlation(&gaps);
        let tests =
            [kolmogorov_smirnov_exponential(&mut gaps, RATE), index_of_dispersion(&counts), correlation];
        for (passed, test) in passed.iter_mut().zip(tests) {
            *passed += u32::from(test.p_value >= LEVEL);
        }
    }
    let [kolmogorov_smirnov, dispersion, lag1] = passed.map(|count| f64::from(count) / SEEDS as f64);
    println!(
        r#"{{"kolmogorov_smirnov": {kolmogorov_smirnov}, "index_of_dispersion": {dispersion}, "lag1_correlation": {lag1}}}"#
    );
    Ok(())
}
