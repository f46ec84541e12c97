//! What a load brought, as text and as JSON.

use crate::format::{self, plain};
use evenkeel_core::caveat::Caveat;
use evenkeel_lab::load::{LoadResult, Written};
use evenkeel_study::profile::{kinds, orders_per_minute, times};
use evenkeel_study::store::Caveats;
use evenkeel_study::store::format::{KindRecord, TimesRecord};
use std::fmt::Write as _;

/// Completions per second; none where nothing was asked for.
fn throughput(result: &LoadResult) -> Option<f64> {
    let completed: u64 = result.intervals.iter().map(|interval| interval.completed).sum();
    (result.counts.arrivals > 0).then(|| completed as f64 / result.measured.as_secs_f64().max(1e-9))
}

pub fn json(result: &LoadResult, caveats: &[Caveat]) -> serde_json::Value {
    let counts = &result.counts;
    let response = times(&result.response, Some(result.response_sum));
    let session_wait = times(&result.session_wait, None);
    let wait = Wait::of(result, &response);
    serde_json::json!({
        "measured_s": result.measured.as_secs_f64(),
        "arrivals": counts.arrivals, "completed": counts.completed, "failed": counts.failed,
        "timed_out": counts.timed_out, "unsent": counts.unsent,
        "throughput_per_s": throughput(result),
        "response": response,
        "service": times(&result.service, None), "lag": times(&result.lag, None),
        "session_wait": session_wait,
        "session_wait_mean_ms": wait.mean_ms, "session_wait_share": wait.share,
        "session_wait_server_share": wait.held_up,
        "sessions_max": result.sessions_max, "reconnects": result.reconnects,
        "orders_per_minute": orders_per_minute(result), "rolled_back": result.rolled_back, "tried_again": result.tried_again,
        "kinds": kinds(&result.kinds), "steps": kinds(&result.steps), "statements": kinds(&result.statements),
        "errors": result.error_texts, "written": result.written,
        "caveats": Caveats(caveats),
    })
}

pub fn text(result: &LoadResult, caveats: &[Caveat]) -> String {
    let counts = &result.counts;
    let failed: u64 = counts.failed.values().sum();
    let response = times(&result.response, Some(result.response_sum));
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} arrivals = {} completed + {failed} failed + {} timed out + {} unsent",
        counts.arrivals, counts.completed, counts.timed_out, counts.unsent
    );
    let _ = writeln!(
        text,
        "throughput {}  sessions {}",
        throughput(result).map_or_else(|| "-".to_owned(), format::rate),
        result.sessions_max
    );
    text.push_str(&orders(result));
    // What was given up would have taken longer than it had.
    let is_bound = counts.timed_out + counts.unsent > 0;
    let time_of = |times: &TimesRecord, of: fn(&TimesRecord) -> f64| match times.measured() {
        Some(_) if is_bound => format!("≥ {}", time(times, of)),
        _ => time(times, of),
    };
    let _ = writeln!(
        text,
        "response {}  p50 {}  p95 {}  p99 {}  p99.9 {}  max {}",
        time_of(&response, |times| times.mean_ms),
        time_of(&response, |times| times.p50_ms),
        time_of(&response, |times| times.p95_ms),
        time_of(&response, |times| times.p99_ms),
        time_of(&response, |times| times.p999_ms),
        time_of(&response, |times| times.max_ms)
    );
    let lag = times(&result.lag, None);
    let wait = Wait::of(result, &response);
    let _ = writeln!(text, "dispatch lag p99 {}  {wait}\n", time(&lag, |times| times.p99_ms));
    let rows = match (result.steps.is_empty(), result.kinds.len()) {
        (false, _) => kinds(&result.steps),
        (true, 0 | 1) => kinds(&result.statements),
        (true, _) => kinds(&result.kinds),
    };
    let width = rows.iter().map(|row| plain(&row.name).chars().count()).max().unwrap_or(0);
    rows.iter().for_each(|row| text.push_str(&row_of(row, width)));
    for (code, error) in &result.error_texts {
        let _ = writeln!(text, "error {code}: {}", plain(error));
    }
    if result.written != Written::default() {
        let _ = writeln!(text, "rows written, warm-up included: {}", result.written);
    }
    for caveat in caveats {
        let _ = writeln!(text, "{caveat}");
    }
    text
}

/// What is told of orders alone; nothing where requests are none.
fn orders(result: &LoadResult) -> String {
    let Some(rate) = orders_per_minute(result) else { return String::new() };
    let error = rate.se.map(|se| format!(" (standard error {se:.0})")).unwrap_or_default();
    format!(
        "orders per minute {:.0}{error}, from {:.0} to {:.0} in {} stretches of {:.2} s\n\
         rolled back, out of stock {}  tried again after a deadlock or a lock {}\n",
        rate.mean,
        rate.lowest,
        rate.highest,
        rate.stretches,
        rate.stretch_s,
        result.rolled_back,
        result.tried_again
    )
}

fn row_of(row: &KindRecord, width: usize) -> String {
    format!(
        "  {:width$}  {:>9}  mean {:>9}  p95 {:>9}  p99 {:>9}\n",
        plain(&row.name),
        row.completed,
        time(&row.times, |times| times.mean_ms),
        time(&row.times, |times| times.p95_ms),
        time(&row.times, |times| times.p99_ms)
    )
}

/// A time with its unit, `-` where nothing was measured.
fn time(times: &TimesRecord, of: fn(&TimesRecord) -> f64) -> String {
    times.measured().map_or_else(|| "-".to_owned(), |times| format::time(of(times)))
}

struct Wait {
    /// Mean, ms; none without requests.
    mean_ms: Option<f64>,
    /// Share of tau; none where nothing was answered.
    share: Option<f64>,
    /// Share of the wait that is the server's, which held all sessions up.
    held_up: Option<f64>,
}

impl Wait {
    fn of(result: &LoadResult, response: &TimesRecord) -> Self {
        let tau = response.measured().map(|response| response.mean_ms).filter(|tau| *tau > 0.0);
        let mean_ms = times(&result.session_wait, None).mean_over_ms(result.counts.arrivals);
        // No wait is longer than its response, but the one is the mean of a histogram, which rounds, and the other is exact.
        let mean_ms = mean_ms.map(|wait| tau.map_or(wait, |tau| wait.min(tau)));
        let held_up = mean_ms.filter(|wait| *wait > 0.0).map(|_| result.held_up().0);
        Self { mean_ms, share: mean_ms.zip(tau).map(|(wait, tau)| wait / tau), held_up }
    }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.mean_ms, self.share) {
            (Some(0.0), _) => out.write_str("session wait none"),
            (Some(mean), Some(share)) => {
                write!(
                    out,
                    "session wait {}, {:.1} % of the response time",
                    format::time(mean),
                    100.0 * share
                )?;
                match self.held_up.filter(|held_up| *held_up >= 0.01) {
                    Some(held_up) => {
                        write!(out, " ({:.0} % of it while the server answered nobody)", 100.0 * held_up)
                    }
                    None => Ok(()),
                }
            }
            (Some(mean), None) => write!(out, "session wait {}", format::time(mean)),
            (None, _) => out.write_str("session wait -"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_file_neither_steers_the_terminal_nor_begins_a_line() {
        let name = "a\u{1b}[31mb\nc\u{202e}".to_owned();
        let row = KindRecord { name, completed: 7, lost: 0, times: TimesRecord::default() };
        assert!(row_of(&row, 8).starts_with("  a[31mb c          7  mean "), "{}", row_of(&row, 8));
    }
}
