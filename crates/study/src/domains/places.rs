//! The servers: that of the host, and one in each guest. All are up in every run; who has nothing to do is idle.

use super::setting::{BLOCK_ROWS, PLACES, Setting};
use crate::harness::{Event, Notify, Run};
use crate::interfere::tables::{Block, blocks};
use crate::published::{At, PrivateServer, Result, Watch};
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_os::cpu::Affinity;
use evenkeel_sense::CpuOf;
use evenkeel_sense::cpu::CpuSet;
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::{Control, Target};
use std::path::PathBuf;

/// The buffer pool has this part of the memory: what a server needs beside it is the same in all.
const POOL_PART: u64 = 4;
/// What may grow by as much as a guest of 128 MB has is small in all: caches of other engines, and temporary tables in memory. By its
/// defaults MariaDB is killed there by a GROUP BY with COUNT(DISTINCT).
const SMALL: [(&str, &str); 6] = [
    ("innodb_log_buffer_size", "4M"),
    ("tmp_table_size", "2M"),
    ("max_heap_table_size", "2M"),
    ("key_buffer_size", "1M"),
    ("loose_aria_pagecache_buffer_size", "4M"),
    ("loose_temptable_max_ram", "4M"),
];

pub struct Place {
    pub server: PrivateServer,
    pub target: Target,
}

pub struct Places {
    pub all: Vec<Place>,
    /// What their tables are filled with.
    pub blocks: Vec<Block>,
}

impl Places {
    pub fn up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        let all = (0..PLACES.len()).map(|place| Place::up(at, place, tell)).collect::<Result<_>>()?;
        let blocks = blocks(Seed(at.plan.seed), at.setting.rows(1), BLOCK_ROWS);
        Ok(Self { all, blocks })
    }
}

impl Place {
    fn up(at: &At<'_, Setting>, place: usize, tell: Notify<'_>) -> Result<Self> {
        let domain = at.setting.domain(place);
        let pool = domain.memory.unwrap_or(at.setting.memory) / POOL_PART;
        tell(Event::Step(format!("starting the server of {}: {domain}", PLACES[place])));
        let spec = SandboxSpec {
            name: format!("{}-{}", at.plan.private_name(), PLACES[place]),
            home: at.workplace.home.to_owned(),
            settings: SMALL
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter()
                .chain([("innodb_buffer_pool_size".to_owned(), pool.to_string())])
                .collect(),
            domain,
            server_binary: at.setting.place.server_binary.as_ref().map(PathBuf::from),
            ..SandboxSpec::default()
        };
        let server = PrivateServer::up(&at.workplace, &spec)?;
        let target = server.emptied("tags", at.workplace.stop)?;
        Ok(Self { server, target })
    }

    pub fn control(&self, stop: &Stop) -> Result<Control> {
        Ok(Control::connect_until(&self.target, stop)?)
    }
}

/// Clients run outside the domains: on all CPUs but the first, where there are others.
pub fn client_cpus() -> Option<CpuSet> {
    let all = CpuOf::Host.cpus()?;
    let others: Vec<String> = all.iter().filter(|cpu| *cpu > 0).map(|cpu| cpu.to_string()).collect();
    others.join(",").parse().ok().filter(|others: &CpuSet| !others.is_empty())
}

/// Has this thread, a client's, run there.
pub fn go_outside() {
    // Where it is refused the scheduler decides.
    let _ = client_cpus().map(|cpus| Affinity::of(cpus.iter()).apply());
}

/// Watches all servers, and `more` processes of ours.
pub fn watch(places: &Places, more: &[u32]) -> Result<Watch> {
    let pids = places.all.iter().map(|place| place.server.pid()).collect::<Result<Vec<u32>>>()?;
    Ok(Watch::begin(pids.iter().chain(more).copied()))
}

/// The theta of each place and of the client, in percent of one CPU; what the other processes had together.
pub fn note(watch: &Watch, run: &mut Run) -> Option<f64> {
    let used = watch.end();
    used.note(run);
    let [places @ .., client] = used.each_percent.as_slice() else { return None };
    for (name, theta) in PLACES.iter().zip(places).chain([(&"client", client)]) {
        run.set(&format!("theta_{name}"), *theta);
    }
    places[PLACES.len()..].iter().copied().sum()
}

/// The same of a probe, whose programs have ended by now: all that was used counts, and nothing as that of others.
pub fn note_probe(watch: &Watch, run: &mut Run) {
    let used = watch.end();
    run.set("steal_percent", used.steal_percent);
    run.set("theta_machine", used.other_load_percent);
}
