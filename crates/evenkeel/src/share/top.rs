//! The live view: what `evenkeel share top` draws, from readings of a host.

use crate::view::http;
use crate::view::live::{self, Frame, keep, seconds, spark, up};
use anyhow::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Clone, Debug, Default)]
pub struct History {
    last: Option<Status>,
    windows: Vec<f64>,
    latencies: Vec<f64>,
    throughput: Vec<f64>,
}

impl History {
    /// A new reading; one of the same period as the last adds nothing to the past.
    pub fn push(&mut self, status: Status) {
        if self.last.as_ref().is_some_and(|last| status.at_s < last.at_s || status.member != last.member) {
            *self = Self::default();
        }
        if self.last.as_ref().is_none_or(|last| status.at_s > last.at_s) {
            keep(&mut self.windows, status.window);
            keep(&mut self.latencies, status.latency_all_s.unwrap_or(0.0));
            keep(&mut self.throughput, status.throughput);
        }
        self.last = Some(status);
    }

    /// The picture; empty before the first reading.
    pub fn draw(&self, frame: Frame) -> String {
        let Some(status) = &self.last else { return String::new() };
        let mut lines = self.head(status, frame.width);
        lines.push(String::new());
        lines.push(disk_head());
        lines.extend(status.disks.iter().map(disk));
        lines.push(String::new());
        lines.push(member_head());
        lines.extend(status.members.iter().map(|member| self::member(member, status)));
        live::fit(lines, frame)
    }

    fn head(&self, status: &Status, width: usize) -> Vec<String> {
        let room = width.saturating_sub(34);
        let time = |time: Option<f64>| time.map_or("-".into(), seconds);
        let name = live::name(&status.member, 40);
        let mark = if status.kept { "KEPT: " } else { "" };
        let outsider = if status.outsider { "  SOMETHING UNMANAGED LOADS THE STORAGE" } else { "" };
        let unfair = if status.unfair.is_some() { "  THE STORAGE IS NOT DIVIDED BY SHARES" } else { "" };
        let assumed = if status.assumed { "  I/O COSTS NOT MEASURED" } else { "" };
        let costs = if status.members.iter().any(|member| member.costs_differ) {
            "  MEMBERS MARKED ! USE OTHER I/O COSTS"
        } else {
            ""
        };
        vec![
            format!(
                "evenkeel share, {name}, up {}, law {}{outsider}{unfair}{costs}{assumed}",
                up(status.at_s),
                status.controller
            ),
            format!("{mark}{}", live::name(&status.why, 400)),
            String::new(),
            format!("window      {:>8.2}  {:>10}  {}", status.window, "", spark(&self.windows, room)),
            format!(
                "latency     {:>8}  {:>10}  {}",
                time(status.latency_all_s),
                status.threshold_s.map_or(String::new(), |threshold| format!("of {}", seconds(threshold))),
                spark(&self.latencies, room)
            ),
            format!(
                "throughput  {:>6.0}/s  {:>10}  {}",
                status.throughput,
                "",
                spark(&self.throughput, room)
            ),
            format!(
                "outstanding {:>8.2}  held back {}, window of all hosts {:.1}",
                status.outstanding, status.waiting, status.total
            ),
            format!("own latency {:>8}  every {}", time(status.latency_s), seconds(status.period_s)),
            format!(
                "held        {:>8}  p99 {}; clients {}, reports dropped {}",
                time(status.held_p50_s),
                time(status.held_p99_s),
                status.clients,
                status.dropped
            ),
        ]
    }
}

fn disk_head() -> String {
    format!(
        "{:<16} {:>7} {:>7} {:>8} {:>8} {:>8} {:>10} {:>10} {:>7}",
        "disk", "shares", "wanted", "I/Os/s", "MB/s", "cost/s", "reads", "writes", "errors"
    )
}

fn disk(disk: &Disk) -> String {
    format!(
        "{:<16} {:>7} {:>7.1} {:>8.0} {:>8.1} {:>8.0} {:>10} {:>10} {:>7}",
        live::name(&disk.name, 16),
        disk.shares,
        disk.wanted,
        disk.ios_per_s,
        disk.bytes_per_s / 1e6,
        disk.rate,
        disk.reads,
        disk.writes,
        disk.errors
    )
}

fn member_head() -> String {
    format!(
        "{:<18} {:>7} {:>7} {:>11} {:>8} {:>6} {:>7} {:>11} {:>7} {:>8}",
        "member",
        "heard",
        "shares",
        "device, due",
        "window",
        "part",
        "I/Os/s",
        "outstanding",
        "wanted",
        "latency"
    )
}

/// Its part of the device time of all, beside the part that its shares give it where all want enough.
fn member(member: &Member, status: &Status) -> String {
    let percent = |part: f64, whole: f64| if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
    let sum = |of: fn(&Member) -> f64| status.members.iter().map(of).sum::<f64>();
    let device = percent(member.rate, sum(|member| member.rate));
    let due = percent(member.shares, sum(|member| member.shares));
    let mark = match member {
        Member { is_own: true, .. } => " *",
        Member { costs_differ: true, .. } => " !",
        _ => "",
    };
    format!(
        "{:<18} {:>7} {:>7} {device:>4.0}, {due:>3.0} % {:>8.2} {:>4.0} % {:>7.0} {:>11.2} {:>7.1} {:>8}",
        format!("{}{mark}", live::name(&member.name, 16)),
        seconds(member.age_s),
        member.shares,
        member.window,
        percent(member.window, status.total),
        member.ios_per_s,
        member.outstanding,
        member.wanted,
        if member.latency_s > 0.0 { seconds(member.latency_s) } else { "-".to_owned() }
    )
}

/// Times are in seconds, windows in units of cost.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// Since the host's loop started.
    pub at_s: f64,
    pub member: String,
    pub controller: String,
    pub why: String,
    /// The last window is kept because something fails.
    pub kept: bool,
    /// Something unmanaged loads the storage.
    pub outsider: bool,
    /// This host's part of the device over what its shares give it, where the storage does not follow windows.
    pub unfair: Option<f64>,
    /// Nobody has said what I/Os cost: what stands here as device time is made of figures that fit no storage in particular.
    pub assumed: bool,
    pub threshold_s: Option<f64>,
    pub period_s: f64,
    pub window: f64,
    pub total: f64,
    /// Mean outstanding at the device, in units of cost.
    pub outstanding: f64,
    pub waiting: usize,
    pub latency_s: Option<f64>,
    pub latency_all_s: Option<f64>,
    pub throughput: f64,
    /// Time that half and 99 % of the I/Os were held back at most.
    pub held_p50_s: Option<f64>,
    pub held_p99_s: Option<f64>,
    pub dropped: u64,
    pub clients: usize,
    pub disks: Vec<Disk>,
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Disk {
    pub name: String,
    pub shares: f64,
    pub wanted: f64,
    pub ios_per_s: f64,
    pub bytes_per_s: f64,
    /// Cost completed per second in the last period.
    pub rate: f64,
    pub reads: u64,
    /// Since the start, trims and zeroes among them.
    pub writes: u64,
    pub errors: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Member {
    pub name: String,
    /// It is the one that was asked.
    pub is_own: bool,
    pub age_s: f64,
    pub shares: f64,
    pub window: f64,
    /// Mean outstanding at the device, in units of cost.
    pub outstanding: f64,
    pub wanted: f64,
    /// Its latency; 0 where nothing has completed.
    pub latency_s: f64,
    pub ios_per_s: f64,
    /// Cost completed per second in its last period: its device time.
    pub rate: f64,
    /// It takes I/Os to cost something else than the one that was asked.
    pub costs_differ: bool,
}

/// Asks the host that serves its metrics at `address`.
/// Errors: nobody answers there, it is no host, it has not begun yet, or it is of another version.
pub fn read<T: DeserializeOwned>(address: &str) -> Result<T> {
    let hint = "start `evenkeel share disk` with --metrics, and give its address here";
    http::get_json(address, "/status", hint)
}

#[cfg(test)]
impl From<&evenkeel_share::control::Snapshot> for Status {
    fn from(snapshot: &evenkeel_share::control::Snapshot) -> Self {
        serde_json::from_value(super::metrics::status(snapshot)).expect("all that is read is written")
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    const FRAME: Frame = Frame { width: 100, height: 40 };

    fn status(at_s: f64) -> Status {
        Status { at_s, ..Status::from(&snapshot()) }
    }

    #[test]
    fn a_reading_shows_windows_members_and_why() {
        let mut history = History::default();
        assert_eq!(history.draw(FRAME), "");
        history.push(status(60.0));
        let drawn = history.draw(FRAME);
        for text in [
            "bound by shares: this host has 1 of 5",
            "550/s",
            "of 15.0 ms",
            "host-a *",
            "700.0 ms",
            "20 %",
            "host-b !",
            "80,  80 %",
            "up 0:01:00",
        ] {
            assert!(drawn.contains(text), "{text} is missing in\n{drawn}");
        }
    }

    #[test]
    fn a_period_is_shown_once_and_a_host_that_was_started_anew_begins_a_new_history() {
        let mut history = History::default();
        [50.0, 50.0, 52.0].into_iter().for_each(|at_s| history.push(status(at_s)));
        assert_eq!(history.windows.len(), 2);
        history.push(status(2.0));
        assert_eq!(history.windows.len(), 1);
    }

    #[test]
    fn no_terminal_is_too_small_and_no_name_sends_commands_to_it() {
        let mut history = History::default();
        let mut odd = status(1.0);
        odd.members[0].name = "\u{1b}[2Jevil".into();
        odd.disks[0].name = "\u{1b}[2Jevil".into();
        (odd.kept, odd.outsider) = (true, true);
        history.push(odd);
        for frame in [Frame { width: 0, height: 0 }, Frame { width: 10, height: 3 }, FRAME] {
            let drawn = history.draw(frame);
            assert!(drawn.lines().count() <= frame.height.max(1) && !drawn.contains('\u{1b}'));
            assert!(drawn.lines().all(|line| line.chars().count() <= frame.width));
        }
        assert!(history.draw(FRAME).contains("KEPT: "));
    }
}
