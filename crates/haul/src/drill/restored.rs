//! A server on restored data applies the binary logs up to a place, by itself: as a replica that has all its relay logs.
//!
//! It takes events of any size, applies nothing older than its position, and stops where the last log was cut. It reaches no other
//! server: the logs are copies, its number is a new one, and there is no source to connect to.

use super::binlog::Position;
use super::method::Taken;
use super::program::wait;
use super::range::{LogRange, Until, range};
use crate::{HaulError, refused};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox::{self, Data, Sandbox, SandboxEvent, SandboxSpec};
use evenkeel_site::server::{Control, Flavor};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
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

/// A folder that goes with the drill; so do those that killed ones have left.
pub struct Work(pub PathBuf);

impl Work {
    pub fn new(home: &Path) -> Result<Self, HaulError> {
        fs::create_dir_all(home).map_err(HaulError::io("create", home))?;
        sweep(home);
        let path = home.join(format!("drill-{}", std::process::id()));
        // A dump is nobody else's to read.
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(HaulError::io("create", &path))?;
        Ok(Self(path))
    }
}

/// Removes the folders that killed drills have left.
pub fn sweep(home: &Path) {
    for entry in home.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix("drill-").and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The servers of a drill: they are removed when this is dropped, and at the start what a killed drill has left of them.
pub struct Servers<'a> {
    home: &'a Path,
    names: Vec<String>,
}

impl<'a> Servers<'a> {
    /// Errors: one of these names runs, or cannot be removed.
    pub fn new(
        home: &'a Path,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, HaulError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let there: Vec<String> = sandbox::list(home)?.into_iter().map(|info| info.name).collect();
        let left: Vec<String> = names.iter().filter(|name| there.contains(name)).cloned().collect();
        sweep(home);
        if !left.is_empty() {
            sandbox::clean(home, &left)?;
        }
        Ok(Self { home, names })
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = sandbox::clean(self.home, std::slice::from_ref(name));
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
    ) -> Result<(Sandbox, Option<LogRange>), HaulError> {
        tell("restoring the backup");
        let data = self.work.join("data");
        let position = taken.restore(&data, self.stop)?;
        steps.ends("restore");
        let range = self.logs.map(|logs| self.range(logs, position)).transpose()?;
        let mut settings = isolated();
        if let Some(range) = &range {
            settings.extend(copy_relay_logs(range, &self.work.join("relay"))?);
        }
        steps.ends("logs");
        tell("starting a server on it");
        let data = if data.exists() { Data::Moved(data) } else { Data::Empty };
        let spec = SandboxSpec { data, settings, ..self.spec.clone() };
        let restored = Sandbox::up(&spec, self.stop, &mut quiet(tell))?;
        steps.ends("start");
        if taken.load(&restored.target(), self.stop)? {
            steps.ends("load");
        }
        if let Some(range) = &range {
            tell("applying the binary logs");
            apply(&mut Control::connect_until(&restored.target(), self.stop)?, range, self.stop)?;
            steps.ends("apply");
        }
        Ok((restored, range))
    }

    fn range(&self, logs: &Path, position: Option<Position>) -> Result<LogRange, HaulError> {
        let hint =
            "take backups of a server with log_bin, dumps with --master-data=2; or restore it without --logs";
        let from = position
            .ok_or_else(|| refused("the backup does not say where it ends in the binary logs", hint))?;
        range(logs, &from, self.until)
    }
}

/// A copy of a server must not do what that one does: no events, and no replication, of which a snapshot knows the source. The two lines
/// of servers call it differently.
pub fn isolated() -> BTreeMap<String, String> {
    let settings = [
        ("event_scheduler", "OFF"),
        ("loose_skip_slave_start", "ON"),
        ("loose_skip_replica_start", "ON"),
        ("max_allowed_packet", "1073741824"),
    ];
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Copies the logs of a range, cut where it ends, as relay logs of a server that has never run.
/// Returns the settings that make the server find them.
fn copy_relay_logs(range: &LogRange, folder: &Path) -> Result<BTreeMap<String, String>, HaulError> {
    fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
    let mut index = String::new();
    for (number, log) in range.logs.iter().enumerate() {
        let path = relay(folder, number);
        fs::copy(log, &path).map_err(HaulError::io("copy", log))?;
        index += &format!("{}\n", path.display());
    }
    if let Some(number) = range.logs.len().checked_sub(1) {
        let path = relay(folder, number);
        let last = File::options().write(true).open(&path).map_err(HaulError::io("open", &path))?;
        last.set_len(range.to).map_err(HaulError::io("cut", &path))?;
    }
    let path = folder.join("relay.index");
    fs::write(&path, index).map_err(HaulError::io("write", &path))?;
    let at = |name: &str| folder.join(name).display().to_string();
    Ok(BTreeMap::from([
        ("server_id".to_owned(), SERVER_ID.to_owned()),
        ("relay_log".to_owned(), at("relay")),
        ("relay_log_index".to_owned(), at("relay.index")),
        ("relay_log_purge".to_owned(), "0".to_owned()),
    ]))
}

fn relay(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("relay.{:06}", number + 1))
}

/// Applies the logs that were laid, to their end.
/// Errors: a transaction fails (the server's words), nothing goes on for two minutes, or somebody asked to stop.
fn apply(control: &mut Control, range: &LogRange, stop: &Stop) -> Result<(), HaulError> {
    control.exec(&change(control.version().flavor, range.from))?;
    control.exec("START REPLICA SQL_THREAD")?;
    let end = (format!("relay.{:06}", range.logs.len()), range.to);
    let (mut last, mut clock) = (String::new(), Clock::start());
    loop {
        let shown = control.query("SHOW REPLICA STATUS")?;
        let of = |name: &str| shown.named(name).map(str::to_owned);
        if let Some(error) = of("Last_SQL_Error").filter(|error| !error.is_empty()) {
            let hint = "the backup and the logs do not match: check that both are of the same server";
            return Err(refused(format!("the server could not apply the binary logs: {error}"), hint).into());
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
            return Err(refused(
                what,
                "repeat it with --keep, and see the server's log: evenkeel sandbox logs",
            )
            .into());
        }
        wait(Duration::from_millis(10), stop)?;
    }
    control.exec("STOP REPLICA")?;
    control.exec("RESET REPLICA ALL")?;
    Ok(())
}

/// What makes a server a replica that has all its relay logs and no source.
fn change(flavor: Flavor, from: u64) -> String {
    let logs = format!("RELAY_LOG_FILE = 'relay.000001', RELAY_LOG_POS = {from}");
    match flavor {
        Flavor::MariaDb => format!("CHANGE MASTER TO MASTER_HOST = 'none', MASTER_USE_GTID = no, {logs}"),
        Flavor::MySql => format!("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'none', {logs}"),
    }
}
