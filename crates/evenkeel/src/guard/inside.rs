//! The guard inside a server: its status variables, and the live view of them.

use crate::view::live::{self, Frame, HISTORY_MAX, keep, seconds, spark};
use anyhow::{Result, anyhow};
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::{Control, Flavor, Target};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The name of the plugin, and that of its file without `.so`.
pub const PLUGIN: &str = "evenkeel";
pub const LIBRARY: &str = "evenkeel_guard";

/// What installs the plugin, once its file is in the server's plugin folder.
pub fn install_sql(flavor: Flavor) -> String {
    match flavor {
        Flavor::MariaDb => format!("INSTALL SONAME '{LIBRARY}'"),
        Flavor::MySql => format!("INSTALL PLUGIN {PLUGIN} SONAME '{LIBRARY}.so'"),
    }
}

/// The plugin's file on this machine, where `make plugin` or the package leaves it.
pub fn known_file() -> Option<PathBuf> {
    let name = format!("{LIBRARY}.so");
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("../plugin")));
    let folders = beside.into_iter().chain(["/usr/lib/mysql/plugin".into()]);
    folders.map(|folder| folder.join(&name)).find_map(|file| file.canonicalize().ok())
}

/// Whether this names a server, and not where a proxy serves its metrics.
pub fn is_server(text: &str) -> bool {
    text.starts_with("mysql://") || text.starts_with("sandbox:")
}

/// The status variables of the plugin at one moment.
#[derive(Clone, Debug, Default)]
pub struct Status {
    at_s: f64,
    /// In lower case, without the plugin's name.
    values: BTreeMap<String, String>,
}

impl Status {
    /// Asks the server.
    /// Errors: it does not answer, or has no such plugin; with what to do.
    pub fn read(control: &mut Control) -> Result<Self> {
        let rows = control.query("SHOW GLOBAL STATUS LIKE 'evenkeel\\_%'")?.rows;
        let status = Self::of(monotonic().as_secs_f64(), rows);
        match status.values.is_empty() {
            true => Err(not_installed(control.target())),
            false => Ok(status),
        }
    }

    fn of(at_s: f64, rows: Vec<Vec<Option<String>>>) -> Self {
        let values = rows.into_iter().filter_map(|row| {
            let mut row = row.into_iter();
            let name = row.next()??.to_ascii_lowercase();
            Some((name.strip_prefix("evenkeel_")?.to_owned(), row.next()?.unwrap_or_default()))
        });
        Self { at_s, values: values.collect() }
    }

    /// All of it, by name.
    pub fn values(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    pub fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    pub fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}

fn not_installed(target: &Target) -> anyhow::Error {
    let hint = format!("install it: evenkeel guard install {target}");
    anyhow!("the server at {} has no guard inside", target.address).context(crate::failure::Hint(hint))
}

/// What `evenkeel guard top` draws of it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Product, version and address.
    server: String,
    last: Option<Status>,
    completed: Vec<f64>,
    waits: Vec<f64>,
    would_wait: Vec<f64>,
    /// Of the waits since the reading before, in seconds.
    mean_wait: Option<f64>,
}

impl History {
    pub fn of(control: &Control) -> Self {
        Self { server: format!("{} at {}", control.version(), control.target().address), ..Self::default() }
    }

    /// A new reading. One of a plugin that was installed anew begins a new history.
    pub fn push(&mut self, status: Status) {
        if let Some(last) = &self.last {
            let passed = status.at_s - last.at_s;
            let grown = |name: &str| status.number(name) as f64 - last.number(name) as f64;
            if grown("completed") < 0.0 || grown("waits") < 0.0 {
                *self = Self { server: std::mem::take(&mut self.server), ..Self::default() };
            } else if passed > 0.0 {
                let waits = grown("waits");
                self.mean_wait = (waits > 0.0).then(|| grown("waited_ms") / 1e3 / waits);
                keep(&mut self.completed, grown("completed") / passed);
                keep(&mut self.waits, waits / passed);
                keep(&mut self.would_wait, grown("would_wait") / passed);
            }
        }
        self.last = Some(status);
    }

    /// The picture; empty before the first reading.
    pub fn draw(&self, frame: Frame) -> String {
        let Some(status) = &self.last else { return String::new() };
        let room = frame.width.saturating_sub(34).min(HISTORY_MAX);
        let rate = |name: &str, rates: &[f64]| {
            let last = rates.last().map_or("-".into(), |rate| format!("{rate:.0}/s"));
            format!("{name:<11} {last:>8}  {:>10}  {}", "", spark(rates, room))
        };
        let mut lines = vec![
            format!("evenkeel guard inside {}: {}", self.server, status.text("state")),
            String::new(),
            format!("{:<6} {:>8} {:>8} {:>8}  why", "lane", "limit", "running", "waiting"),
            lane(status, "short"),
            lane(status, "long"),
            String::new(),
            rate("completed", &self.completed),
            rate("waits", &self.waits),
            format!("mean wait   {:>8}", self.mean_wait.map_or("-".into(), seconds)),
            rate("would wait", &self.would_wait),
            format!(
                "aside       {:>8}  waiting for a lock or an idle client; not counted in the limits",
                status.text("aside")
            ),
            oldest(status),
            format!("long from   {:>5} ms", status.text("long_from_ms")),
            format!(
                "ended badly {:>8}  rolled back {}, refused {}",
                status.number("rolled_back") + status.number("refused"),
                status.text("rolled_back"),
                status.text("refused")
            ),
        ];
        lines.iter_mut().for_each(|line| *line = live::name(line, usize::MAX));
        live::fit(lines, frame)
    }
}

fn lane(status: &Status, lane: &str) -> String {
    let value = |name: &str| status.text(&format!("{lane}_{name}"));
    let (limit, running, waiting) = (value("limit"), value("running"), value("waiting"));
    format!("{lane:<6} {limit:>8} {running:>8} {waiting:>8}  {}", value("reason"))
}

/// The statement that has been at the server for longest.
fn oldest(status: &Status) -> String {
    match status.number("oldest_ms") {
        0 => format!("oldest      {:>8}", "-"),
        age => {
            let age = seconds(age as f64 / 1e3);
            format!("oldest      {age:>8}  statement with digest {}", status.text("oldest_digest"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { width: 100, height: 40 };

    fn status(at_s: f64, completed: u64, waits: u64) -> Status {
        let rows = [
            ("Evenkeel_state", "limiting".to_owned()),
            ("Evenkeel_completed", completed.to_string()),
            ("Evenkeel_waits", waits.to_string()),
            ("Evenkeel_waited_ms", (waits * 4).to_string()),
            ("Evenkeel_short_limit", "8".to_owned()),
            ("Evenkeel_short_reason", "limit 8, because \u{1b}[2Jit is fixed".to_owned()),
            ("Evenkeel_oldest_ms", "1500".to_owned()),
            ("Evenkeel_oldest_digest", "00c0ffee".to_owned()),
        ];
        let row = |(name, value): (&str, String)| vec![Some(name.to_owned()), Some(value)];
        Status::of(at_s, rows.into_iter().map(row).collect())
    }

    #[test]
    fn two_readings_give_rates_and_the_mean_wait_and_a_fresh_plugin_begins_anew() {
        let mut history = History::default();
        assert_eq!(history.draw(FRAME), "");
        history.push(status(1.0, 100, 0));
        history.push(status(3.0, 500, 20));
        let drawn = history.draw(FRAME);
        for text in ["200/s", "10/s", "4.0 ms", "limit 8, because [2Jit is fixed", "1.5 s", "00c0ffee"] {
            assert!(drawn.contains(text), "{text} is missing in\n{drawn}");
        }
        history.push(status(4.0, 0, 0));
        assert!(history.completed.is_empty() && !history.draw(FRAME).contains("200/s"));
    }
}
