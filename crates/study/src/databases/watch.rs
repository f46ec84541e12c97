//! What the hosts say of their periods while both stores are ordered from.

use super::beta;
use super::record::Period;
use super::{NAMES, SHARES};
use crate::published::HostStatus;

#[derive(Debug, Default)]
pub struct Watch {
    pub periods: Vec<Period>,
    /// The last period of each host, on its own clock.
    last: [Option<Counted>; NAMES.len()],
    /// First and last within the measured time.
    ends: [Option<(Counted, Counted)>; NAMES.len()],
}

/// I/Os since a host began, and when.
#[derive(Clone, Copy, Debug)]
struct Counted {
    at_s: f64,
    ios: u64,
    window: f64,
}

impl Watch {
    /// Adds a period of a host that is new; it ended just before `now_s`. Measured time is `within`.
    pub fn look(&mut self, host: usize, status: &HostStatus, now_s: f64, within: (f64, f64)) {
        let counted = Counted {
            at_s: status.at_s,
            ios: status.disks.iter().map(|disk| disk.ios).sum(),
            window: status.window,
        };
        let before = self.last[host].replace(counted);
        if before.is_some_and(|before| before.at_s >= status.at_s) {
            return;
        }
        let wanted = status.disks.iter().map(|disk| disk.wanted).sum();
        // What was wanted in a period met the window that was set at its beginning.
        let window = before.map_or(status.window, |before| before.window);
        self.periods.push(Period {
            at_s: now_s,
            host,
            window: status.window,
            outstanding: status.outstanding,
            wanted,
            // As the law counts it; by its formula where another one sets the window, and has none.
            beta: status.beta.unwrap_or_else(|| beta(SHARES[host], wanted, window)),
            ios_per_s: status.ios_per_s,
            latency_s: status.latency_s,
        });
        if now_s > within.0 && now_s <= within.1 {
            let first = self.ends[host].map_or(counted, |(first, _)| first);
            self.ends[host] = Some((first, counted));
        }
    }

    /// What the disk of a host did in the measured time.
    pub fn figures(&self, host: usize, within: (f64, f64)) -> [(&'static str, Option<f64>); 6] {
        let measured: Vec<&Period> = self
            .periods
            .iter()
            .filter(|period| period.host == host && period.at_s > within.0 && period.at_s <= within.1)
            .collect();
        let mean = |of: fn(&Period) -> f64| {
            measured.iter().map(|period| of(period)).sum::<f64>() / measured.len().max(1) as f64
        };
        let ios_per_s = self.ends[host]
            .map_or(0.0, |(first, last)| (last.ios - first.ios) as f64 / (last.at_s - first.at_s).max(1e-9));
        [
            ("ios_per_s", Some(ios_per_s)),
            ("latency_ms", latency_ms(&measured)),
            ("window", Some(mean(|period| period.window))),
            ("wanted", Some(mean(|period| period.wanted))),
            ("outstanding", Some(mean(|period| period.outstanding))),
            ("beta", Some(mean(|period| period.beta))),
        ]
    }
}

/// Mean over I/Os.
fn latency_ms(periods: &[&Period]) -> Option<f64> {
    let known = periods.iter().filter_map(|period| Some((period.ios_per_s, period.latency_s?)));
    let (ios, sum) = known.fold((0.0, 0.0), |(ios, sum), (more, latency)| (ios + more, sum + more * latency));
    (ios > 0.0).then(|| 1e3 * sum / ios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::DiskStatus;

    fn status(at_s: f64, ios: u64, window: f64) -> HostStatus {
        let disk = DiskStatus { shares: 1.0, wanted: 8.0, ios };
        HostStatus { at_s, window, ios_per_s: 100.0, disks: vec![disk], ..HostStatus::default() }
    }

    #[test]
    fn a_period_is_counted_once_and_rates_are_of_all_ios_between() {
        let mut watch = Watch::default();
        for (at_s, ios, now_s) in
            [(1.0, 0, 0.1), (1.0, 0, 0.3), (1.5, 40, 0.6), (2.0, 100, 1.1), (3.5, 400, 2.6)]
        {
            watch.look(1, &status(at_s, ios, 16.0), now_s, (0.5, 3.0));
        }
        assert_eq!(watch.periods.len(), 4);
        let of = |host: usize, name: &str| {
            watch.figures(host, (0.5, 3.0)).into_iter().find(|(known, _)| *known == name).unwrap().1
        };
        assert_eq!(of(1, "ios_per_s"), Some(180.0), "360 in 2 s, although periods were missed");
        assert_eq!(of(1, "wanted"), Some(8.0));
        assert_eq!(of(0, "ios_per_s"), Some(0.0), "of the other nothing was heard");
    }

    #[test]
    fn beta_is_of_the_window_that_the_period_had() {
        let mut watch = Watch::default();
        watch.look(1, &status(1.0, 0, 16.0), 0.1, (0.0, 1.0));
        watch.look(1, &status(1.5, 0, 4.0), 0.6, (0.0, 1.0));
        let beta: Vec<f64> = watch.periods.iter().map(|period| period.beta).collect();
        assert_eq!(beta, [2.0, 2.0], "8 of 16, also in the period at whose end the window fell to 4");
    }
}
