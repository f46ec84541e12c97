//! How long a host's I/Os take beside those of others, and so how much larger its window must be for the same part of the device.
//!
//! By Little's law a host that has cost `w` outstanding, whose I/Os take `R` in the mean *over cost*, has a part `w / R` of the
//! device. The mean over I/Os would say something else: large I/Os are few and slow. The mean over cost needs costs that
//! are right, and nothing else; not where the time goes, to a queue, to a network or to the I/O itself.

use super::super::{DiskUse, Done, Report, level, under};

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

/// How much more than it wants a disk may get: a factor, and I/Os beyond that.
const MARGIN: (f64, f64) = (1.2, 1.0);
/// The least part of the total for each host; below it nothing would move any more.
const WINDOW_MIN: f64 = 0.01;
/// The largest window of a host that has no bound of its own.
const UNBOUNDED: f64 = 1e6;
/// A disk that wants less than this in the mean is idle.
const IDLE: f64 = 0.05;

/// The largest window that a disk can use. A disk that is idle while its host is not gets nothing extra: when it comes back it
/// uses the window of the host.
fn cap(wanted: f64, host_is_idle: bool) -> f64 {
    let more = if wanted >= IDLE || host_is_idle { MARGIN.1 } else { 0.0 };
    MARGIN.0 * wanted.max(0.0) + more
}

/// A disk's claim to a part of the total.
struct Claim {
    host: usize,
    weight: f64,
    used: f64,
    cap: f64,
}

/// Divides the total and gives each host the sum of its disks' windows; `paths` has each host's latency over the mean.
///
/// By what disks use: who uses less than his part leaves the rest to the others. His window is a little larger than that,
/// to grow into, and this room is on top of the total. Taken from it, it would be room that nobody fills; the next total
/// follows from what is outstanding, which lacks it, so the latency would rest below the threshold, by the more the smaller
/// the windows are. Who would have more than he may have has that, and what nobody has goes to all by their shares.
pub fn divide(total: f64, all: &[Report], paths: &[f64]) -> Vec<f64> {
    let (mut open, mut claims) = (total, claims(all, paths));
    let mut parts = vec![0.0; all.len()];
    loop {
        let (weights, used): (Vec<f64>, Vec<f64>) =
            claims.iter().map(|claim| (claim.weight, claim.used)).unzip();
        let level = level(open, &weights, &used);
        let mut sums = vec![0.0; all.len()];
        for claim in &claims {
            sums[claim.host] += under(level, claim.weight, claim.cap);
        }
        let most = |host: usize| if all[host].most > 0.0 { all[host].most } else { f64::MAX };
        let Some(full) = (0..all.len()).find(|&host| sums[host] > most(host)) else {
            parts.iter_mut().zip(sums).for_each(|(part, sum)| *part += sum);
            break;
        };
        parts[full] = most(full);
        let uses: f64 = claims.iter().filter(|claim| claim.host == full).map(|claim| claim.used).sum();
        open -= uses.min(most(full));
        claims.retain(|claim| claim.host != full);
    }
    let left = (total - parts.iter().sum::<f64>()).max(0.0);
    let shares: f64 = all.iter().map(shares).sum();
    if shares > 0.0 {
        parts.iter_mut().zip(all).for_each(|(part, report)| *part += left * self::shares(report) / shares);
    }
    parts
}

/// Least and most that the total may be: nobody can fill more than all may have, and from next to nothing there is no way
/// back by factors. Storage far faster than the threshold, or one figure that is a lie, would take it out of sight.
pub fn bounds(all: &[Report]) -> (f64, f64) {
    let least = WINDOW_MIN * all.len() as f64;
    let most = |report: &Report| if report.most > 0.0 { report.most.min(UNBOUNDED) } else { UNBOUNDED };
    (least, all.iter().map(most).sum::<f64>().max(least))
}

fn claims(all: &[Report], paths: &[f64]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (host, (report, path)) in all.iter().zip(paths).enumerate() {
        let wanted: f64 = report.disks.iter().map(|disk| disk.wanted.max(0.0)).sum();
        let idle = report.disks.iter().all(|disk| disk.wanted < IDLE);
        // In a burst a host uses more than it wants in the mean.
        let bursts = (report.outstanding / wanted).max(1.0);
        let claim = |disk: &DiskUse| {
            let cap = cap(disk.wanted, idle);
            let used = (disk.wanted.max(0.0) * bursts).min(cap);
            Claim { host, weight: disk.shares.max(0.0) * path, used, cap }
        };
        claims.extend(report.disks.iter().map(claim));
    }
    claims
}

fn shares(report: &Report) -> f64 {
    report.disks.iter().map(|disk| disk.shares.max(0.0)).sum()
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

    fn wants(shares: f64, wanted: f64) -> Report {
        Report { disks: vec![DiskUse { shares, wanted }], outstanding: wanted, ..Report::default() }
    }

    #[test]
    fn room_to_grow_into_is_taken_from_nobody() {
        let parts = divide(4.0, &[wants(5.0, 1.0), wants(3.0, 20.0)], &[1.0; 2]);
        assert!((parts[1] - 3.0).abs() < 1e-9, "{parts:?}");
        assert!((parts[0] - 2.2).abs() < 1e-9, "{parts:?}");
    }

    #[test]
    fn who_grows_gets_no_more_than_his_shares_give_him() {
        let parts = divide(4.0, &[wants(1.0, 1.0), wants(1.0, 20.0)], &[1.0; 2]);
        assert!((parts[0] - 2.2).abs() < 1e-9, "{parts:?}");
        let parts = divide(2.4, &[wants(1.0, 1.0), wants(1.0, 20.0)], &[1.0; 2]);
        assert!((parts[0] - 1.4).abs() < 1e-9 && (parts[1] - 1.4).abs() < 1e-9, "{parts:?}");
    }

    #[test]
    fn what_nobody_can_use_goes_to_all_by_shares() {
        let parts = divide(30.0, &[wants(1.0, 5.0), wants(3.0, 5.0)], &[1.0; 2]);
        assert!((parts[0] - 11.0).abs() < 1e-9 && (parts[1] - 19.0).abs() < 1e-9, "{parts:?}");
    }
}
