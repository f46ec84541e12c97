//! Hosts, an array and the hosts' reports on a virtual clock.

mod run;

use super::{ArrayPlan, Costs, Io, Law};
use crate::random::Seed;
pub use run::run;

pub type Stretch = (f64, f64);

/// A stretch in which the clients of a disk want fewer I/Os than at other times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lull {
    pub stretch: Stretch,
    /// I/Os wanted outstanding in it, at least one.
    pub depth: u32,
}

/// One virtual disk: I/Os that its clients always want outstanding while they are there.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPlan {
    pub shares: f64,
    pub depth: u32,
    pub bytes: u32,
    /// Share of writes, 0 to 1.
    pub writes: f64,
    /// When its clients are there; always where empty.
    pub active: Vec<Stretch>,
    pub lull: Option<Lull>,
}

impl DiskPlan {
    /// 16 KB reads, always there.
    pub fn new(shares: f64, depth: u32) -> Self {
        Self { shares, depth, bytes: 16_384, writes: 0.0, active: Vec::new(), lull: None }
    }

    /// Stretches of one depth each, in order, up to `until_s` seconds.
    pub fn spells(&self, until_s: f64) -> Vec<(Stretch, u32)> {
        let always = [(0.0, until_s)];
        let there = if self.active.is_empty() { &always[..] } else { &self.active };
        there.iter().flat_map(|&stretch| self.parts(stretch)).collect()
    }

    /// A stretch, cut where the lull begins and ends.
    fn parts(&self, (from_s, until_s): Stretch) -> Vec<(Stretch, u32)> {
        let Some(Lull { stretch, depth }) = self.lull else { return vec![((from_s, until_s), self.depth)] };
        let cuts = [stretch.0, stretch.1].map(|at_s| at_s.clamp(from_s, until_s));
        let parts =
            [((from_s, cuts[0]), self.depth), ((cuts[0], cuts[1]), depth), ((cuts[1], until_s), self.depth)];
        parts.into_iter().filter(|((begin_s, end_s), _)| end_s > begin_s).collect()
    }

    fn io(&self, unit: f64) -> Io {
        Io { bytes: self.bytes, write: unit < self.writes }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct HostPlan {
    pub law: Law,
    /// Whether it reports to the others; an outsider does not.
    pub reports: bool,
    pub disks: Vec<DiskPlan>,
    /// Seconds that the way to the storage adds to each latency.
    pub path_s: f64,
    /// What it takes I/Os to cost; `None` for what they cost the array.
    pub costs: Option<Costs>,
}

impl HostPlan {
    pub fn new(law: Law, disk: DiskPlan) -> Self {
        Self { law, reports: true, disks: vec![disk], path_s: 0.0, costs: None }
    }

    /// The instants after the start at which its clients come, go, or want another number of I/Os.
    fn changes(&self) -> Vec<f64> {
        let spells = self.disks.iter().flat_map(|disk| disk.spells(f64::INFINITY));
        let edges = spells.flat_map(|((from_s, until_s), _)| [from_s, until_s]);
        edges.filter(|at_s| *at_s > 0.0 && at_s.is_finite()).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub array: ArrayPlan,
    pub hosts: Vec<HostPlan>,
    /// Seconds between two updates of a host; hosts update one after the other, spread over it.
    pub period_s: f64,
    pub duration_s: f64,
    pub seed: Seed,
}

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

#[cfg(test)]
mod tests {
    use super::super::law::Settings;
    use super::*;
    use crate::share::{Cost, Costs, Service};

    /// The array that the published one is stood for by: calibrated on the first table of its evaluation.
    const PUBLISHED: ArrayPlan =
        ArrayPlan { spindles: 10, mean_s: 0.0029, service: Service::Uniform(0.6), cost: COST, cache: None };
    const COST: Cost = Cost { per_byte: 0.4 / (240.0 * 1_024.0), write: 1.0 };

    fn scenario(law: Law, shares: &[f64], depth: u32) -> Scenario {
        let hosts = shares.iter().map(|&shares| HostPlan::new(law, DiskPlan::new(shares, depth))).collect();
        Scenario { array: PUBLISHED, hosts, period_s: 2.0, duration_s: 120.0, seed: Seed(1) }
    }

    #[test]
    fn disks_of_one_host_divide_its_window_by_their_shares() {
        let mut scenario = scenario(Law::Evenkeel(Settings::new(0.025)), &[3.0, 1.0], 64);
        scenario.hosts[0].disks = vec![DiskPlan::new(2.0, 64), DiskPlan::new(1.0, 64)];
        let trace = run(&scenario);
        assert!(share_error(&trace.iops((10.0, 120.0)), &[3.0, 1.0]) < 0.05);
    }

    /// Shares 1:2:5 of small reads, large reads and a mix with writes, on an array where 256 KB cost 8 times what 16 KB cost and
    /// a write as much as 4 reads: parts of the device over those by shares, less one, the largest.
    fn device_time_error(spindles: usize, costs: Option<Costs>) -> f64 {
        let law = Law::Evenkeel(Settings::new(0.025));
        let disk = |shares, bytes, writes| DiskPlan { bytes, writes, ..DiskPlan::new(shares, 256) };
        let disks = [disk(1.0, 4_096, 0.0), disk(2.0, 262_144, 0.0), disk(5.0, 16_384, 0.5)];
        let hosts = disks.map(|disk| HostPlan { costs, ..HostPlan::new(law, disk) }).to_vec();
        let cost = Cost { per_byte: 7.0 / (240.0 * 1_024.0), write: 4.0 };
        let mean_s = 0.0005 * spindles as f64;
        let array = ArrayPlan { spindles, mean_s, cost, ..PUBLISHED };
        let scenario = Scenario { array, hosts, period_s: 0.5, duration_s: 120.0, seed: Seed(1) };
        let trace = run(&scenario);
        let stretch = (20.0, 120.0);
        share_error(&trace.device_per_s(stretch), &[1.0, 2.0, 5.0])
    }

    #[test]
    fn the_device_is_divided_by_shares_whatever_ios_cost() {
        for spindles in [1, 4, 16] {
            let error = device_time_error(spindles, None);
            assert!(error < 0.03, "{spindles} spindles: {error}");
        }
    }

    #[test]
    fn without_the_costs_of_the_array_the_device_is_divided_otherwise() {
        let error = device_time_error(4, Some(Costs::default()));
        assert!(error > 0.5, "{error}: the array is one on which costs matter");
        let measured = Costs::new(
            &[(4_096, 0.67), (16_384, 1.0), (65_536, 2.35), (262_144, 7.9)],
            &[(16_384, 4.1), (65_536, 9.8)],
        );
        let error = device_time_error(4, Some(measured.expect("costs")));
        assert!(error < 0.06, "{error} with costs as they are measured");
    }

    #[test]
    fn a_disk_has_spells_of_one_depth_each() {
        let mut disk = DiskPlan { active: vec![(0.0, 20.0), (30.0, 60.0)], ..DiskPlan::new(1.0, 12) };
        assert_eq!(disk.spells(90.0), [((0.0, 20.0), 12), ((30.0, 60.0), 12)]);
        disk.lull = Some(Lull { stretch: (40.0, 70.0), depth: 2 });
        assert_eq!(disk.spells(90.0), [((0.0, 20.0), 12), ((30.0, 40.0), 12), ((40.0, 60.0), 2)]);
        disk.active.clear();
        assert_eq!(disk.spells(90.0), [((0.0, 40.0), 12), ((40.0, 70.0), 2), ((70.0, 90.0), 12)]);
    }

    #[test]
    fn in_a_lull_a_host_wants_fewer_and_afterwards_as_many_as_before() {
        let mut scenario = scenario(Law::Fixed(64.0), &[1.0, 1.0], 12);
        scenario.hosts[1].disks[0].lull = Some(Lull { stretch: (40.0, 80.0), depth: 2 });
        let trace = run(&scenario);
        let wanted =
            [(0.0, 40.0), (44.0, 80.0), (84.0, 120.0)].map(|stretch| trace.wanted(stretch)[1].round());
        assert_eq!(wanted, [12.0, 2.0, 12.0]);
        let used = trace.used((44.0, 80.0));
        assert!((used[0] - 12.0 / 64.0).abs() < 0.01 && (used[1] - 2.0 / 64.0).abs() < 0.01, "{used:?}");
    }
}
