//! What hosts of shared storage say of their periods, and how that is kept.

use super::program::HostStatus;
use crate::harness::Series;
use evenkeel_core::share::{DiskUse, Period};
use std::fmt::Display;

/// Tells periods that are new from those that were seen.
#[derive(Debug)]
pub(crate) struct Periods {
    /// End of the last period of each host, on its own clock, and the window from then on.
    last: Vec<Option<(f64, f64)>>,
}

impl Periods {
    pub fn new(hosts: usize) -> Self {
        Self { last: vec![None; hosts] }
    }

    /// Where a period is new: the window that it had, and the seconds since the one before that was seen.
    pub fn look(&mut self, host: usize, status: &HostStatus) -> Option<(f64, Option<f64>)> {
        let before = self.last[host].replace((status.at_s, status.window));
        match before {
            // What was wanted in a period met the window that was set at its beginning.
            Some((at_s, window)) => (at_s < status.at_s).then_some((window, Some(status.at_s - at_s))),
            None => Some((status.window, None)),
        }
    }
}

impl HostStatus {
    pub(crate) fn wanted(&self) -> f64 {
        self.period().wanted()
    }

    /// Shares as far as they are used by a period with this window: the published law's beta over its K.
    pub(crate) fn used_shares(&self, window: f64) -> f64 {
        self.period().used_shares(window)
    }

    fn period(&self) -> Period {
        let disks = self.disks.iter().map(|disk| DiskUse { shares: disk.shares, wanted: disk.wanted });
        Period { disks: disks.collect(), ..Period::default() }
    }
}

/// Columns for each host, as `window@a`, and a row for each period: its end, whose it is, and its values.
pub(crate) fn of_hosts<const N: usize>(
    hosts: &[impl Display],
    figures: [&str; N],
    periods: impl Iterator<Item = (f64, usize, [Option<f64>; N])>,
) -> Series {
    let columns: Vec<String> =
        hosts.iter().flat_map(|host| figures.map(|figure| format!("{figure}@{host}"))).collect();
    let row = |(at_s, host, own): (f64, usize, [Option<f64>; N])| {
        let mut values = vec![None; columns.len()];
        values[host * N..(host + 1) * N].copy_from_slice(&own);
        (at_s, values)
    };
    Series { rows: periods.map(row).collect(), columns }
}
