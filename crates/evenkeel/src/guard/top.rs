//! The live view: what `evenkeel guard top` draws, from two readings of a guard.

use super::show::{Signal, Status, Tenant};
use crate::view::live::{self, Frame, HISTORY_MAX, keep, number, seconds, spark, up};

#[derive(Clone, Debug, Default)]
pub struct History {
    last: Option<Status>,
    throughput: Vec<f64>,
    limits: Vec<f64>,
    waiting: Vec<f64>,
    response: Option<f64>,
}

impl History {
    /// A new reading. One of a guard that was started anew begins a new history.
    pub fn push(&mut self, status: Status) {
        if let Some(last) = &self.last {
            let seconds = status.at_s - last.at_s;
            if seconds < 0.0 || status.completions < last.completions {
                *self = Self::default();
            } else if seconds > 0.0 {
                let done = (status.completions - last.completions) as f64;
                self.response = (done > 0.0).then(|| (status.response_s - last.response_s) / done);
                keep(&mut self.throughput, done / seconds);
            }
        }
        keep(&mut self.limits, status.limit as f64);
        keep(&mut self.waiting, status.waiting as f64);
        self.last = Some(status);
    }

    /// The picture; empty before the first reading.
    pub fn draw(&self, frame: Frame) -> String {
        let Some(status) = &self.last else { return String::new() };
        let mut lines = self.head(status, frame.width);
        lines.push(String::new());
        lines.extend(status.signals.iter().filter_map(signal));
        lines.extend(absent(&status.signals));
        lines.push(String::new());
        lines.push(tenant_head());
        lines.extend(status.tenants.iter().map(tenant));
        live::fit(lines, frame)
    }

    fn head(&self, status: &Status, width: usize) -> Vec<String> {
        let mode = if status.dry_run { "  DRY RUN: nothing is held back" } else { "" };
        let room = width.saturating_sub(34).min(HISTORY_MAX);
        let throughput = self.throughput.last().map_or("-".into(), |rate| format!("{rate:.0}/s"));
        let response = self.response.map_or("-".into(), seconds);
        let p99 = status.response_p99_s.map_or("-".into(), seconds);
        vec![
            format!("evenkeel guard, up {}, controller {}{mode}", up(status.at_s), status.controller),
            match &status.trouble {
                Some(trouble) => format!("PROBLEM: {trouble}"),
                None => format!("{}{}", if status.held { "KEPT: " } else { "" }, status.decision),
            },
            String::new(),
            format!("limit       {:>8}  {:>10}  {}", status.limit, "", spark(&self.limits, room)),
            format!("throughput  {throughput:>8}  {:>10}  {}", "", spark(&self.throughput, room)),
            format!("waiting     {:>8}  {:>10}  {}", status.waiting, "", spark(&self.waiting, room)),
            format!("            {}", status.reason),
            format!("short lane  {:>8}  of {}, {} wait", status.running, status.limit, status.waiting),
            format!(
                "long lane   {:>8}  of {}, {} wait; long from {} on",
                status.long_running,
                status.long_limit,
                status.long_waiting,
                seconds(status.long_from_s)
            ),
            format!("            {}", status.long_decision),
            format!(
                "aside       {:>8}  of {} at most, refused {} times",
                status.aside, status.aside_max, status.aside_refused
            ),
            format!(
                "so far      {:>8}  moved to the long lane, {} unqueued, {} by liveness",
                status.moved, status.unqueued, status.liveness
            ),
            format!("response    {response:>8}  p99 {p99}"),
            format!(
                "ended badly {:>8}  rolled back {}, overload {}, refused {}",
                status.rolled_back + status.overloads + status.rejected,
                status.rolled_back,
                status.overloads,
                status.rejected
            ),
            format!("sensing     {:>7.2} % of one CPU at most", status.sensing_share * 100.0),
        ]
    }
}

fn signal(signal: &Signal) -> Option<String> {
    let value = number(signal.value?);
    Some(match signal.ratio {
        None => format!("  {:<22}{value}", signal.name),
        Some(ratio) => format!("  {:<22}{value:<12} {ratio:.2} x what it is near the peak", signal.name),
    })
}

fn absent(signals: &[Signal]) -> Option<String> {
    let names: Vec<&str> =
        signals.iter().filter(|signal| signal.value.is_none()).map(|signal| signal.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("  not available: {}", names.join(", ")))
}

fn tenant_head() -> String {
    format!(
        "{:<16} {:>6} {:>7} {:>9} {:>8} {:>8} {:>9} {:>8}",
        "tenant", "weight", "waiting", "in flight", "first", "admitted", "wait p50", "p99"
    )
}

fn tenant(tenant: &Tenant) -> String {
    let time = |time: Option<f64>| time.map_or("-".into(), seconds);
    let name = live::name(&tenant.name, 16);
    format!(
        "{name:<16} {:>6} {:>7} {:>9} {:>8} {:>8} {:>9} {:>8}",
        tenant.weight,
        tenant.waiting,
        tenant.in_flight,
        seconds(tenant.longest_waiting_s),
        tenant.admitted,
        time(tenant.wait_p50_s),
        time(tenant.wait_p99_s)
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    const FRAME: Frame = Frame { width: 100, height: 40 };

    fn status(at_s: f64, completions: u64) -> Status {
        Status { at_s, completions, response_s: completions as f64 * 0.004, ..Status::from(&snapshot()) }
    }

    #[test]
    fn two_readings_give_throughput_and_response() {
        let mut history = History::default();
        assert_eq!(history.draw(FRAME), "");
        history.push(status(1.0, 100));
        history.push(status(3.0, 500));
        let drawn = history.draw(FRAME);
        for text in [
            "limit 4, because it is fixed",
            "short lane         4  of 4, 1 wait",
            "long lane          1  of 2, 0 wait; long from 200.0 ms on",
            "            limit 2, because with 3, short transactions lose 12 %",
            "aside              1  of 1000 at most, refused 0 times",
            "so far             1  moved to the long lane, 0 unqueued, 0 by liveness",
            "200/s",
            "4.0 ms",
            "not available: cycles_per_commit",
            "cpu_per_commit        0.002000",
            "up 0:00:03",
        ] {
            assert!(drawn.contains(text), "{text} is missing in\n{drawn}");
        }
    }

    #[test]
    fn what_is_wrong_takes_the_place_of_the_decision() {
        let mut history = History::default();
        history.push(Status { trouble: Some("the server does not answer".into()), ..status(1.0, 1) });
        let drawn = history.draw(FRAME);
        assert!(
            drawn.contains("PROBLEM: the server does not answer") && !drawn.contains("because it is fixed")
        );
    }

    #[test]
    fn no_terminal_is_too_small_no_line_too_long_and_no_name_sends_commands_to_it() {
        let mut history = History::default();
        let mut odd = status(300.0, 10);
        odd.tenants[0].name = "\u{1b}[2Jevil".into();
        (0..300).for_each(|second| history.push(status(f64::from(second), 10)));
        history.push(odd);
        for frame in [Frame { width: 0, height: 0 }, Frame { width: 10, height: 3 }, FRAME] {
            let drawn = history.draw(frame);
            assert!(drawn.lines().count() <= frame.height.max(1) && !drawn.contains('\u{1b}'));
            assert!(drawn.lines().all(|line| line.chars().count() <= frame.width));
        }
        assert!(history.limits.len() <= HISTORY_MAX);
    }

    #[test]
    fn a_guard_that_was_started_anew_begins_a_new_history() {
        let mut history = History::default();
        history.push(status(50.0, 100));
        history.push(status(51.0, 200));
        history.push(status(1.0, 0));
        assert!(history.throughput.is_empty());
    }
}
