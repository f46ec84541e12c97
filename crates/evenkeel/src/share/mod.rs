//! What an operator sees of a host that shares storage: metrics, logs, the live view; a host as a child; and its storage measured.

pub mod host;
pub mod knee;
pub mod metrics;
pub mod serve;
pub mod top;

#[cfg(test)]
pub mod fixture {
    use evenkeel_bus::Dropped;
    use evenkeel_core::Nanos;
    use evenkeel_core::histogram::Histogram;
    use evenkeel_share::control::{Disk, Member, Snapshot, Totals, Why};
    use evenkeel_share::{Counts, DiskCounts};

    /// Two hosts with shares of 1 and 4; this one has the first.
    pub fn snapshot() -> Snapshot {
        let mut histogram = Histogram::default();
        [1, 14, 16, 900].map(Nanos::from_millis).into_iter().for_each(|time| histogram.record(time));
        let counts = DiskCounts {
            reads: 100,
            writes: 40,
            read_bytes: 1_638_400,
            cost: 260.0,
            device_s: Some(0.75),
            ..DiskCounts::default()
        };
        Snapshot {
            at: Nanos::from_secs(60),
            member: "host-a".to_owned(),
            law: "evenkeel",
            threshold_s: Some(0.015),
            period: Nanos::from_secs(2),
            window: 8.5,
            why: Why::Shares { own: 1.0, all: 5.0 },
            fault: None,
            unfair: None,
            beta: None,
            assumed: false,
            outstanding: 8.25,
            waiting: 12,
            latency_s: Some(0.0152),
            latency_all_s: Some(0.0149),
            completions: 1_100,
            seconds: 2.0,
            total: 42.5,
            disks: vec![Disk {
                name: "da\"ta".to_owned(),
                shares: 1.0,
                wanted: 20.5,
                ios_per_s: 550.0,
                bytes_per_s: 9e6,
                rate: 850.0,
                counts,
                failed_at: None,
            }],
            members: vec![member("host-a", 1.0, 8.5, 0), member("host-b", 4.0, 34.0, 700)],
            dropped: Dropped::ALL.map(|why| (why, u64::from(why == Dropped::Figures) * 3)),
            counts: Counts {
                disks: vec![counts],
                clients: 1,
                crowd: Default::default(),
                held: histogram.clone(),
                latency: histogram,
            },
            totals: Totals { periods: 30, kept: 2 },
        }
    }

    fn member(name: &str, shares: f64, window: f64, age_ms: u64) -> Member {
        Member {
            name: name.to_owned(),
            is_own: age_ms == 0,
            age: Nanos::from_millis(age_ms),
            shares,
            window,
            outstanding: window,
            wanted: 2.0 * window,
            latency_s: 0.015,
            ios_per_s: 65.0 * window,
            rate: 100.0 * window,
            costs_differ: age_ms > 0,
        }
    }
}
