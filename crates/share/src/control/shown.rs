//! What a period comes to for those who look.

use super::{Disk, Loop, Member, Snapshot};
use crate::{DiskCounts, Seen};
use evenkeel_bus::Heard;
use evenkeel_core::Nanos;
use evenkeel_core::share::{Costs, DiskUse, Report, mean_latency};

impl Loop {
    pub(super) fn show(&mut self, at: Nanos, seen: &Seen, report: &Report, live: &[Heard]) {
        let reports: Vec<Report> = live.iter().map(|heard| heard.message.report.clone()).collect();
        let windows = || live.iter().map(|heard| heard.message.window).sum();
        let period = &seen.measured.period;
        let per_s = |more: f64| more / seen.measured.seconds.max(1e-9);
        let disk = |(place, name): (usize, &String)| {
            let (use_, counts) = (period.disks.get(place), seen.counts.disks.get(place).copied());
            let (now, before) =
                (counts.unwrap_or_default(), self.counted.get(place).copied().unwrap_or_default());
            let grown = |of: fn(&DiskCounts) -> u64| per_s(of(&now).saturating_sub(of(&before)) as f64);
            Disk {
                name: name.clone(),
                shares: use_.map_or(0.0, |disk| disk.shares),
                wanted: use_.map_or(0.0, |disk| disk.wanted),
                ios_per_s: grown(|counts| counts.reads + counts.writes),
                bytes_per_s: grown(|counts| counts.read_bytes + counts.written_bytes),
                rate: per_s((now.cost - before.cost).max(0.0)),
                counts: now,
                failed_at: self.storage.failed_at(place),
            }
        };
        self.latest.put(Snapshot {
            at,
            member: self.bus.name().to_owned(),
            law: self.law.name(),
            threshold_s: self.settings.law.threshold_s(),
            period: self.settings.period,
            window: self.law.window(),
            why: self.why.clone(),
            fault: self.fault.clone(),
            unfair: self.law.unfair(),
            beta: self.law.beta(),
            assumed: self.settings.costs == Costs::default(),
            outstanding: period.outstanding,
            waiting: seen.waiting,
            latency_s: period.latency,
            latency_all_s: mean_latency(&reports),
            completions: period.completions,
            seconds: seen.measured.seconds,
            total: if report.total > 0.0 { report.total } else { windows() },
            disks: self.names.iter().enumerate().map(disk).collect(),
            members: live
                .iter()
                .map(|heard| Member {
                    is_own: self.bus.is_own(&heard.message),
                    costs_differ: self.differs(heard),
                    ..member(heard)
                })
                .collect(),
            dropped: self.bus.dropped(),
            counts: seen.counts.clone(),
            totals: self.totals,
        });
        self.counted.clone_from(&seen.counts.disks);
    }
}

fn member(heard: &Heard) -> Member {
    let report = &heard.message.report;
    // From 0: the sum of nothing is -0.
    let sum = |of: fn(&DiskUse) -> f64| report.disks.iter().fold(0.0, |sum, disk| sum + of(disk));
    Member {
        name: heard.message.member.clone(),
        is_own: false,
        age: heard.age,
        shares: sum(|disk| disk.shares),
        window: heard.message.window,
        outstanding: report.outstanding,
        wanted: sum(|disk| disk.wanted),
        latency_s: report.latency,
        ios_per_s: report.completions as f64 / heard.message.period.as_secs_f64().max(1e-9),
        rate: report.rate,
        costs_differ: false,
    }
}
