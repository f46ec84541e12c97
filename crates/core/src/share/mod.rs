//! Hosts that share storage: how many I/Os each may have outstanding, with no scheduler above them.
//!
//! Every period a host measures ([`Period`]), sends a [`Report`] to the others, reads theirs, and sets its *window*: the most
//! I/Os that it may have outstanding, in units of the cost of one. The laws that set a window ([`law`]) are values without a
//! clock. A [`Pacer`] keeps to a window that is no whole number, a [`Queue`] divides it between the disks of a host, and an
//! [`Admission`] is both with what a host measures. An [`Array`] is storage with known answers, and [`simulation`] puts all of
//! them together on a virtual clock. [`knee`] finds the latency threshold from what storage does at each depth.

mod admission;
mod array;
pub mod costs;
pub mod experiment;
pub mod knee;
pub mod law;
mod pacer;
pub mod simulation;
mod turns;

pub use admission::{Admission, Measured, Sent};
pub use array::{Array, ArrayPlan, Cache, Calendar, Cost, Io, Own, Service};
pub use costs::{Costs, CostsError, SIZES_MAX, UNIT_BYTES};
pub use law::{Law, WindowLaw};
pub use pacer::{Pacer, Queue};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskUse {
    pub shares: f64,
    /// Mean I/Os that it wanted outstanding, sent or held back, in units of cost.
    pub wanted: f64,
}

/// Sums over the I/Os of a host that completed in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    pub cost: f64,
    /// Cost times latency in seconds, summed over them.
    pub cost_seconds: f64,
    /// Squares of their costs, summed.
    pub cost_squares: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Period {
    pub outstanding: f64,
    /// Mean over the I/Os that were sent of the cost outstanding at that moment, each itself included.
    pub met: f64,
    /// Mean latency in seconds from sent to completed; `None` where nothing completed.
    pub latency: Option<f64>,
    pub completions: u64,
    pub done: Done,
    pub rate: f64,
    pub disks: Vec<DiskUse>,
}

impl Period {
    pub fn wanted(&self) -> f64 {
        self.disks.iter().map(|disk| disk.wanted).sum()
    }

    pub fn shares(&self) -> f64 {
        self.disks.iter().map(|disk| disk.shares).sum()
    }

    /// Shares of the disks, each as far as it fills its part of the window that was in force: the published law's beta
    /// over its K. `window` is in units of cost.
    pub fn used_shares(&self, window: f64) -> f64 {
        let all = self.shares();
        let used = |wanted: f64, shares: f64| (wanted / (window * shares / all)).min(1.0) * shares;
        self.disks.iter().map(|disk| used(disk.wanted, disk.shares)).filter(|used| used.is_finite()).sum()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub disks: Vec<DiskUse>,
    /// The largest window that the host may have; 0 where nothing bounds it.
    pub most: f64,
    pub outstanding: f64,
    /// Latency in seconds, smoothed by its law; 0 where nothing has completed yet.
    pub latency: f64,
    /// I/Os completed in the period: the weight of its latency.
    pub completions: u64,
    /// The window of all hosts together as its law takes it to be; 0 where the law has no such figure.
    pub total: f64,
    /// Cost completed per second in the period, which is the host's part of the device as far as costs are right.
    pub rate: f64,
    /// Latency in seconds in the mean over cost instead of over I/Os, smoothed; 0 where nothing has completed yet.
    pub cost_latency: f64,
    /// Cost of its I/Os in the mean over cost (sum of squares over sum), smoothed alike; 0 where nothing has.
    pub grain: f64,
}

impl Report {
    /// The report of what was measured, for a law without figures of its own; `most` is the largest window of the host.
    pub fn of(period: &Period, most: f64) -> Self {
        let Done { cost, cost_seconds, cost_squares } = period.done;
        let over_cost = |sum: f64| if cost > 0.0 { sum / cost } else { 0.0 };
        Self {
            disks: period.disks.clone(),
            most,
            outstanding: period.outstanding,
            latency: period.latency.unwrap_or(0.0),
            completions: period.completions,
            total: 0.0,
            rate: period.rate,
            cost_latency: over_cost(cost_seconds),
            grain: over_cost(cost_squares),
        }
    }
}

/// Mean latency over hosts, weighted by their I/Os; `None` where nothing completed anywhere.
pub fn mean_latency(reports: &[Report]) -> Option<f64> {
    let heard = reports.iter().filter(|report| report.latency > 0.0 && report.latency.is_finite());
    let (sum, count) = heard.fold((0.0, 0.0), |(sum, count), report| {
        let weight = report.completions as f64;
        (sum + weight * report.latency, count + weight)
    });
    (count > 0.0).then(|| sum / count)
}

// Weighted water-filling: everybody gets his share, nobody more than he can use, and what is left goes to the others.

/// What somebody gets at a level: nothing where his weight or his cap is not above zero.
fn under(level: f64, weight: f64, cap: f64) -> f64 {
    if weight > 0.0 && cap > 0.0 { cap.min(level * weight) } else { 0.0 }
}

/// The level at which what all get adds up to `total`: the part of whoever is not full, over his weight; infinite where
/// all are full before. Of different lengths the shorter counts.
fn level(total: f64, weights: &[f64], caps: &[f64]) -> f64 {
    let claims = weights.iter().copied().zip(caps.iter().copied());
    let mut open: Vec<(f64, f64)> = claims.filter(|&(weight, cap)| weight > 0.0 && cap > 0.0).collect();
    // Whoever is full first has the least cap for its weight.
    open.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let mut left = if total.is_finite() { total.max(0.0) } else { 0.0 };
    let mut weights: f64 = open.iter().map(|(weight, _)| weight).sum();
    for (weight, cap) in open {
        if cap / weight > left / weights {
            return left / weights;
        }
        left -= cap;
        weights -= weight;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(total: f64, weights: &[f64], caps: &[f64]) -> Vec<f64> {
        let level = level(total, weights, caps);
        weights.iter().zip(caps).map(|(&weight, &cap)| under(level, weight, cap)).collect()
    }

    fn close(parts: &[f64], expected: &[f64]) {
        assert_eq!(parts.len(), expected.len());
        for (part, expected) in parts.iter().zip(expected) {
            assert!((part - expected).abs() < 1e-9, "{parts:?}");
        }
    }

    #[test]
    fn parts_follow_the_weights_where_no_cap_binds() {
        close(&fill(30.0, &[1.0, 2.0], &[100.0, 100.0]), &[10.0, 20.0]);
    }

    #[test]
    fn what_one_cannot_use_goes_to_the_others_by_their_weights() {
        close(&fill(32.0, &[1.0, 1.0, 2.0], &[2.0, 100.0, 100.0]), &[2.0, 10.0, 20.0]);
    }

    #[test]
    fn nobody_gets_more_than_he_can_use() {
        close(&fill(1_000.0, &[1.0, 4.0], &[3.0, 5.0]), &[3.0, 5.0]);
        close(&fill(10.0, &[0.0, 1.0], &[5.0, 0.0]), &[0.0, 0.0]);
        close(&fill(f64::NAN, &[1.0], &[5.0]), &[0.0]);
    }
}
