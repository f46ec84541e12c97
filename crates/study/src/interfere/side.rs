//! A domain that is up: its server with the tables of all jobs, and where its processes run.

use super::jobs::{CLONE, Client, Job, Worker};
use super::schema::Schema;
use super::setting::{PART, Setting, Site, names};
use super::tables::{self, Block};
use crate::harness::{Event, Notify};
use crate::probe::Place;
use crate::published::{At, PrivateServer, Result, While};
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_sense::disk::Device;
use evenkeel_site::copy::Snapshot;
use evenkeel_site::elsewhere::Elsewhere;
use evenkeel_site::sandbox::{Domain, SandboxSpec};
use evenkeel_site::server::{Control, Local, Target};
use std::path::PathBuf;

/// The buffer pool has this part of a domain's memory.
const POOL_PART: u64 = 2;

pub struct Side {
    pub name: String,
    server: Server,
    target: Target,
    pub place: Place,
    /// The disk that holds its data; `None` where it is none, or not seen from here.
    pub disk: Option<Device>,
    /// Of the table that is only read.
    pub checksum: String,
}

enum Server {
    Private(PrivateServer),
    /// One of the user's, with its process where that is on this machine.
    Theirs {
        pid: Option<u32>,
        far: Option<Elsewhere>,
        _schema: Schema,
    },
}

impl Side {
    pub fn up(at: &At<'_, Setting>, number: usize, tell: Notify<'_>) -> Result<Self> {
        let name = names(&at.setting.domains).swap_remove(number);
        tell(Event::Step(format!("preparing domain {name}, with {} rows", at.setting.rows)));
        let mut side = match &at.setting.domains[number] {
            Site::Private(domain) => Self::private(at, name, domain)?,
            Site::Server { url, sense_with, .. } => Self::theirs(at, name, url, sense_with.as_deref())?,
        };
        let stop = at.workplace.stop;
        let mut control = side.control(stop)?;
        side.checksum = tables::make(&mut control, at.setting.rows, Seed(at.plan.seed), &|| !stop.is_set())?;
        let part = at.plan.part(PART);
        let clones = part.is_some_and(|part| part.levels(&side.name).iter().any(|level| level.name == CLONE));
        if let Server::Private(server) = &mut side.server
            && clones
        {
            server.sandbox.pause(&mut |_| {})?;
            let (from, _) = clone(&side.place);
            Snapshot::take(&side.place.folder.join("data"), &from).doing(|| "copying the data")?;
            server.restart([], stop)?;
            // Fills the buffer pool again.
            tables::checksum(&mut side.control(stop)?)?;
        }
        Ok(side)
    }

    fn private(at: &At<'_, Setting>, name: String, domain: &Domain) -> Result<Self> {
        let pool = |memory: u64| ("innodb_buffer_pool_size".to_owned(), (memory / POOL_PART).to_string());
        let spec = SandboxSpec {
            name: format!("{}-{name}", at.plan.private_name()),
            home: at.workplace.home.to_owned(),
            settings: domain.memory.map(pool).into_iter().collect(),
            domain: domain.clone(),
            server_binary: at.setting.place.server_binary.as_ref().map(PathBuf::from),
            ..SandboxSpec::default()
        };
        let server = PrivateServer::up(&at.workplace, &spec)?;
        let target = server.emptied("interfere", at.workplace.stop)?;
        let place = Place::of(&server.sandbox)?;
        let disk = Device::of_path(&place.folder);
        Ok(Self { name, server: Server::Private(server), target, place, disk, checksum: String::new() })
    }

    fn theirs(at: &At<'_, Setting>, name: String, url: &str, sense_with: Option<&str>) -> Result<Self> {
        let stop = at.workplace.stop;
        let schema = at.setting.scratch.as_deref().unwrap_or_default();
        let target = Target { database: Some(schema.to_owned()), ..Target::parse(url)? };
        let schema = Schema::make(&target, schema, stop)?;
        let far = sense_with.map(Elsewhere::command);
        if let Some(far) = &far {
            far.start(stop).doing(|| format!("looking at the machine of server {name}"))?;
        }
        let local = Local::of(&mut Control::connect_until(&target, stop)?).filter(|_| far.is_none());
        let disk = local.as_ref().and_then(|local| Device::of_path(&local.data_dir));
        let server = Server::Theirs { pid: local.map(|local| local.pid), far, _schema: schema };
        Ok(Self { name, server, target, place: Place::host(""), disk, checksum: String::new() })
    }

    pub fn control(&self, stop: &Stop) -> Result<Control> {
        Ok(Control::connect_until(&self.target, stop)?)
    }

    /// Its server's process, where that is on this machine; the error says how a private one ended.
    pub fn pid(&self) -> Result<Option<u32>> {
        match &self.server {
            Server::Private(server) => server.pid().map(Some),
            Server::Theirs { pid, .. } => Ok(*pid),
        }
    }

    /// What sees its machine, where that is another one.
    pub fn far(&self) -> Option<&Elsewhere> {
        match &self.server {
            Server::Theirs { far, .. } => far.as_ref(),
            Server::Private(_) => None,
        }
    }

    /// Who does a job in a thread of ours.
    pub fn worker(&self, job: &'static Job, at: &At<'_, Setting>, seed: Seed) -> Result<Option<Worker>> {
        if job.name == CLONE {
            let (from, into) = clone(&self.place);
            let copy =
                move || Snapshot::take(&from, &into).map(|_| 1).doing(|| "copying the data of a domain");
            return Ok(Some(Box::new(copy)));
        }
        if !job.is_client() {
            return Ok(None);
        }
        let (block, stop) = (Block::of(Seed(at.plan.seed)), at.workplace.stop);
        let mut client = Client::connect(job, &self.target, block, at.setting.rows, seed, stop)?;
        Ok(Some(Box::new(move || Ok(client.step()?))))
    }

    /// Whether a line of the kernel's log speaks of it: of its process, its disk in a file, or a control group of it.
    pub fn is_meant(&self, line: &str, pids: &[u32]) -> bool {
        let is_own = |word: &str| {
            word.parse().is_ok_and(|number| pids.contains(&number))
                || self.disk.as_ref().is_some_and(|disk| disk.name == word && word.starts_with("loop"))
        };
        let group = |group: &evenkeel_site::sandbox::Cgroup| {
            group.path.file_name().is_some_and(|name| line.contains(&*name.to_string_lossy()))
        };
        line.split(|letter: char| !letter.is_alphanumeric()).any(is_own)
            || self.place.groups.iter().any(group)
    }
}

/// What the data directory was when its server was down, and where that is copied to.
fn clone(place: &Place) -> (PathBuf, PathBuf) {
    (place.folder.join("clone.source"), place.folder.join("clone"))
}
