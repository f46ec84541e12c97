//! The server during the measured phase of a point: the machine by a sampler, the server's status and CPU times at both ends.

use crate::published::{Result, Watch, While};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use evenkeel_sense::sampler::{Sampler, SensePlan, SenseRecord};
use evenkeel_sense::status::{StatusReading, StatusUse};
use evenkeel_site::server::{Control, StatusOf, Target};
use std::thread::JoinHandle;
use std::time::Duration;

/// Looks at the stop switch this often while it waits.
const PATIENCE: Duration = Duration::from_millis(20);

pub struct Observer {
    sampler: Sampler,
    ends: JoinHandle<(Option<StatusUse>, Option<f64>)>,
    stop: Stop,
}

pub struct Seen {
    /// What the machine's sensors saw.
    pub sense: SenseRecord,
    /// The server; `None` where it did not answer.
    pub status: Option<StatusUse>,
    /// CPU of the others on the machine, percent of the whole machine: of whoever is neither server nor guard nor clients.
    pub other_load_percent: Option<f64>,
}

impl Observer {
    /// Begins now; `delay` later the measured phase begins, and lasts `measure`. A guard in front of the server is named by its
    /// process.
    pub fn start(
        mut plan: SensePlan,
        target: &Target,
        guard: Option<u32>,
        (delay, measure): (Nanos, Nanos),
    ) -> Result<Self> {
        (plan.delay, plan.duration) = (delay, measure);
        let mut control = Control::connect(target)?;
        let stop = Stop::default();
        let (stopped, server, clock) = (stop.clone(), plan.server_pid, Clock::start());
        let watch = move || {
            wait(&clock, delay, &stopped);
            let watch = Watch::begin(server.into_iter().chain(guard));
            let (before, began) = (read(&mut control), clock.now());
            wait(&clock, delay + measure, &stopped);
            let other_load_percent = watch.end().other_load_percent;
            let (after, over) = (read(&mut control), clock.now() - began);
            let status = before.zip(after).map(|(before, after)| StatusUse::between(&before, &after, over));
            (status, other_load_percent)
        };
        let ends = std::thread::Builder::new().name("status".into()).spawn(watch);
        let ends = ends.doing(|| "starting a thread")?;
        Ok(Self { sampler: Sampler::start(plan).doing(|| "starting a sampler")?, ends, stop })
    }

    /// Ends both, early if need be.
    pub fn finish(self) -> Seen {
        self.stop.set();
        // A panic in it has been told already; then nothing was read.
        let (status, other_load_percent) = self.ends.join().unwrap_or_default();
        Seen { sense: self.sampler.finish(), status, other_load_percent }
    }
}

fn wait(clock: &Clock, until: Nanos, stop: &Stop) {
    while clock.now() < until && !stop.is_set() {
        std::thread::sleep(PATIENCE.min((until - clock.now()).into()));
    }
}

fn read(control: &mut Control) -> Option<StatusReading> {
    Some(StatusReading::from(&control.status_of(StatusOf::Server, &[]).ok()?))
}
