//! The experiments of the publication.

use super::Experiment;
use crate::share::Law;
use crate::share::simulation::{DiskPlan, HostPlan, Stretch};

/// Outstanding I/Os of a client that wants as many as it can get.
const MANY: u32 = 64;

fn host(shares: f64, depth: u32) -> HostPlan {
    HostPlan::new(Law::Fixed(f64::MAX), DiskPlan::new(shares, depth))
}

fn there(mut host: HostPlan, stretches: &[Stretch]) -> HostPlan {
    for disk in &mut host.disks {
        disk.active = stretches.to_vec();
    }
    host
}

fn experiment(name: &'static str, what: &'static str, hosts: Vec<HostPlan>, threshold_s: f64) -> Experiment {
    let shares = hosts.iter().map(|host| host.disks.iter().map(|disk| disk.shares).sum()).collect();
    Experiment {
        name,
        what,
        hosts,
        threshold_s,
        most: 64.0,
        k: 1.0,
        duration_s: 120.0,
        calm: vec![((0.0, 120.0), shares)],
        tail_s: 60.0,
        parda: (None, None),
        uncontrolled: (None, None),
    }
}

/// All of them.
pub fn published() -> Vec<Experiment> {
    vec![equal(), unequal(), leaving(), outsider(), several_disks(), two_servers(32.0), two_servers(64.0)]
}

/// Table 3.
fn equal() -> Experiment {
    Experiment {
        parda: (Some(3_350.0), Some(0.031)),
        uncontrolled: (Some(3_360.0), Some(0.037)),
        ..experiment("table-3", "four hosts of equal shares, L = 30 ms", vec![host(1.0, 32); 4], 0.030)
    }
}

/// Figure 8.
fn unequal() -> Experiment {
    let hosts = [1.0, 1.0, 2.0, 2.0].map(|shares| host(shares, MANY)).to_vec();
    Experiment {
        parda: (None, Some(0.025)),
        ..experiment("figure-8", "four hosts, shares 1:1:2:2, L = 25 ms", hosts, 0.025)
    }
}

/// Table 4 and figure 9.
fn leaving() -> Experiment {
    let until = |until_s| there(host(1.0, 32), &[(0.0, until_s)]);
    let stay = || there(host(1.0, 32), &[(0.0, 400.0)]);
    let hosts = vec![until(145.0), until(220.0), until(310.0), stay(), stay(), stay()];
    let shares = |gone: usize| (0..6).map(|place| if place < gone { 0.0 } else { 1.0 }).collect();
    Experiment {
        duration_s: 400.0,
        calm: vec![
            ((0.0, 144.0), shares(0)),
            ((146.0, 219.0), shares(1)),
            ((221.0, 309.0), shares(2)),
            ((311.0, 400.0), shares(3)),
        ],
        parda: (Some(3_150.0), Some(0.030)),
        uncontrolled: (Some(3_130.0), Some(0.060)),
        ..experiment("figure-9", "six hosts, L = 30 ms, leaving at 145, 220 and 310 s", hosts, 0.030)
    }
}

/// Figure 11.
fn outsider() -> Experiment {
    let mut hosts: Vec<HostPlan> = [2.0, 2.0, 1.0, 1.0, 1.0].map(|shares| host(shares, MANY)).to_vec();
    hosts.push(there(HostPlan { tells: false, ..host(1.0, 32) }, &[(230.0, 400.0)]));
    let shares = vec![2.0, 2.0, 1.0, 1.0, 1.0, 0.0];
    Experiment {
        duration_s: 400.0,
        calm: vec![((0.0, 229.0), shares.clone()), ((231.0, 400.0), shares)],
        parda: (None, Some(0.030)),
        ..experiment(
            "figure-11",
            "five hosts 2:2:1:1:1, L = 30 ms, an outsider of depth 32 from 230 s",
            hosts,
            0.030,
        )
    }
}

/// Table 6: the mail and web servers of the publication are disks whose clients want 32.
fn several_disks() -> Experiment {
    let mut hosts: Vec<HostPlan> = [10.0, 10.0, 20.0, 10.0].map(|shares| host(shares, MANY)).to_vec();
    hosts[0].disks = vec![
        DiskPlan { active: vec![(0.0, 140.0), (310.0, 450.0)], ..DiskPlan::new(20.0, 32) },
        DiskPlan::new(10.0, 32),
    ];
    hosts[1].disks = vec![DiskPlan::new(10.0, 32), DiskPlan::new(10.0, 32)];
    let shares = |first: f64| vec![first, 20.0, 20.0, 10.0];
    Experiment {
        k: 0.2,
        duration_s: 450.0,
        calm: vec![
            ((0.0, 139.0), shares(30.0)),
            ((141.0, 309.0), shares(10.0)),
            ((311.0, 450.0), shares(30.0)),
        ],
        parda: (None, Some(0.025)),
        ..experiment(
            "table-6",
            "four hosts with six disks, L = 25 ms, one idle from 140 to 310 s",
            hosts,
            0.025,
        )
    }
}

/// Table 7: two servers of shares 1:4; with a window of 32 at most the shares cannot be met.
fn two_servers(most: f64) -> Experiment {
    let hosts = vec![host(1.0, MANY), host(4.0, MANY)];
    let (name, what) = if most < 64.0 {
        ("table-7-32", "two hosts 1:4, L = 15 ms, a window of 32 at most")
    } else {
        ("table-7-64", "two hosts 1:4, L = 15 ms, a window of 64 at most")
    };
    let met = most >= 64.0;
    let base = experiment(name, what, hosts, 0.015);
    let calm = if met { base.calm.clone() } else { vec![((0.0, 120.0), vec![0.0, 0.0])] };
    Experiment { most, calm, ..base }
}
