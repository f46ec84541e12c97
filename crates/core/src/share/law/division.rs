use super::super::fill::{level, under};
use super::super::{DiskUse, Report};

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
