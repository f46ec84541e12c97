//! A snapshot as Prometheus reads it. Pure: the same snapshot, the same text.

use crate::view::prometheus::{Column, Text, escaped};
use evenkeel_core::Nanos;
use evenkeel_share::control::{Disk, Member, Snapshot, Why};

/// Upper ends of the buckets of times, in microseconds.
const BUCKETS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

pub fn text(snapshot: &Snapshot) -> String {
    let mut out = Text::new("evenkeel_share_");
    host(&mut out, snapshot);
    law(&mut out, snapshot);
    disks(&mut out, &snapshot.disks);
    members(&mut out, &snapshot.members);
    times(&mut out, snapshot);
    out.done()
}

fn host(out: &mut Text, snapshot: &Snapshot) {
    out.gauge("window", "Most I/Os that this host may have outstanding, in units of cost.", snapshot.window);
    out.gauge("outstanding", "Mean outstanding in the last period, in units of cost.", snapshot.outstanding);
    out.gauge("waiting", "I/Os held back now.", snapshot.waiting as f64);
    let wanted = snapshot.disks.iter().map(|disk| disk.wanted).sum();
    out.gauge("wanted", "Mean wanted outstanding, sent or held back, in units of cost.", wanted);
    out.gauge("clients", "Clients that are connected.", snapshot.counts.clients as f64);
    if let Some(latency) = snapshot.latency_s {
        out.gauge("latency_mean_seconds", "Mean latency of this host in the last period.", latency);
    }
    if let Some(latency) = snapshot.latency_all_s {
        out.gauge(
            "latency_mean_all_seconds",
            "Mean latency of all hosts, as reported to this host.",
            latency,
        );
    }
}

fn law(out: &mut Text, snapshot: &Snapshot) {
    out.head("controller_info", "gauge", "Which law sets the window.");
    out.value("controller_info", &format!("name=\"{}\"", escaped(snapshot.law)), 1.0);
    if let Some(threshold) = snapshot.threshold_s {
        out.gauge("threshold_seconds", "Latency threshold.", threshold);
    }
    out.gauge("period_seconds", "From one report to the next.", snapshot.period.as_secs_f64());
    out.gauge("total_window", "Window of all hosts together, as this host knows it.", snapshot.total);
    let flag = |set: bool| f64::from(u8::from(set));
    out.gauge(
        "fault",
        "1 while the last window is kept because something fails.",
        flag(snapshot.fault.is_some()),
    );
    let is_outsider = matches!(snapshot.why, Why::Outsider { .. });
    out.gauge("outsider", "1 while something unmanaged loads the storage.", flag(is_outsider));
    let help = "1 while the storage is not divided by shares, whatever the windows.";
    out.gauge("unfair", help, flag(snapshot.unfair.is_some()));
    let help = "1 where no costs of I/Os are given, so that costs and shares use the defaults.";
    out.gauge("costs_assumed", help, flag(snapshot.assumed));
    out.counter(
        "clients_without_room_total",
        "Clients that had to wait because there was no room for them.",
        snapshot.counts.crowd.times as f64,
    );
    out.counter("periods_total", "Periods since the start.", snapshot.totals.periods as f64);
    out.counter(
        "kept_periods_total",
        "Periods in which the last window was kept.",
        snapshot.totals.kept as f64,
    );
    out.head("dropped_reports_total", "counter", "Reports that were rejected.");
    for (why, count) in snapshot.dropped {
        out.value("dropped_reports_total", &format!("reason=\"{}\"", why.name()), count as f64);
    }
}

fn disks(out: &mut Text, disks: &[Disk]) {
    let columns: [Column<Disk>; 11] = [
        ("disk_shares", "gauge", "Shares.", |disk| disk.shares),
        ("disk_wanted", "gauge", "Mean wanted outstanding, in units of cost.", |disk| disk.wanted),
        ("disk_reads_total", "counter", "Reads that ended well.", |disk| disk.counts.reads as f64),
        ("disk_writes_total", "counter", "Writes, trims and zeroes that ended well.", |disk| {
            disk.counts.writes as f64
        }),
        ("disk_read_bytes_total", "counter", "Bytes read.", |disk| disk.counts.read_bytes as f64),
        ("disk_written_bytes_total", "counter", "Bytes written.", |disk| disk.counts.written_bytes as f64),
        ("disk_flushes_total", "counter", "Flushes that ended well.", |disk| disk.counts.flushes as f64),
        ("disk_errors_total", "counter", "Requests that ended with an error.", |disk| {
            disk.counts.errors as f64
        }),
        (
            "disk_cost_total",
            "counter",
            "Cost of all that ended: device time in units of a read of 16k, as far as the table of costs is right.",
            |disk| disk.counts.cost,
        ),
        ("disk_failures_total", "counter", "Requests at which the storage failed.", |disk| {
            disk.counts.failures as f64
        }),
        ("disk_lost", "gauge", "1 where what was written may be gone: flushes fail.", |disk| {
            f64::from(disk.counts.lost.is_some())
        }),
    ];
    out.table(disks, |disk| format!("disk=\"{}\"", escaped(&disk.name)), &columns);
    if disks.iter().any(|disk| disk.counts.device_s.is_some()) {
        let help = "Device time in seconds of one spindle, as a simulated array reports it.";
        out.head("disk_device_seconds_total", "counter", help);
    }
    for (name, seconds) in disks.iter().filter_map(|disk| Some((&disk.name, disk.counts.device_s?))) {
        out.value("disk_device_seconds_total", &format!("disk=\"{}\"", escaped(name)), seconds);
    }
}

fn members(out: &mut Text, members: &[Member]) {
    let columns: [Column<Member>; 7] = [
        ("member_age_seconds", "gauge", "How long ago a live member was heard.", |m| m.age.as_secs_f64()),
        ("member_shares", "gauge", "Shares of its disks.", |m| m.shares),
        ("member_window", "gauge", "The window that it has in force.", |m| m.window),
        ("member_outstanding", "gauge", "Its mean outstanding.", |m| m.outstanding),
        ("member_ios_per_second", "gauge", "I/Os completed in its last period.", |m| m.ios_per_s),
        (
            "member_cost_per_second",
            "gauge",
            "Cost completed in its last period: its device time, to compare with its shares.",
            |m| m.rate,
        ),
        ("member_costs_differ", "gauge", "1 where its costs of I/Os differ from those of this host.", |m| {
            f64::from(m.costs_differ)
        }),
    ];
    out.table(members, |member| format!("member=\"{}\"", escaped(&member.name)), &columns);
}

fn times(out: &mut Text, snapshot: &Snapshot) {
    let bounds = BUCKETS_US.map(Nanos::from_micros);
    out.head("held_seconds", "histogram", "How long I/Os were held back.");
    out.histogram("held_seconds", "", &snapshot.counts.held, &bounds);
    out.head("latency_seconds", "histogram", "From sent to the storage to completed.");
    out.histogram("latency_seconds", "", &snapshot.counts.latency, &bounds);
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;
    use crate::view::prometheus::tests::check;
    use evenkeel_share::control::Fault;

    #[test]
    fn a_snapshot_becomes_metrics() {
        let text = text(&snapshot());
        for line in [
            "evenkeel_share_window 8.5",
            "evenkeel_share_waiting 12",
            "evenkeel_share_threshold_seconds 0.015",
            "evenkeel_share_total_window 42.5",
            "evenkeel_share_fault 0",
            "evenkeel_share_costs_assumed 0",
            "evenkeel_share_kept_periods_total 2",
            "evenkeel_share_dropped_reports_total{reason=\"figures\"} 3",
            "evenkeel_share_disk_reads_total{disk=\"da\\\"ta\"} 100",
            "evenkeel_share_disk_cost_total{disk=\"da\\\"ta\"} 260",
            "evenkeel_share_disk_device_seconds_total{disk=\"da\\\"ta\"} 0.75",
            "evenkeel_share_member_cost_per_second{member=\"host-b\"} 3400",
            "evenkeel_share_member_costs_differ{member=\"host-b\"} 1",
            "evenkeel_share_member_age_seconds{member=\"host-b\"} 0.7",
            "evenkeel_share_held_seconds_bucket{le=\"0.025\"} 3",
            "evenkeel_share_held_seconds_bucket{le=\"+Inf\"} 4",
            "evenkeel_share_latency_seconds_count 4",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing in\n{text}");
        }
        check(&text);
    }

    #[test]
    fn what_is_not_known_is_absent_and_what_fails_is_one() {
        let kept = Snapshot {
            latency_s: None,
            threshold_s: None,
            fault: Some(Fault::Unheard),
            why: Why::Outsider { latency: 0.1, threshold: 0.015 },
            unfair: Some(0.5),
            assumed: true,
            ..snapshot()
        };
        let text = text(&kept);
        assert!(!text.contains("latency_mean_seconds") && !text.contains("threshold_seconds"));
        assert!(text.contains("evenkeel_share_fault 1\n") && text.contains("evenkeel_share_outsider 1\n"));
        assert!(
            text.contains("evenkeel_share_unfair 1\n") && text.contains("evenkeel_share_costs_assumed 1\n")
        );
    }
}
