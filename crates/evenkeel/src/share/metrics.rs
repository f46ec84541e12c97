//! A snapshot as Prometheus reads it, and as `evenkeel share top` does. Pure: the same snapshot, the same pages.

use crate::view::metric::{Text, label, metrics, object};
use evenkeel_core::Nanos;
use evenkeel_share::control::{Disk, Member, Snapshot, Why};
use serde_json::{Value, json};

/// Upper ends of the buckets of times, in microseconds.
const BUCKETS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

pub fn text(snapshot: &Snapshot) -> String {
    let mut out = Text::new("evenkeel_share_");
    out.add(METRICS, snapshot);
    out.each(DISKS, &snapshot.disks, |disk| label("disk", &disk.name));
    out.each(MEMBERS, &snapshot.members, |member| label("member", &member.name));
    let (bounds, counts) = (BUCKETS_US.map(Nanos::from_micros), &snapshot.counts);
    let held = [(String::new(), &counts.held)];
    out.histograms("held_seconds", "How long I/Os were held back.", &bounds, &held);
    let latency = [(String::new(), &counts.latency)];
    out.histograms("latency_seconds", "From sent to the storage to completed.", &bounds, &latency);
    out.done()
}

pub fn status(snapshot: &Snapshot) -> Value {
    object(METRICS, "", snapshot)
}

metrics! { METRICS: |s: Snapshot|
    json "at_s" => s.at.as_secs_f64();
    json "member" => s.member.as_str();
    json "controller" => s.law;
    json "why" => s.why.to_string();
    gauge "window" "Most I/Os that this host may have outstanding, in units of cost." => s.window;
    gauge "outstanding" "Mean outstanding in the last period, in units of cost." => s.outstanding;
    gauge "waiting" "I/Os held back now." => s.waiting;
    gauge "wanted" "Mean wanted outstanding, sent or held back, in units of cost." =>
        s.disks.iter().map(|disk| disk.wanted).sum::<f64>();
    json "throughput" => s.completions as f64 / s.seconds;
    gauge "clients" "Clients that are connected." => s.counts.clients;
    gauge "latency_mean_seconds" as "latency_s" "Mean latency of this host in the last period." =>
        s.latency_s;
    gauge "latency_mean_all_seconds" as "latency_all_s"
        "Mean latency of all hosts, as reported to this host." => s.latency_all_s;
    gauge "controller_info" "Which law sets the window." => json!({ "name": { (s.law): 1 } });
    gauge "threshold_seconds" "Latency threshold." => s.threshold_s;
    gauge "period_seconds" "From one report to the next." => s.period.as_secs_f64();
    gauge "total_window" as "total" "Window of all hosts together, as this host knows it." => s.total;
    gauge "fault" as "kept" "1 while the last window is kept because something fails." => s.fault.is_some();
    gauge "outsider" "1 while something unmanaged loads the storage." =>
        matches!(s.why, Why::Outsider { .. });
    gauge "unfair" as "is_unfair" "1 while the storage is not divided by shares, whatever the windows." =>
        s.unfair.is_some();
    json "unfair" => s.unfair;
    json "beta" => s.beta;
    gauge "costs_assumed" as "assumed"
        "1 where no costs of I/Os are given, so that costs and shares use the defaults." => s.assumed;
    counter "clients_without_room_total" "Clients that had to wait because there was no room for them." =>
        s.counts.crowd.times;
    counter "periods_total" "Periods since the start." => s.totals.periods;
    counter "kept_periods_total" "Periods in which the last window was kept." => s.totals.kept;
    counter "dropped_reports_total" "Reports that were rejected." =>
        json!({ "reason": s.dropped.into_iter().map(|(why, count)| (why.name(), count)).collect::<Value>() });
    json "dropped" => s.dropped.into_iter().map(|(_, count)| count).sum::<u64>();
    json "held_p50_s" => s.counts.held.quantile(0.5).map(Nanos::as_secs_f64);
    json "held_p99_s" => s.counts.held.quantile(0.99).map(Nanos::as_secs_f64);
    json "disks" => s.disks.iter().map(|disk| object(DISKS, "disk_", disk)).collect::<Value>();
    json "members" => s.members.iter().map(|member| object(MEMBERS, "member_", member)).collect::<Value>();
}

metrics! { DISKS: |disk: Disk|
    json "name" => disk.name.as_str();
    json "ios_per_s" => disk.ios_per_s;
    json "bytes_per_s" => disk.bytes_per_s;
    json "rate" => disk.rate;
    gauge "disk_shares" "Shares." => disk.shares;
    gauge "disk_wanted" "Mean wanted outstanding, in units of cost." => disk.wanted;
    counter "disk_reads_total" "Reads that ended well." => disk.counts.reads;
    counter "disk_writes_total" "Writes, trims and zeroes that ended well." => disk.counts.writes;
    counter "disk_read_bytes_total" "Bytes read." => disk.counts.read_bytes;
    counter "disk_written_bytes_total" "Bytes written." => disk.counts.written_bytes;
    counter "disk_flushes_total" "Flushes that ended well." => disk.counts.flushes;
    counter "disk_errors_total" "Requests that ended with an error." => disk.counts.errors;
    counter "disk_cost_total"
        "Cost of all that ended: device time in units of a read of 16k, as far as the table of costs is right." =>
        disk.counts.cost;
    counter "disk_failures_total" "Requests at which the storage failed." => disk.counts.failures;
    gauge "disk_lost" "1 where what was written may be gone: flushes fail." => disk.counts.lost.is_some();
    counter "disk_device_seconds_total"
        "Device time in seconds of one spindle, as a simulated array reports it." => disk.counts.device_s;
}

metrics! { MEMBERS: |member: Member|
    json "name" => member.name.as_str();
    json "is_own" => member.is_own;
    json "wanted" => member.wanted;
    json "latency_s" => member.latency_s;
    gauge "member_age_seconds" "How long ago a live member was heard." => member.age.as_secs_f64();
    gauge "member_shares" "Shares of its disks." => member.shares;
    gauge "member_window" "The window that it has in force." => member.window;
    gauge "member_outstanding" "Its mean outstanding." => member.outstanding;
    gauge "member_ios_per_second" "I/Os completed in its last period." => member.ios_per_s;
    gauge "member_cost_per_second" as "rate"
        "Cost completed in its last period: its device time, to compare with its shares." => member.rate;
    gauge "member_costs_differ" "1 where its costs of I/Os differ from those of this host." =>
        member.costs_differ;
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;
    use crate::view::metric::tests::check;
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
        let status = status(&snapshot());
        assert_eq!(status.as_object().map(|keys| keys.len()), Some(METRICS.len()), "two have one key");
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
