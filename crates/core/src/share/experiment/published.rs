use super::{ARRAY, Calm, Experiment, Published};
use crate::share::simulation::{DiskPlan, HostPlan, Lull, Stretch};
use crate::share::{ArrayPlan, Law};

/// The array of table 7: six disks, calibrated on its uncontrolled run, in which 24 I/Os were outstanding (615 per second of
/// 20.4 ms and 588 of 20.5).
const DATABASES: ArrayPlan = ArrayPlan { spindles: 6, mean_s: 0.0044, ..ARRAY };
/// I/Os that the clients of each of its hosts kept outstanding without control, and so want.
const WANTED: u32 = 12;
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

fn calm(stretch: Stretch, shares: Vec<f64>) -> Calm {
    Calm { stretch, shares: Some(shares) }
}

fn not_judged(stretch: Stretch) -> Calm {
    Calm { stretch, shares: None }
}

fn experiment(name: &'static str, what: &'static str, hosts: Vec<HostPlan>, threshold_s: f64) -> Experiment {
    let shares = hosts.iter().map(|host| host.disks.iter().map(|disk| disk.shares).sum()).collect();
    Experiment {
        name,
        what,
        array: ARRAY,
        hosts,
        threshold_s,
        most: 64.0,
        k: 1.0,
        duration_s: 120.0,
        calm: vec![calm((0.0, 120.0), shares)],
        tail_s: 60.0,
        calibrates: false,
        parda: Published::default(),
        uncontrolled: Published::default(),
        why_off: None,
    }
}

pub fn experiments() -> Vec<Experiment> {
    let greedy = [two_servers(32.0), two_servers(64.0)];
    [vec![equal(), unequal(), leaving(), outsider(), several_disks()], greedy.into(), vec![databases()]]
        .concat()
}

fn equal() -> Experiment {
    Experiment {
        calibrates: true,
        parda: Published {
            iops: Some(3_350.0),
            latency_s: Some(0.031),
            hosts: &[(0, 730.0), (1, 890.0), (2, 930.0), (3, 800.0)],
            orders: None,
        },
        uncontrolled: Published {
            iops: Some(3_360.0),
            latency_s: Some(0.037),
            hosts: &[(0, 780.0), (1, 900.0), (2, 890.0), (3, 790.0)],
            orders: None,
        },
        ..experiment("table-3", "four hosts of equal shares, L = 30 ms", vec![host(1.0, 32); 4], 0.030)
    }
}

fn unequal() -> Experiment {
    let hosts = [1.0, 1.0, 2.0, 2.0].map(|shares| host(shares, MANY)).to_vec();
    Experiment {
        parda: Published { latency_s: Some(0.025), ..Published::default() },
        ..experiment("figure-8", "four hosts, shares 1:1:2:2, L = 25 ms", hosts, 0.025)
    }
}

fn leaving() -> Experiment {
    let until = |until_s| there(host(1.0, 32), &[(0.0, until_s)]);
    let stay = || there(host(1.0, 32), &[(0.0, 400.0)]);
    let hosts = vec![until(145.0), until(220.0), until(310.0), stay(), stay(), stay()];
    let shares = |gone: usize| (0..6).map(|place| if place < gone { 0.0 } else { 1.0 }).collect();
    Experiment {
        duration_s: 400.0,
        calm: vec![
            calm((0.0, 144.0), shares(0)),
            calm((146.0, 219.0), shares(1)),
            calm((221.0, 309.0), shares(2)),
            calm((311.0, 400.0), shares(3)),
        ],
        parda: Published { iops: Some(3_150.0), latency_s: Some(0.030), ..Published::default() },
        uncontrolled: Published {
            iops: Some(3_130.0),
            latency_s: Some(0.060),
            hosts: &[(0, 525.0), (1, 570.0), (2, 570.0), (3, 560.0), (4, 430.0), (5, 500.0)],
            orders: None,
        },
        ..experiment("figure-9", "six hosts, L = 30 ms, leaving at 145, 220 and 310 s", hosts, 0.030)
    }
}

fn outsider() -> Experiment {
    let mut hosts: Vec<HostPlan> = [2.0, 2.0, 1.0, 1.0, 1.0].map(|shares| host(shares, MANY)).to_vec();
    hosts.push(there(HostPlan { reports: false, ..host(1.0, 32) }, &[(230.0, 400.0)]));
    let shares = vec![2.0, 2.0, 1.0, 1.0, 1.0, 0.0];
    Experiment {
        duration_s: 400.0,
        calm: vec![calm((0.0, 229.0), shares.clone()), calm((231.0, 400.0), shares)],
        parda: Published { latency_s: Some(0.030), ..Published::default() },
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
            calm((0.0, 139.0), shares(30.0)),
            calm((141.0, 309.0), shares(10.0)),
            calm((311.0, 450.0), shares(30.0)),
        ],
        parda: Published { latency_s: Some(0.025), hosts: &[(2, 740.0), (3, 400.0)], ..Published::default() },
        why_off: Some(
            "The published law rests at L + sum of beta / throughput. Betas are 6, 4, 4 and 2 where every disk fills its part \
             of the window, as all six do here: 25 ms + 16 / 3,270 s = 29.9 ms. Published is that the latency stayed near 25 ms, \
             so that less of the betas was used: clients of mail and web servers and of OLTP need not fill their windows. \
             What they wanted is not published.",
        ),
        ..experiment(
            "table-6",
            "four hosts with six disks, L = 25 ms, one idle from 140 to 310 s",
            hosts,
            0.025,
        )
    }
}

/// Hosts, shares and threshold of table 7 with clients that want as many as they can get; with a window of 32 at most the
/// shares cannot be met: four fifths of what is outstanding at 15 ms are 37.
fn two_servers(most: f64) -> Experiment {
    let hosts = vec![host(1.0, MANY), host(4.0, MANY)];
    let (name, what) = if most < 64.0 {
        (
            "table-7-32",
            "two hosts 1:4, L = 15 ms, a window of 32 at most, which is less than the share of 4 comes to",
        )
    } else {
        ("table-7-64", "two hosts 1:4, L = 15 ms, a window of 64 at most")
    };
    let base = experiment(name, what, hosts, 0.015);
    let calm = if most < 64.0 { vec![not_judged((0.0, 120.0))] } else { base.calm.clone() };
    Experiment { most, calm, ..base }
}

/// Table 7 with clients that want as many as the published ones did, and the lull of figures 14 and 15. Host 2 wants less
/// than its share comes to, so shares are not judged.
fn databases() -> Experiment {
    let mut hosts = vec![host(1.0, WANTED), host(4.0, WANTED)];
    hosts[1].disks[0].lull = Some(Lull { stretch: (300.0, 380.0), depth: 2 });
    Experiment {
        array: DATABASES,
        most: 32.0,
        duration_s: 500.0,
        calm: [(0.0, 299.0), (301.0, 379.0), (381.0, 500.0)].map(not_judged).to_vec(),
        calibrates: true,
        uncontrolled: Published {
            iops: Some(1_203.0),
            latency_s: Some(0.020_45),
            hosts: &[(0, 615.0), (1, 588.0)],
            orders: Some(0.96),
        },
        parda: Published { orders: Some(1.78), ..Published::default() },
        why_off: Some(
            "The published ratios are of orders, these of I/Os. Host 2 wants 12 I/Os outstanding whatever it is given, and four \
             fifths of the 17 to 20 that are outstanding near the threshold are 14 to 16. So what it wants bounds the ratio. How \
             far host 1 is held back depends on K, which is 1 here and not published for this table.",
        ),
        ..experiment(
            "table-7",
            "two hosts 1:4, L = 15 ms, a window of 32 at most, clients that want 12 each; host 2 wants 2 from 300 to 380 s",
            hosts,
            0.015,
        )
    }
}
