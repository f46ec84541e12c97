//! What transactions cost by their digest, so that a change of mix is not read as a change of throughput.
//!
//! The cost of a digest is the shortest time that the server took lately, forgotten slowly: overload
//! lengthens the mean of all, and weights that grew with it would call a slow server productive. Weights
//! are in units of the mean transaction of the last hundred thousands. A server that becomes slower for all
//! raises costs and unit alike, so that weights stay.

use crate::Nanos;
use crate::number_map::Recent;

/// A floor that is not reached again doubles in about 2,800 transactions of its digest.
const FORGET: f64 = 1.0 + 1.0 / 4_096.0;
/// Transactions after which older ones count half in the unit.
const HORIZON: f64 = 262_144.0;
/// Heaviest and lightest weight: one odd measurement must not outweigh everything else.
const WEIGHT: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

#[derive(Clone, Copy, Debug)]
struct Cost {
    floor: f64,
    count: f64,
}

#[derive(Debug, Default)]
pub struct Costs {
    known: Recent<Cost>,
    /// Transactions, and the sum of their floors: the unit is their ratio.
    count: f64,
    sum: f64,
}

impl Costs {
    /// A transaction of this digest (0: not known) took so long at the server; its weight, which is 1 for
    /// the mean transaction and where nothing is known.
    pub fn weigh(&mut self, digest: u64, busy: Nanos) -> f64 {
        self.weigh_many(digest, busy, 1)
    }

    /// The same for so many of this digest, of which the fastest took so long.
    pub fn weigh_many(&mut self, digest: u64, busy: Nanos, count: u32) -> f64 {
        let seconds = busy.as_secs_f64();
        if digest == 0 || seconds <= 0.0 {
            return 1.0;
        }
        if self.count >= HORIZON {
            self.fade();
        }
        let Some(floor) = self.floor(digest, seconds, f64::from(count)) else { return 1.0 };
        let unit = self.sum / self.count;
        (floor / unit).clamp(*WEIGHT.start(), *WEIGHT.end())
    }

    /// What was forgotten meanwhile counts no more.
    fn fade(&mut self) {
        self.known.values_mut().for_each(|cost| cost.count /= 2.0);
        self.count = self.known.iter().map(|(_, cost)| cost.count).sum();
        self.sum = self.known.iter().map(|(_, cost)| cost.count * cost.floor).sum();
    }

    fn floor(&mut self, digest: u64, seconds: f64, count: f64) -> Option<f64> {
        let cost = self.known.used(digest, Cost { floor: seconds, count: 0.0 })?;
        let floor = (cost.floor * FORGET.powf(count)).min(seconds);
        self.sum += cost.count * (floor - cost.floor) + count * floor;
        self.count += count;
        *cost = Cost { floor, count: cost.count + count };
        Some(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    const MS: Nanos = Nanos::from_millis(1);

    #[test]
    fn the_mean_transaction_weighs_one() {
        let mut costs = Costs::default();
        let work: f64 =
            (0..10_000).map(|turn| costs.weigh(1 + turn % 2, Nanos::from_millis(1 + 8 * (turn % 2)))).sum();
        assert!((work / 10_000.0 - 1.0).abs() < 0.02, "{work}");
    }

    #[test]
    fn a_change_of_mix_changes_completions_but_hardly_work() {
        let mut costs = Costs::default();
        for turn in 0..4_000 {
            costs.weigh(1 + turn % 2, Nanos::from_millis(1 + 3 * (turn % 2)));
        }
        // One CPU: 1,000 ms of the even mix are 400 transactions, of the heavy one 250.
        let even: f64 =
            (0..400).map(|turn| costs.weigh(1 + turn % 2, Nanos::from_millis(1 + 3 * (turn % 2)))).sum();
        let heavy: f64 = (0..250).map(|_| costs.weigh(2, Nanos::from_millis(4))).sum();
        assert!((heavy / even - 1.0).abs() < 0.03, "{even} {heavy}");
    }

    #[test]
    fn a_server_that_becomes_slower_for_all_changes_no_weight() {
        let mut costs = Costs::default();
        let mut spell = |slow: u64| -> f64 {
            (0..20_000)
                .map(|turn| costs.weigh(1 + turn % 2, Nanos::from_micros(slow * (100 + 300 * (turn % 2)))))
                .sum()
        };
        let (before, after) = (spell(1), spell(3));
        assert!((after / before - 1.0).abs() < 0.02, "{before} {after}");
    }

    #[test]
    fn slow_responses_do_not_pass_for_more_work() {
        let mut costs = Costs::default();
        let mut random = Random::new(Seed(3));
        let mut spell = |mean: f64, costs: &mut Costs| -> f64 {
            (0..2_000)
                .map(|_| costs.weigh(7, Nanos::from_secs_f64(0.001 + random.exponential(mean))))
                .sum::<f64>()
        };
        let calm = spell(0.001, &mut costs);
        let crowded = spell(0.050, &mut costs);
        assert!(crowded / calm < 1.1, "{calm} {crowded}");
    }

    #[test]
    fn the_table_is_bounded_and_the_old_make_room() {
        let mut costs = Costs::default();
        for digest in 1..100_000 {
            costs.weigh(digest, MS);
        }
        assert!((1..=Recent::<Cost>::MAX).contains(&costs.known.iter().count()));
        let mut costs = Costs::default();
        assert_eq!(
            (costs.weigh(0, MS), costs.weigh(9, Nanos::ZERO)),
            (1.0, 1.0),
            "what is not known weighs one"
        );
    }
}
