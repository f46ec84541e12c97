//! Hosts and array on the virtual clock against published figures and fixed points.

use super::super::law::Settings;
use super::trace::share_error;
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
    let wanted = [(0.0, 40.0), (44.0, 80.0), (84.0, 120.0)].map(|stretch| trace.wanted(stretch)[1].round());
    assert_eq!(wanted, [12.0, 2.0, 12.0]);
    let used = trace.used((44.0, 80.0));
    assert!((used[0] - 12.0 / 64.0).abs() < 0.01 && (used[1] - 2.0 / 64.0).abs() < 0.01, "{used:?}");
}
