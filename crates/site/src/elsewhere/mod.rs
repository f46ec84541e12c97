//! A server that runs on another machine can be seen from here: its CPU time, what is stolen from it, its disks.
//!
//! There are three ways: a command that speaks as `evenkeel sense` does (`command`, mostly by ssh), the page of node_exporter
//! (`metrics`), and as a last way what the server itself counts (`statistics`). All bring readings on our clock, which
//! `readings` puts into the samples of a run in place of this machine's. What ends or lies silent costs figures, which are
//! then not available, and never the study.

mod child;
mod clocks;
mod command;
mod error;
mod line;
mod metrics;
mod readings;
mod statistics;

use crate::server::{Control, Target};
pub use clocks::next_line;
use clocks::plain;
use command::Running;
pub use error::ElsewhereError;
use evenkeel_core::Nanos;
use evenkeel_os::Background;
use evenkeel_os::Stop;
use evenkeel_sense::far::boot_id;
use evenkeel_sense::sampler::{SenseRecord, SenseSample};
pub use line::{Cpu, Disk, Header, LINES, Line, Reading, Server};
use metrics::{Metrics, Url};
use readings::{Machine, Readings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug)]
pub struct Elsewhere(Arc<Source>);

#[derive(Debug)]
enum Source {
    Command { command: String, running: Mutex<Option<Arc<Running>>> },
    Metrics { url: Url, metrics: Mutex<Option<Metrics>> },
    Statistics(Target),
}

/// A run under way, seen from elsewhere.
#[derive(Debug)]
pub struct Watch {
    sensed: SensedRecord,
    begins: Nanos,
    way: Watching,
}

#[derive(Debug)]
enum Watching {
    Command(Arc<Running>),
    Metrics(Background<metrics::Looked>),
    Statistics(statistics::Watch),
    Nothing,
}

/// What was seen of a run besides what stands in its samples.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Who saw it, and how finely.
    pub sensed: SensedRecord,
    /// CPU time of the server by its own account, in a second.
    pub cpu_per_s: Option<f64>,
    /// Whether another machine was seen, on which the generator takes nothing.
    pub is_far: bool,
}

impl Elsewhere {
    /// By a command of the shell.
    pub fn command(command: &str) -> Self {
        Self(Arc::new(Source::Command { command: command.to_owned(), running: Mutex::default() }))
    }

    /// By the page of node_exporter.
    /// Errors: it is no address that can be asked.
    pub fn metrics(url: &str) -> Result<Self, ElsewhereError> {
        Ok(Self(Arc::new(Source::Metrics { url: Url::parse(url)?, metrics: Mutex::default() })))
    }

    /// By what the server counts itself; `None` where it does not.
    pub fn statistics(target: &Target, stop: &Stop) -> Option<Self> {
        let mut control = Control::connect_until(target, stop).ok()?;
        statistics::cpu_time(&mut control)?;
        Some(Self(Arc::new(Source::Statistics(target.clone()))))
    }

    /// Makes sure that it works, once for a study.
    /// Errors: the command says nothing, the page cannot be had: a study would find out only after its first run.
    pub fn start(&self, stop: &Stop) -> Result<(), ElsewhereError> {
        match &*self.0 {
            Source::Command { command, running } => {
                let mut slot = running.lock().unwrap_or_else(PoisonError::into_inner);
                if slot.is_none() {
                    *slot = Some(Arc::new(Running::start(command, stop)?));
                }
            }
            Source::Metrics { url, metrics } => {
                let mut slot = metrics.lock().unwrap_or_else(PoisonError::into_inner);
                if slot.is_none() {
                    *slot = Some(Metrics::start(url)?);
                }
            }
            Source::Statistics(_) => {}
        }
        Ok(())
    }

    /// What it says of the machine that it tells of, in words by name.
    pub fn words(&self) -> BTreeMap<String, String> {
        let sensed = self.sensed();
        let mut words = vec![("sensed_by", Some(sensed.by.to_string())), ("sensed_with", sensed.with)];
        words.push(("host", sensed.host));
        if let Some(running) = self.running() {
            let header = running.header();
            words.push(("kernel", header.kernel.clone()));
            words.push(("cpus", header.cpus.map(|cpus| cpus.to_string())));
            words.push(("governor", header.governor.clone()));
            words.push(("hypervisor", header.hypervisor.clone()));
            words.push(("memory_bytes", header.memory_bytes.map(|bytes| bytes.to_string())));
            words.push(("tool", Some(header.tool.clone())));
            let server = header.server_pid.map(|pid| format!("process {pid}"));
            words.push(("server_process", server.or(header.no_server.clone())));
        }
        if let Some(metrics) = self.seen_metrics() {
            words.push(("kernel", metrics.kernel));
            words.push(("cpus", Some(metrics.cpus.to_string())));
        }
        words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), plain(&word?)))).collect()
    }

    /// What its user should know before the first run: theta would be that of a whole machine without being asked for.
    pub fn doubt(&self) -> Option<String> {
        let running = self.running()?;
        let why = running.header().no_server.as_deref()?;
        Some(plain(&format!(
            "{}: {why}; the CPU use is that of the whole machine",
            self.sensed().with.unwrap_or_default()
        )))
    }

    /// Begins to watch a run whose measured phase lasts from `begins` to `ends`, on the monotonic clock.
    pub fn watch(&self, begins: Nanos, ends: Nanos) -> Watch {
        let way = match &*self.0 {
            Source::Command { .. } => self.running().map(|running| {
                running.begin();
                Watching::Command(running)
            }),
            Source::Metrics { .. } => {
                self.seen_metrics().and_then(|metrics| metrics.watch()).map(Watching::Metrics)
            }
            Source::Statistics(target) => {
                Some(Watching::Statistics(statistics::Watch::start(target, begins, ends)))
            }
        };
        Watch { sensed: self.sensed(), begins, way: way.unwrap_or(Watching::Nothing) }
    }

    fn sensed(&self) -> SensedRecord {
        let (by, with, host) = match &*self.0 {
            Source::Command { command, .. } => {
                let host = self.running().map(|running| running.header().host.clone());
                (SensedBy::Command, Some(command.clone()), host)
            }
            Source::Metrics { url, .. } => {
                let host = self.seen_metrics().and_then(|metrics| metrics.host);
                (SensedBy::NodeExporter, Some(url.to_string()), host)
            }
            Source::Statistics(_) => (SensedBy::Statistics, None, None),
        };
        SensedRecord { by, with, host: host.map(|host| plain(&host)), ..SensedRecord::default() }
    }

    fn running(&self) -> Option<Arc<Running>> {
        let Source::Command { running, .. } = &*self.0 else { return None };
        running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn seen_metrics(&self) -> Option<Metrics> {
        let Source::Metrics { metrics, .. } = &*self.0 else { return None };
        metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watch {
    /// Utilisation just now, percent, for the progress line; a page that is read once a second is too late for it.
    pub fn theta_percent(&self) -> Option<f64> {
        match &self.way {
            Watching::Command(running) => running.latest(),
            _ => None,
        }
    }

    /// Ends the watch, and puts the far machine's figures into the record of this machine.
    pub fn finish(self, record: Option<&mut SenseRecord>) -> Sight {
        let Self { mut sensed, begins, way } = self;
        let (readings, bound, missing, machine) = match way {
            Watching::Command(running) => {
                let heard = running.finish();
                let is_ours = is_ours(running.header());
                (heard.readings, heard.bound, heard.ended, Machine { is_ours })
            }
            Watching::Metrics(watch) => {
                let looked = watch.finish().unwrap_or_default();
                (looked.readings, looked.bound, looked.failed, Machine::default())
            }
            Watching::Statistics(watch) => return statistics(sensed, watch.finish()),
            Watching::Nothing => {
                (Readings::default(), None, Some("was not started".to_owned()), Machine::default())
            }
        };
        let is_seen = record.is_some_and(|record| {
            readings.fill(record, begins, machine);
            record.whole.as_ref().is_some_and(|whole| whole.domain.is_some())
        });
        let millis = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
        sensed.readings = u32::try_from(readings.len()).unwrap_or(u32::MAX);
        sensed.gap_ms = millis(readings.gap());
        sensed.resolution_ms = millis(readings.resolution());
        sensed.clock_error_ms = millis(bound);
        sensed.missing =
            missing.or((!is_seen).then(|| "had no reading near both ends of the run".to_owned()));
        Sight { sensed, cpu_per_s: None, is_far: is_seen && !machine.is_ours }
    }
}

impl Sight {
    pub fn from_here(whole: Option<&SenseSample>) -> Self {
        let is_seen = whole.is_some_and(|whole| whole.server.is_some() || whole.domain.is_some());
        let by = if is_seen { SensedBy::ThisMachine } else { SensedBy::Nobody };
        Self { sensed: SensedRecord { by, ..SensedRecord::default() }, ..Self::default() }
    }
}

fn statistics(mut sensed: SensedRecord, used: Option<statistics::Used>) -> Sight {
    let cpu_per_s = used.map(|used| used.cpu.as_secs_f64() / used.over.as_secs_f64().max(1e-9));
    if cpu_per_s.is_none() {
        sensed.missing = Some("did not answer at both ends of the run, or reset its counters".to_owned());
    }
    Sight { sensed, cpu_per_s, is_far: false }
}

/// Whether the far machine is this one: another start of a machine has another id.
fn is_ours(header: &Header) -> bool {
    header.boot_id.is_some() && header.boot_id == boot_id()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SensedRecord {
    pub by: SensedBy,
    /// The command, or the address of the page; absent where it is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// Name of the machine that it tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Readings of the run.
    #[serde(default)]
    pub readings: u32,
    /// Time from one of them to the next, by the middle one, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<f64>,
    /// The step in which CPU time is counted, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ms: Option<f64>,
    /// By how much a reading may stand at the wrong place in time, ms; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

words! {
    #[derive(Default)]
    SensedBy {
        /// The machine that Evenkeel runs on, because the server does too.
        ThisMachine = "this machine",
        /// A command that speaks as `evenkeel sense` does.
        Command = "command",
        NodeExporter = "node_exporter",
        Statistics = "server statistics",
        /// None: the figures are not available.
        #[default]
        Nobody = "nobody",
    }
}
