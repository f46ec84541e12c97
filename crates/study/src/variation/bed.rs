//! The servers of the study: filled, looked at, started anew, asked.

use super::facts::{PAGES, PLAN, ROOM, START, STATISTICS, data_of, share_locks, statistics_of};
use super::pages::{Predicted, pages_of, room};
use super::record::{Setting, TargetRecord};
use crate::harness::{Event, Notify, Run};
use crate::profile::{Reset, Server, ServerSpec, SiteSpec, StudyEvent, shapes, writes};
use crate::published::{PublishedError, Result, While, Workplace, workload, workload_of_file};
use crate::store::format::ServerRecord;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::random::Seed;
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::data::{DataSpec, Via};
use evenkeel_lab::workload::Workload;
use evenkeel_os::clock::unix_time;
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::{Control, Target};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// How rows came in to the published servers, all into one tablespace; also where no layouts are compared.
pub(super) const VIA: &str = "script";

/// A server of the study: which target, and how its rows came in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub target: usize,
    pub via: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub key: Key,
    pub start: u32,
    /// Percent of the tables that the statement asks; `None` where it is not ours to set.
    pub pool_percent: Option<f64>,
    /// Where the pool is a share of the tables of another server of the target: how rows came into that one.
    pub pool_of: Option<&'static str>,
    pub workload: String,
    /// Name of the workloads that one start of the server is asked: another one of them takes no new start.
    pub group: String,
}

pub(super) struct Standing {
    pub server: Server,
    pub workload: Arc<dyn Workload>,
    asked: String,
    pub record: ServerRecord,
    /// For which group of workloads, start and pool it was started; `None` before the first start.
    begun: Option<(String, u32, Option<u64>)>,
    reset: Reset,
    notes: BTreeMap<&'static str, String>,
    /// Pages that a request of what is asked reads from disk, by plan and pages.
    predicted: Option<Predicted>,
    /// Why its buffer pool is larger than was asked for, where it is.
    larger: Option<Caveat>,
}

pub(super) struct Bed<'a> {
    workplace: Workplace<'a>,
    id: String,
    setting: Setting,
    seed: u64,
    servers: BTreeMap<Key, Standing>,
}

impl<'a> Bed<'a> {
    pub fn new(workplace: Workplace<'a>, id: &str, setting: &Setting, seed: u64) -> Self {
        Self { workplace, id: id.to_owned(), setting: setting.clone(), seed, servers: BTreeMap::new() }
    }

    /// A server that is up; whether it was started just now.
    pub fn begin(&mut self, wanted: &Wanted, tell: Notify<'_>) -> Result<bool> {
        let record = self.target(wanted.key.target)?.clone();
        let doing = || format!("preparing {}", record.words());
        if !self.servers.contains_key(&wanted.key) {
            let standing = self.first(&record, wanted, tell).doing(doing)?;
            self.servers.insert(wanted.key.clone(), standing);
        }
        self.start(wanted, tell).doing(doing)
    }

    pub fn standing(&self, key: &Key) -> Result<&Standing> {
        self.servers.get(key).ok_or_else(|| PublishedError::wrong("a server of the study is not up"))
    }

    /// Whether two targets lead to one server.
    pub fn is_one(&self, one: &Key, other: &Key) -> Result<bool> {
        let target = |key| up(&self.standing(key)?.server);
        share_locks(target(one)?, target(other)?, self.workplace.stop)
    }

    fn target(&self, number: usize) -> Result<&TargetRecord> {
        let missing = || PublishedError::wrong(format!("plan.json has no target {}", number + 1));
        self.setting.targets.get(number).ok_or_else(missing)
    }

    /// Fills a server and looks at it once.
    fn first(&self, record: &TargetRecord, wanted: &Wanted, tell: Notify<'_>) -> Result<Standing> {
        let (site, reset) = self.site(record, &wanted.key)?;
        let mut server = Server::new(site)?;
        let stop = self.workplace.stop;
        let mut notify = steps(tell);
        // The copy for runs that write is of the data as it is before any of them.
        server.prepare(
            &self.id,
            server.is_private() && wanted.workload == super::parts::WRITE_STATEMENT,
            stop,
            &mut notify,
        )?;
        server.start(&Reset::Nothing, (None, false), stop, &mut notify)?;
        let target = up(&server)?.clone();
        // Sizes are those of the tables that the study is about, whatever else it asks.
        let workload = asked(&self.workplace, &self.setting, &self.setting.workload, &target)?;
        if writes(workload.as_ref()) && !server.is_private() && record.reset.is_none() {
            return Err(only_reads(&self.setting.workload));
        }
        let mut said = server.record(workload.as_ref(), stop)?;
        if !said.data.contains_key("checksum") {
            let mut control = Control::connect_until(&target, stop)?;
            said.data.extend(data_of(&mut control, &crate::profile::tables(workload.as_ref()))?);
        }
        let mut notes = BTreeMap::new();
        if let (true, Some(data)) = (server.is_private(), server.data_dir()) {
            server.down(&mut notify)?;
            let database = target.database.clone().unwrap_or_default();
            let tables = crate::profile::tables(workload.as_ref());
            // Pages that cannot be read cost a comparison, no run.
            if let Ok(pages) = pages_of(&data, &database, &tables, stop) {
                notes.insert(PAGES, serde_json::to_string(&pages).unwrap_or_default());
            }
        }
        let asked = self.setting.workload.clone();
        Ok(Standing {
            server,
            workload,
            asked,
            record: said,
            begun: None,
            reset,
            notes,
            predicted: None,
            larger: None,
        })
    }

    fn start(&mut self, wanted: &Wanted, tell: Notify<'_>) -> Result<bool> {
        let (stop, id) = (self.workplace.stop, self.id.clone());
        let missing = || PublishedError::wrong("a server of the study is not there");
        let like = wanted.pool_of.map(|via| Key { via: via.to_owned(), ..wanted.key.clone() });
        let like = like.and_then(|like| self.servers.get(&like)?.record.tables_bytes);
        let standing = self.servers.get_mut(&wanted.key).ok_or_else(missing)?;
        let tables_bytes = like.or(standing.record.tables_bytes);
        let pool = wanted.pool_percent.and_then(|percent| pool_bytes(percent, tables_bytes));
        standing.larger = wanted.pool_percent.zip(tables_bytes).and_then(larger);
        let begun = (wanted.group.clone(), wanted.start, pool);
        if standing.begun.as_ref() == Some(&begun) {
            if standing.asked != wanted.workload {
                standing.ask(&self.workplace, &self.setting, &wanted.workload)?;
            }
            return Ok(false);
        }
        let mut notify = steps(tell);
        let is_other = standing.begun.as_ref().is_none_or(|(group, ..)| *group != wanted.group);
        let writing = writes(standing.workload.as_ref()) || wanted.workload == super::parts::WRITE_STATEMENT;
        if is_other && writing && standing.server.is_private() {
            standing.server.down(&mut notify)?;
            standing.server.prepare(&id, true, stop, &mut notify)?;
        }
        let restarts = standing.server.restarts(&standing.reset);
        if restarts || standing.begun.is_none() {
            standing.server.start(&standing.reset, (pool, writing), stop, &mut notify)?;
            standing.notes.insert(START, format!("{} at {}", wanted.start, unix_time().as_secs()));
        }
        standing.ask(&self.workplace, &self.setting, &wanted.workload)?;
        standing.begun = Some(begun);
        Ok(true)
    }

    fn site(&self, record: &TargetRecord, key: &Key) -> Result<(SiteSpec, Reset)> {
        let (place, reset) = match (record.is_private(), record.url.strip_prefix("sandbox:")) {
            (true, _) => (self.private(record, key)?, Reset::Full),
            (_, Some(named)) => {
                let (name, database) = named.split_once('/').unwrap_or((named, DataSpec::DATABASE));
                let home = self.workplace.home.to_owned();
                let (name, database) = (name.to_owned(), database.to_owned());
                (ServerSpec::Named { home, name, database }, Reset::Full)
            }
            _ => {
                let target = Target::parse(&record.url)?;
                let reset = record.reset.clone().map_or(Reset::Nothing, Reset::Command);
                (ServerSpec::Remote(target), reset)
            }
        };
        let site = SiteSpec {
            target_label: record.name.clone(),
            place,
            elsewhere: None,
            of_others: !record.is_here(),
            sql: Vec::new(),
        };
        Ok((site, reset))
    }

    /// Its data stay in the home folder when the study has ended, for the next one.
    fn private(&self, record: &TargetRecord, Key { via, .. }: &Key) -> Result<ServerSpec> {
        let data = &self.setting.data;
        // The published script filled one tablespace that all tables share, which is a matter of how they are made: another server.
        let is_shared = via == VIA;
        let shared = if is_shared { "-shared" } else { "" };
        let name =
            format!("variation-{}-{}-s{}-{via}{shared}-{}", data.ebs, data.items, data.seed, record.name);
        let mut sandbox = SandboxSpec::new(self.workplace.home, name);
        if is_shared {
            sandbox.settings.insert("innodb_file_per_table".to_owned(), "OFF".to_owned());
        }
        sandbox.server_binary = self.setting.machine.server_binary.as_ref().map(PathBuf::from);
        let cpus = &self.setting.server_cpus;
        sandbox.domain.cpus = match cpus.is_empty() {
            true => None,
            false => Some(cpus.parse().doing(|| "reading the CPUs of the plan")?),
        };
        // It tells what a read from disk takes; all else that it counts is left out.
        sandbox.settings.insert("performance_schema".to_owned(), "ON".to_owned());
        let scale = Scale::new(data.ebs, u64::from(data.items).try_into().unwrap_or(u32::MAX));
        let set = scale.doing(|| "reading the size of the data in the plan")?.into();
        let via: Via = via.parse().doing(|| "reading the layout in the plan")?;
        let threads = std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(8));
        let data = DataSpec { set, seed: Seed(data.seed), today: None, via, threads };
        Ok(ServerSpec::Sandbox { sandbox, data: Some(data) })
    }

    /// Ends the servers that are not wanted beside others.
    pub fn rest(&mut self, wanted: &[Key], tell: Notify<'_>) -> Result<()> {
        let mut notify = steps(tell);
        for (_, standing) in self.servers.iter_mut().filter(|(key, _)| !wanted.contains(key)) {
            if standing.begun.take().is_some() {
                standing.server.down(&mut notify)?;
            }
        }
        Ok(())
    }

    /// Seed of a run, the same for all targets of it.
    pub fn seed(&self, name: &str) -> Seed {
        Seed(self.seed).child("variation").child(name)
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        for standing in self.servers.values_mut() {
            // Whatever fails here is told by `sandbox list`, and nothing was lost.
            let _ = standing.server.leave(&self.id, &mut |_| {});
        }
    }
}

impl Standing {
    fn ask(&mut self, workplace: &Workplace<'_>, setting: &Setting, name: &str) -> Result<()> {
        let target = up(&self.server)?.clone();
        self.workload = asked(workplace, setting, name, &target)?;
        name.clone_into(&mut self.asked);
        self.look(&target)
    }

    fn look(&mut self, target: &Target) -> Result<()> {
        let stop = evenkeel_os::Stop::default();
        let plans = self.server.plans(self.workload.as_ref(), &stop)?;
        self.notes.insert(PLAN, shapes(&plans));
        let tables = crate::profile::tables(self.workload.as_ref());
        let mut control = Control::connect(target)?;
        // A user who may not read them loses a comparison, no run.
        if let Ok(text) = statistics_of(&mut control, &tables) {
            self.notes.insert(STATISTICS, text);
        }
        let room = room(&mut control);
        if let Some(room) = room {
            self.notes.insert(ROOM, room.to_string());
        }
        // What is written has pages of its own to be read and made.
        let pages = self.notes.get(PAGES).filter(|_| !writes(self.workload.as_ref()));
        self.predicted = pages.and_then(|pages| Predicted::of(&plans, pages, room?));
        Ok(())
    }

    /// Pages that a request reads from disk, as nobody has counted it; `None` where pages or plan do not tell.
    pub fn predicted(&self) -> Option<Predicted> {
        self.predicted
    }

    /// Adds to a run what its server is like.
    pub fn note(&self, run: &mut Run, of_target: &str) {
        run.notes.extend(self.notes.iter().map(|(name, text)| (format!("{name}{of_target}"), text.clone())));
        run.caveats.extend(self.larger.clone());
    }
}

/// A workload by its name, or by the file of the user's that the study keeps.
fn asked(
    workplace: &Workplace<'_>,
    setting: &Setting,
    name: &str,
    target: &Target,
) -> Result<Arc<dyn Workload>> {
    match &setting.workload_file {
        Some(text) if name == setting.workload => workload_of_file(workplace, (name, text), target),
        _ => workload(name, target),
    }
}

/// What runs write stays in a server that is not filled anew, and the next run finds other tables.
fn only_reads(workload: &str) -> PublishedError {
    PublishedError::with_hint(
        format!("{workload} writes, and Evenkeel cannot restore the rows on your own server"),
        "name a workload that only reads, or a command by reset= that restores the rows; without url= the \
         part `write` uses private servers",
    )
}

fn up(server: &Server) -> Result<&Target> {
    server.target().ok_or_else(|| PublishedError::wrong("a server of the study is not up"))
}

/// Says that a pool is larger than was asked for, since a server takes no smaller one.
fn larger((percent, tables_bytes): (f64, u64)) -> Option<Caveat> {
    let least = crate::profile::POOL_BYTES_MIN;
    let asked = tables_bytes as f64 * percent / 100.0;
    (tables_bytes > 0 && asked < least as f64).then(|| {
        let text = format!(
            "A buffer pool of {percent} % of the tables would have {:.1} MiB, and a server needs {} MiB at \
             least: it has {:.0} %, and levels below that are the same. Take more items (items=100000).",
            asked / f64::from(1 << 20),
            least >> 20,
            100.0 * least as f64 / tables_bytes as f64
        );
        Caveat::new("pool-larger-than-asked", Severity::Doubt, text)
            .with("asked_percent", percent)
            .with("tables_bytes", tables_bytes as f64)
    })
}

/// A server starts with no smaller pool than this, whatever the percent.
fn pool_bytes(percent: f64, tables_bytes: Option<u64>) -> Option<u64> {
    let bytes = (tables_bytes? as f64 * percent / 100.0) as u64;
    Some((bytes.div_ceil(1 << 20) << 20).max(crate::profile::POOL_BYTES_MIN))
}

fn steps(tell: Notify<'_>) -> impl FnMut(StudyEvent) + '_ {
    move |event| match event {
        StudyEvent::Preparing(text) | StudyEvent::Warning(text) => tell(Event::Step(text)),
        StudyEvent::Data(progress) => tell(Event::Data(progress)),
        _ => {}
    }
}
