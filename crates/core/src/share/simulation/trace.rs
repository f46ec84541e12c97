use super::Stretch;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub at_s: f64,
    pub host: usize,
    pub window: f64,
    pub outstanding: f64,
    /// Mean wanted in it, sent or held back, in units of cost.
    pub wanted: f64,
    /// Shares of its disks, each as far as it filled its part of the window in force: beta over K.
    pub used: f64,
    pub completions: u64,
    pub latency_s: Option<f64>,
    /// Cost completed per second: what it had of the device, as the host takes I/Os to cost.
    pub cost_per_s: f64,
    /// Device time of what it sent, in seconds of one spindle, by the array's own account; 0 where nobody keeps one.
    pub device_s: f64,
    pub seconds: f64,
    /// That the device is not divided by shares, where the host says so: its part over the one due to it.
    pub unfair: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub rows: Vec<Row>,
    hosts: usize,
    period_s: f64,
}

impl Trace {
    /// Of so many hosts with a window every `period_s` seconds, without a period.
    pub fn new(hosts: usize, period_s: f64) -> Self {
        Self { rows: Vec::new(), hosts, period_s }
    }

    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    fn within(&self, (from_s, until_s): Stretch) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.at_s > from_s && row.at_s <= until_s)
    }

    pub fn has(&self, stretch: Stretch, host: usize) -> bool {
        self.within(stretch).any(|row| row.host == host)
    }

    /// A figure of each host, summed over its periods and divided by their length.
    fn per_s(&self, stretch: Stretch, figure: impl Fn(&Row) -> f64) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.hosts];
        for row in self.within(stretch) {
            let (sum, seconds) = &mut sums[row.host];
            *sum += figure(row);
            *seconds += row.seconds;
        }
        sums.into_iter().map(|(sum, seconds)| if seconds > 0.0 { sum / seconds } else { 0.0 }).collect()
    }

    pub fn iops(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.completions as f64)
    }

    /// Cost per second of each host: its part of the device, if I/Os cost what it takes them to.
    pub fn cost_per_s(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.cost_per_s * row.seconds)
    }

    /// Device time per second of each host, by the array's own account.
    pub fn device_per_s(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.device_s)
    }

    pub fn windows(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.window * row.seconds)
    }

    pub fn outstanding(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.outstanding * row.seconds)
    }

    /// Mean wanted of each host, sent or held back, in units of cost.
    pub fn wanted(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.wanted * row.seconds)
    }

    /// Mean shares that each host used, as far as its disks filled their parts of the window: beta over K.
    pub fn used(&self, stretch: Stretch) -> Vec<f64> {
        self.per_s(stretch, |row| row.used * row.seconds)
    }

    /// Mean latency over all I/Os of some hosts in seconds; `None` where there were none.
    pub fn latency_s(&self, stretch: Stretch, hosts: impl Fn(usize) -> bool) -> Option<f64> {
        let rows = self.within(stretch).filter(|row| hosts(row.host));
        let (sum, count) = rows.fold((0.0, 0.0), |(sum, count), row| {
            let weight = row.completions as f64;
            (sum + weight * row.latency_s.unwrap_or(0.0), count + weight)
        });
        (count > 0.0).then(|| sum / count)
    }

    /// Periods from the start of a stretch until the device is divided by `shares` within a tolerance, in the mean over
    /// each `hold` periods from then on; `None` where it never is.
    pub fn periods_to_share(
        &self,
        (from_s, until_s): Stretch,
        shares: &[f64],
        tolerance: f64,
        hold: usize,
    ) -> Option<usize> {
        let periods = ((until_s - from_s) / self.period_s) as usize;
        let at = |number: usize| from_s + number as f64 * self.period_s;
        let is_off = |start: usize| {
            let parts = self.cost_per_s((at(start), at(start + hold)));
            share_error(&parts, shares) > tolerance
        };
        let last = periods.checked_sub(hold)?;
        match (0..=last).rev().find(|&start| is_off(start)) {
            None => Some(0),
            Some(start) if start < last => Some(start + 1),
            Some(_) => None,
        }
    }
}

/// Largest relative difference of a part from what its shares give it; hosts without shares do not count.
pub fn share_error(parts: &[f64], shares: &[f64]) -> f64 {
    let counted = parts.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    let (sum, all) = counted.clone().fold((0.0, 0.0), |(sum, all), (part, share)| (sum + part, all + share));
    let error = counted.map(|(part, share)| (part / sum / (share / all) - 1.0).abs());
    error.fold(0.0, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) })
}
