//! How long a host's I/Os take beside those of others, and so how much larger its window must be for the same part of the device.
//!
//! By Little's law a host that has cost `w` outstanding, whose I/Os take `R` in the mean *over cost*, has a part `w / R` of the
//! device. The mean over I/Os would say something else: large I/Os are few and slow. The mean over cost needs costs that
//! are right, and nothing else; not where the time goes, to a queue, to a network or to the I/O itself.

use super::super::{Done, Report};

/// A smoothed latency is the mean of about so many I/Os at least.
const MEMORY: f64 = 40.0;
/// From period to period at least this share of the older I/Os is remembered.
const KEPT: f64 = 0.5;
/// Factor by which a path may differ from what the cost of I/Os explains. Without it, a host that is slow by itself would get more,
/// the slower its window makes it.
const UNEXPLAINED: f64 = 2.0;

/// Sums over the latest I/Os of this host, older ones with less weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    done: Done,
    /// Number of the I/Os that these are sums over.
    count: f64,
}

impl Path {
    /// A period has ended. Where it had few I/Os they count little, and where it had none nothing is forgotten. A time of many
    /// I/Os counts no more than a memory of them when few are left.
    pub fn learn(&mut self, done: Done, completions: u64) {
        if completions == 0 || done.cost <= 0.0 {
            return;
        }
        let new = completions as f64;
        let keep = (-new / MEMORY).exp().max(KEPT).min(new.max(MEMORY) / self.count.max(1.0));
        let mix = |old: &mut f64, new: f64| *old = *old * keep + new;
        mix(&mut self.count, new);
        mix(&mut self.done.cost, done.cost);
        mix(&mut self.done.cost_seconds, done.cost_seconds);
        mix(&mut self.done.cost_squares, done.cost_squares);
    }

    /// Latency in the mean over cost, in seconds, and the cost of an I/O alike; 0 where nothing was learnt.
    pub fn figures(&self) -> (f64, f64) {
        let Done { cost, cost_seconds, cost_squares } = self.done;
        if cost > 0.0 { (cost_seconds / cost, cost_squares / cost) } else { (0.0, 0.0) }
    }
}

/// Of each host, the window that its part needs over that of a host with the mean latency; 1 where nothing is known.
///
/// Without other paths it lies between 1, where I/Os wait for long, and the grain over the mean grain, where they do not
/// wait and take the longer, the more they cost. Beyond that it is believed up to a factor.
pub fn paths(all: &[Report]) -> Vec<f64> {
    let is_known = |report: &Report| report.cost_latency > 0.0 && report.grain > 0.0;
    let known = all.iter().filter(|report| is_known(report) && report.completions > 0);
    let (mut latency, mut grain, mut count) = (0.0, 0.0, 0.0);
    for report in known {
        let weight = report.completions as f64;
        latency += weight * report.cost_latency;
        grain += weight * report.grain;
        count += weight;
    }
    let path = |report: &Report| {
        if count == 0.0 || !is_known(report) {
            return 1.0;
        }
        let explained = report.grain / (grain / count);
        let (least, most) = (explained.min(1.0) / UNEXPLAINED, explained.max(1.0) * UNEXPLAINED);
        (report.cost_latency / (latency / count)).clamp(least, most)
    };
    all.iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(completions: u64, cost_latency: f64, grain: f64) -> Report {
        Report { completions, cost_latency, grain, ..Report::default() }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-6),
            "{found:?}, {expected:?}"
        );
    }

    #[test]
    fn a_few_ios_in_each_period_are_heard_in_the_end() {
        let mut path = Path::default();
        assert_eq!(path.figures(), (0.0, 0.0));
        for _ in 0..100 {
            path.learn(Done { cost: 16.0, cost_seconds: 16.0 * 0.04, cost_squares: 256.0 }, 1);
            path.learn(Done::default(), 0);
        }
        let (latency, grain) = path.figures();
        close(&[latency, grain], &[0.04, 16.0]);
        (0..400).for_each(|_| path.learn(Done { cost: 1.0, cost_seconds: 0.01, cost_squares: 1.0 }, 1));
        assert!((path.figures().0 / 0.01 - 1.0).abs() < 0.1, "{:?}", path.figures());
        path.learn(Done { cost: 1e4, cost_seconds: 300.0, cost_squares: 1e4 }, 10_000);
        assert!((path.figures().0 / 0.03 - 1.0).abs() < 0.1, "many count at once: {:?}", path.figures());
        (0..200).for_each(|_| path.learn(Done { cost: 1.0, cost_seconds: 0.01, cost_squares: 1.0 }, 1));
        assert!((path.figures().0 / 0.01 - 1.0).abs() < 0.1, "and no longer: {:?}", path.figures());
    }

    #[test]
    fn large_ios_that_take_as_much_longer_as_they_cost_are_believed() {
        let all = [report(900, 0.001, 1.0), report(100, 0.016, 16.0)];
        close(&paths(&all), &[0.001 / 0.0025, 0.016 / 0.0025]);
    }

    #[test]
    fn what_costs_do_not_explain_is_believed_up_to_a_factor_of_two() {
        let all = [report(500, 0.010, 1.0), report(500, 0.990, 1.0)];
        close(&paths(&all), &[0.5, 1.98]);
        let all = [report(900, 0.010, 1.0), report(100, 9.0, 1.0)];
        close(&paths(&all), &[0.5, 2.0]);
    }

    #[test]
    fn whose_path_is_not_known_has_one_of_one() {
        assert_eq!(paths(&[report(0, 0.0, 0.0), report(9, f64::NAN, 1.0)]), [1.0, 1.0]);
        let all = [report(0, 0.02, 1.0), report(10, 0.01, 1.0), report(5, 0.0, 0.0)];
        close(&paths(&all), &[2.0, 1.0, 1.0]);
    }
}
