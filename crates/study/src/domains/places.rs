//! The servers: that of the host, and one in each guest. All are up in every run; who has nothing to do is idle.

use super::setting::{PLACES, Setting};
use crate::harness::{Event, Notify, Run};
use crate::published::{At, PrivateServer, PublishedError, Result, Watch, While};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_sense::cpu::CpuSet;
use evenkeel_sense::{CpuOf, CpuReading, CpuUse};
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::{Control, Target};
use std::fs;
use std::thread::ScopedJoinHandle;

/// The buffer pool has this part of the memory: what a server needs beside it is the same in all.
const POOL_PART: u64 = 4;

pub struct Place {
    pub server: PrivateServer,
    pub target: Target,
}

pub struct Places(pub Vec<Place>);

impl Places {
    pub fn up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        (0..PLACES.len()).map(|place| Place::up(at, place, tell)).collect::<Result<_>>().map(Self)
    }

    /// Has the guests run on these CPUs, as the kernel writes them.
    pub fn set_cpus(&self, cpus: &str) -> Result<()> {
        let groups = self.0[1..].iter().flat_map(|place| place.server.sandbox.cgroups());
        for file in groups.map(|group| group.path.join("cpuset.cpus")).filter(|file| file.exists()) {
            fs::write(&file, cpus).doing(|| format!("writing {cpus} to {}", file.display()))?;
        }
        Ok(())
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
            settings: [("innodb_buffer_pool_size".to_owned(), pool.to_string())].into(),
            domain,
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

pub fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err(PublishedError::wrong("a client ended badly")))
}

/// What is read of all servers and of the clients before and after a run.
pub struct Watched {
    at: Nanos,
    pids: Vec<u32>,
    before: Vec<Option<CpuReading>>,
    shared: Option<CpuReading>,
    watch: Watch,
}

/// The CPU that host and guests share.
fn shared() -> Option<CpuReading> {
    CpuOf::Cpus("0".parse().ok()?).read()
}

impl Watched {
    /// `more` processes are ours too.
    pub fn begin(places: &Places, more: &[u32]) -> Result<Self> {
        let pids = places.0.iter().map(|place| place.server.pid()).collect::<Result<Vec<u32>>>()?;
        let watch = Watch::begin(pids.iter().chain(more).copied());
        let pids: Vec<u32> =
            pids.into_iter().chain([std::process::id()]).chain(more.iter().copied()).collect();
        let before = pids.iter().map(|pid| CpuOf::Process(*pid).read()).collect();
        Ok(Self { at: monotonic(), pids, before, shared: shared(), watch })
    }

    /// The theta of each place and of the client, in percent of one CPU; what the other processes had together.
    pub fn end(&self, run: &mut Run) -> Option<f64> {
        let over = monotonic() - self.at;
        let used = |(pid, before): (&u32, &Option<CpuReading>)| {
            let used = CpuUse::between(before.as_ref()?, &CpuOf::Process(*pid).read()?, over)?;
            Some(100.0 * used.busy.as_secs_f64() / over.as_secs_f64())
        };
        let used: Vec<Option<f64>> = self.pids.iter().zip(&self.before).map(used).collect();
        for (name, theta) in PLACES.iter().chain(&["client"]).zip(&used) {
            run.set(&format!("theta_{name}"), *theta);
        }
        let shared = self.shared.as_ref().zip(shared());
        let shared = shared.and_then(|(before, after)| CpuUse::between(before, &after, over));
        run.set("theta_shared", shared.map(|shared| shared.total));
        self.watch.end().note(run);
        used[PLACES.len() + 1..].iter().copied().sum()
    }

    /// The same of a probe, whose programs have ended by now: what they used would pass for that of others.
    pub fn end_of_probe(&self, run: &mut Run) {
        self.end(run);
        run.figures.remove("other_load_percent");
    }
}
