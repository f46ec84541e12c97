//! What the hosts say of their periods while both stores are ordered from.

use super::NAMES;
use crate::harness::Series;
use crate::published::{HostStatus, Periods, of_hosts};
use evenkeel_core::statistics::Estimate;

/// What is known of each period of a host.
pub const OF_HOST: [&str; 6] = ["window", "outstanding", "wanted", "beta", "ios_per_s", "latency_ms"];

/// Its end since both loads began, whose it was, and the figures.
pub type Row = (f64, usize, [Option<f64>; OF_HOST.len()]);

pub struct Watch {
    seen: Periods,
    /// Measured time.
    within: (f64, f64),
    pub rows: Vec<Row>,
    /// Of each host first and last within the measured time: seconds on its own clock, and I/Os since it began.
    ends: [Option<[(f64, u64); 2]>; NAMES.len()],
}

impl Watch {
    pub fn new(within: (f64, f64)) -> Self {
        Self { seen: Periods::new(NAMES.len()), within, rows: Vec::new(), ends: Default::default() }
    }

    /// Adds a period of a host that is new; it ended just before `now_s`.
    pub fn look(&mut self, host: usize, status: &HostStatus, now_s: f64) {
        let Some((window, _)) = self.seen.look(host, status) else { return };
        // As the law counts it; by its formula where another one sets the window, and has none.
        let beta = status.beta.unwrap_or_else(|| status.used_shares(window));
        let known = [status.window, status.outstanding, status.wanted(), beta, status.ios_per_s].map(Some);
        let [window, outstanding, wanted, beta, ios] = known;
        let latency_ms = status.latency_s.map(|seconds| 1e3 * seconds);
        self.rows.push((now_s, host, [window, outstanding, wanted, beta, ios, latency_ms]));
        if self.is_measured(now_s) {
            let counted = (status.at_s, status.disks.iter().map(|disk| disk.ios).sum());
            self.ends[host] = Some([self.ends[host].map_or(counted, |[first, _]| first), counted]);
        }
    }

    fn is_measured(&self, at_s: f64) -> bool {
        at_s > self.within.0 && at_s <= self.within.1
    }

    /// What the disk of a host did in the measured time: means over periods, the rate of all I/Os, and the latency over them.
    pub fn figures(&self, host: usize) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let own = self.rows.iter().filter(|(at_s, of, _)| *of == host && self.is_measured(*at_s));
        let own: Vec<_> = own.map(|(.., values)| values).collect();
        let mean = |place: usize| {
            let values: Vec<f64> = own.iter().filter_map(|values| values[place]).collect();
            Estimate::of(&values).map(|mean| mean.mean)
        };
        let latencies = own.iter().filter_map(|values| values[4].zip(values[5]));
        let (ios, sum) = latencies.fold((0.0, 0.0), |(ios, sum), (more, ms)| (ios + more, sum + more * ms));
        let rate = self.ends[host]
            .map_or(0.0, |[first, last]| (last.1 - first.1) as f64 / (last.0 - first.0).max(1e-9));
        let latency_ms = (ios > 0.0).then(|| sum / ios);
        let known = [mean(0), mean(1), mean(2), mean(3), Some(rate), latency_ms];
        OF_HOST.into_iter().zip(known)
    }

    /// Every period of both hosts.
    pub fn series(&self) -> Series {
        of_hosts(&NAMES, OF_HOST, self.rows.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::DiskStatus;

    fn status(at_s: f64, ios: u64, window: f64) -> HostStatus {
        let disk = DiskStatus { shares: 4.0, wanted: 8.0, ios };
        HostStatus { at_s, window, ios_per_s: 100.0, disks: vec![disk], ..HostStatus::default() }
    }

    #[test]
    fn a_period_is_counted_once_and_rates_are_of_all_ios_between() {
        let mut watch = Watch::new((0.5, 3.0));
        for (at_s, ios, now_s) in
            [(1.0, 0, 0.1), (1.0, 0, 0.3), (1.5, 40, 0.6), (2.0, 100, 1.1), (3.5, 400, 2.6)]
        {
            watch.look(1, &status(at_s, ios, 16.0), now_s);
        }
        assert_eq!(watch.rows.len(), 4);
        let of = |host: usize, name: &str| watch.figures(host).find(|(known, _)| *known == name).unwrap().1;
        assert_eq!(of(1, "ios_per_s"), Some(180.0), "360 in 2 s, although periods were missed");
        assert_eq!(of(1, "wanted"), Some(8.0));
        assert_eq!(of(0, "ios_per_s"), Some(0.0), "of the other nothing was heard");
    }

    #[test]
    fn beta_is_of_the_window_that_the_period_had() {
        let mut watch = Watch::new((0.0, 1.0));
        watch.look(1, &status(1.0, 0, 16.0), 0.1);
        watch.look(1, &status(1.5, 0, 4.0), 0.6);
        let beta: Vec<Option<f64>> = watch.rows.iter().map(|(.., values)| values[3]).collect();
        assert_eq!(
            beta,
            [Some(2.0), Some(2.0)],
            "8 of 16, also in the period at whose end the window fell to 4"
        );
    }
}
