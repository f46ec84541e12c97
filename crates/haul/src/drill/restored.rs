//! A server on restored data applies the binary logs up to a place, by itself: as a replica that has all its relay logs.
//!
//! It takes events of any size, applies nothing older than its position, and stops where the last log was cut. It reaches no other
//! server: the logs are copies, its number is a new one, and there is no source to connect to.

use super::binlog::{Position, Stretch, Until, stretch};
use super::method::Taken;
use crate::{HaulError, refused};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox::{Data, Sandbox, SandboxEvent, SandboxSpec};
use evenkeel_site::server::{Control, Flavor, Rows};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A replica that applies nothing for so long hangs.
const SILENCE: Duration = Duration::from_secs(120);
/// No server is known to have it: 32 bits of its own.
const SERVER_ID: &str = "3735928559";

/// Hears what is done now.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// Of a sandbox only its notes are passed on.
pub fn quiet(tell: Tell<'_>) -> impl FnMut(SandboxEvent) {
    move |event| {
        if let SandboxEvent::Note(text) = event {
            tell(&text);
        }
    }
}

/// A step of a recovery, and how long it took.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Timed {
    pub step: &'static str,
    pub took_s: f64,
}

/// Steps one behind the other.
pub struct Steps {
    pub clock: Clock,
    pub done: Vec<Timed>,
    last: Nanos,
}

impl Steps {
    pub fn from(clock: Clock) -> Self {
        Self { clock, done: Vec::new(), last: Nanos::ZERO }
    }

    fn ends(&mut self, step: &'static str) {
        let now = self.clock.now();
        self.done.push(Timed { step, took_s: (now - self.last).as_secs_f64() });
        self.last = now;
    }
}

/// A recovery on a new private server.
pub struct Restore<'a> {
    /// The server, without data and settings.
    pub spec: SandboxSpec,
    /// Folder for data and relay logs.
    pub work: &'a Path,
    /// Folder of the binary logs; `None` where the backup alone is restored.
    pub logs: Option<&'a Path>,
    pub until: &'a Until,
    pub stop: &'a Stop,
}

impl Restore<'_> {
    /// Restores the backup, starts a server on it and applies the logs; what was applied.
    /// Errors: of any step, with what it said.
    pub fn run(
        &self,
        taken: &Taken,
        steps: &mut Steps,
        tell: Tell<'_>,
    ) -> Result<(Sandbox, Option<Stretch>), HaulError> {
        tell("restoring the backup");
        let data = self.work.join("data");
        let position = taken.restore(&data, self.stop)?;
        steps.ends("restore");
        let stretch = self.logs.map(|logs| self.stretch(logs, position)).transpose()?;
        let settings =
            stretch.as_ref().map(|stretch| lay_logs(stretch, &self.work.join("relay"))).transpose()?;
        steps.ends("logs");
        tell("starting a server on it");
        let data = if data.exists() { Data::Moved(data) } else { Data::Empty };
        let spec = SandboxSpec { data, settings: settings.unwrap_or_default(), ..self.spec.clone() };
        let restored = Sandbox::up(&spec, self.stop, &mut quiet(tell))?;
        steps.ends("start");
        if taken.load(&restored.target(), self.stop)? {
            steps.ends("load");
        }
        if let Some(stretch) = &stretch {
            tell("applying the binary logs");
            apply(&mut Control::connect_until(&restored.target(), self.stop)?, stretch, self.stop)?;
            steps.ends("apply");
        }
        Ok((restored, stretch))
    }

    fn stretch(&self, logs: &Path, position: Option<Position>) -> Result<Stretch, HaulError> {
        let hint =
            "take backups of a server with log_bin, dumps with --master-data=2; or restore it without --logs";
        let from = position
            .ok_or_else(|| refused("the backup does not say where it ends in the binary logs", hint))?;
        stretch(logs, &from, self.until)
    }
}

/// Copies the logs of a stretch, cut where it ends, as relay logs of a server that has never run.
/// Returns the settings that make the server find them.
fn lay_logs(stretch: &Stretch, folder: &Path) -> Result<BTreeMap<String, String>, HaulError> {
    fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
    let mut index = String::new();
    for (number, log) in stretch.logs.iter().enumerate() {
        let path = relay(folder, number);
        fs::copy(log, &path).map_err(HaulError::io("copy", log))?;
        index += &format!("{}\n", path.display());
    }
    if let Some(number) = stretch.logs.len().checked_sub(1) {
        let path = relay(folder, number);
        let last = File::options().write(true).open(&path).map_err(HaulError::io("open", &path))?;
        last.set_len(stretch.to).map_err(HaulError::io("cut", &path))?;
    }
    let path = folder.join("relay.index");
    fs::write(&path, index).map_err(HaulError::io("write", &path))?;
    let at = |name: &str| folder.join(name).display().to_string();
    Ok(BTreeMap::from([
        ("server_id".to_owned(), SERVER_ID.to_owned()),
        ("relay_log".to_owned(), at("relay")),
        ("relay_log_index".to_owned(), at("relay.index")),
        ("relay_log_purge".to_owned(), "0".to_owned()),
        ("skip_slave_start".to_owned(), String::new()),
        // Nobody else is to change what is recovered.
        ("event_scheduler".to_owned(), "OFF".to_owned()),
    ]))
}

fn relay(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("relay.{:06}", number + 1))
}

/// Applies the logs that were laid, to their end.
/// Errors: a transaction fails (the server's words), nothing goes on for two minutes, or somebody asked to stop.
fn apply(control: &mut Control, stretch: &Stretch, stop: &Stop) -> Result<(), HaulError> {
    let words = Words::of(control.version().flavor);
    let from = stretch.from;
    control.exec(&(words.change)(from))?;
    control.exec(words.start)?;
    let end = (format!("relay.{:06}", stretch.logs.len()), stretch.to);
    let (mut last, mut clock) = (String::new(), Clock::start());
    loop {
        let shown = control.query(words.show)?;
        let of = |name: &str| value(&shown, name, words.is_mysql);
        if let Some(error) = of("Last_SQL_Error").filter(|error| !error.is_empty()) {
            let hint = "the source and its logs do not fit: see the statement, and take another backup";
            return Err(refused(format!("the server does not apply its logs: {error}"), hint).into());
        }
        let log = of("Relay_Log_File").unwrap_or_default();
        let offset: u64 = of("Relay_Log_Pos").and_then(|text| text.parse().ok()).unwrap_or_default();
        // Behind the last one the server has begun an empty log of its own.
        if log > end.0 || (log == end.0 && offset >= end.1) {
            break;
        }
        let here = format!("{log}:{offset}");
        if here != last {
            (last, clock) = (here, Clock::start());
        }
        if Duration::from(clock.now()) > SILENCE {
            let what = format!("the server has not gone on from {last} for two minutes");
            return Err(refused(what, "see its log: evenkeel sandbox logs").into());
        }
        if stop.is_set() {
            return Err(HaulError::Stopped { path: end.0.into(), at: offset });
        }
        thread::sleep(Duration::from_millis(10));
    }
    control.exec(words.end)?;
    control.exec(words.forget)?;
    Ok(())
}

fn value(shown: &Rows, name: &str, is_mysql: bool) -> Option<String> {
    let name = if is_mysql { name.replace("Slave", "Replica") } else { name.to_owned() };
    let index = shown.column(&name)?;
    shown.rows.first()?.get(index)?.clone()
}

/// How the two lines of servers say it.
struct Words {
    is_mysql: bool,
    change: fn(u64) -> String,
    start: &'static str,
    show: &'static str,
    end: &'static str,
    forget: &'static str,
}

impl Words {
    fn of(flavor: Flavor) -> Self {
        match flavor {
            Flavor::MariaDb => Self {
                is_mysql: false,
                change: |from| {
                    format!(
                        "CHANGE MASTER TO MASTER_HOST = 'none', MASTER_USE_GTID = no, RELAY_LOG_FILE = 'relay.000001', \
                         RELAY_LOG_POS = {from}"
                    )
                },
                start: "START SLAVE SQL_THREAD",
                show: "SHOW SLAVE STATUS",
                end: "STOP SLAVE",
                forget: "RESET SLAVE ALL",
            },
            Flavor::MySql => Self {
                is_mysql: true,
                change: |from| {
                    format!(
                        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'none', RELAY_LOG_FILE = 'relay.000001', RELAY_LOG_POS = {from}"
                    )
                },
                start: "START REPLICA SQL_THREAD",
                show: "SHOW REPLICA STATUS",
                end: "STOP REPLICA",
                forget: "RESET REPLICA ALL",
            },
        }
    }
}
