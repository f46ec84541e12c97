//! The loop of the controller: one owner of its state, which takes orders and ticks.

use super::process::ServerAddress;
use super::sensors::{Available, Sensors};
use crate::event::{Event, Listener};
use crate::snapshot::{Snapshot, Totals};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Census, Interval, Keeper, Options, TenantCensus};
use evenkeel_core::control::{Baseline, Controller, Fault, Sample, SupervisedController, Verdict};
use evenkeel_core::gate::{Lane, Long, LongSample};
use evenkeel_os::Latest;
use evenkeel_os::clock::Clock;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Access to a gate that threads share. Whoever implements it passes on the notices that a call brings about.
pub trait Reach: Send + Sync {
    fn reach(&self, act: &mut dyn FnMut(&mut Keeper));
}

/// Tenants are counted no more often than this.
const TENANTS_EVERY: Nanos = Nanos::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Time from one tick to the next, 50 to 100 ms.
    pub tick: Nanos,
    pub initial_limit: u32,
    pub max_limit: u32,
    pub options: Options,
}

pub enum Order {
    /// Takes new settings, and a new controller where one is given; transactions that run go on.
    Set(Settings, Option<Box<dyn Controller>>),
    /// Senses another server, `None` one on another host.
    Sense(Option<ServerAddress>),
    Stop,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What the controller got to see; sensors that lie are left out.
    pub sample: Sample,
    pub verdict: Verdict,
}

pub type Recorder = Box<dyn FnMut(&Entry) + Send>;

pub struct Loop {
    gate: Arc<dyn Reach>,
    clock: Clock,
    settings: Settings,
    controller: SupervisedController,
    sensors: Sensors,
    baseline: Baseline,
    totals: Totals,
    limit: u32,
    long: Long,
    fault: Option<Fault>,
    available: Option<Available>,
    liveness: u64,
    /// When tenants were counted last, and what there was.
    counted: Option<Nanos>,
    tenants: Arc<[TenantCensus]>,
    listener: Arc<dyn Listener>,
    record: Recorder,
    latest: Latest<Snapshot>,
}

impl Loop {
    /// A loop on a gate. `record` gets every entry of the journal, and `latest` every snapshot.
    pub fn new(
        (gate, clock): (Arc<dyn Reach>, Clock),
        (controller, sensors): (Box<dyn Controller>, Sensors),
        settings: Settings,
        (listener, latest): (Arc<dyn Listener>, Latest<Snapshot>),
        record: Recorder,
    ) -> Self {
        let controller = SupervisedController::new(controller, settings.initial_limit, settings.max_limit);
        let limit = settings.initial_limit.clamp(1, settings.max_limit.max(1));
        let mut this = Self {
            gate,
            clock,
            settings,
            controller,
            sensors,
            baseline: Baseline::default(),
            totals: Totals::default(),
            limit,
            long: Long::new(cpus(), settings.max_limit),
            fault: None,
            available: None,
            liveness: 0,
            counted: None,
            tenants: Arc::default(),
            listener,
            record,
            latest,
        };
        this.apply(limit);
        this
    }

    /// Ticks until it is ordered to stop, or until nobody can give orders any more.
    pub fn run(mut self, orders: &Receiver<Order>) {
        let mut next = self.clock.now() + self.settings.tick;
        loop {
            match orders.recv_timeout(Duration::from(next - self.clock.now())) {
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Order::Set(settings, controller)) => self.set(settings, controller),
                Ok(Order::Sense(address)) => self.sensors.follow(address),
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.clock.now();
                    self.tick(now);
                    // A tick that came late moves those after it: two at once would be one without length.
                    next = now.max(next) + self.settings.tick;
                }
            }
        }
    }

    fn set(&mut self, settings: Settings, controller: Option<Box<dyn Controller>>) {
        self.settings = settings;
        self.controller.set_max_limit(settings.max_limit);
        self.long = Long::new(self.long.limit(), settings.max_limit);
        if let Some(controller) = controller {
            self.controller.replace(controller, settings.max_limit);
        }
        let (from, to) = (self.limit, self.limit.min(settings.max_limit.max(1)));
        if from != to {
            // No tick sees this change, and every change has an event and is counted.
            self.totals.changes += 1;
            self.listener.notify(&Event::MaxLimit { from, to });
        }
        self.apply(to);
    }

    fn apply(&mut self, limit: u32) {
        let now = self.clock.now();
        let options = self.settings.options;
        self.limit = limit;
        let long = self.long.limit() as usize;
        self.gate.reach(&mut |gate| {
            gate.set_limit(now, Lane::Short, limit as usize);
            gate.set_limit(now, Lane::Long, long);
            gate.set_options(now, options);
        });
    }

    /// Does one tick, at `now`.
    pub fn tick(&mut self, now: Nanos) {
        let (interval, census) = self.look(now);
        let reading = Clock::start();
        let signals = self.sensors.read(now, &interval);
        self.totals.sensing_s += reading.now().as_secs_f64();
        let mut sample = Sample { signals, ..interval.sample(self.limit) };
        let verdict = self.controller.tick(&mut sample);
        self.totals.add(&interval);
        self.totals.kept += u64::from(verdict.is_kept());
        self.baseline.learn(&sample);
        self.notify(&verdict, &census);
        self.enforce(now, verdict, (&sample, interval.trifles), &census);
        let entry = Entry { sample, verdict };
        (self.record)(&entry);
        self.show(now, census, entry);
    }

    fn look(&mut self, now: Nanos) -> (Interval, Census) {
        let whole = self.counted.is_none_or(|last| now - last >= TENANTS_EVERY);
        let mut seen = None;
        self.gate.reach(&mut |gate| {
            gate.tick(now);
            let census = if whole { gate.census(now) } else { gate.brief_census() };
            seen = Some((gate.take_interval(now), census));
        });
        let (interval, mut census) = seen.unwrap_or_default();
        if whole {
            self.counted = Some(now);
            self.tenants = Arc::clone(&census.tenants);
        }
        census.tenants = Arc::clone(&self.tenants);
        (interval, census)
    }

    fn enforce(&mut self, now: Nanos, verdict: Verdict, (sample, trifles): (&Sample, u64), census: &Census) {
        let [_, lane] = census.lanes;
        let full = (lane.waiting > 0 || lane.running >= lane.limit) && !self.settings.options.dry_run;
        let seconds = (sample.end - sample.start).as_secs_f64();
        let short_work = sample.work + trifles as f64;
        let long = self.long.update(&LongSample { seconds, short_work, full });
        self.gate.reach(&mut |gate| {
            gate.set_cpu(sample.signals.user_cpu_share);
            gate.set_limit(now, Lane::Short, verdict.limit as usize);
            gate.set_limit(now, Lane::Long, long as usize);
        });
        if verdict.limit != self.limit {
            let dry_run = self.settings.options.dry_run;
            self.listener.notify(&Event::Limit { from: self.limit, verdict, dry_run });
            self.limit = verdict.limit;
            self.totals.changes += 1;
        }
    }

    fn notify(&mut self, verdict: &Verdict, census: &Census) {
        if verdict.fault != self.fault {
            self.fault = verdict.fault;
            self.listener.notify(&match verdict.fault {
                Some(fault) => Event::Fault { fault, limit: verdict.limit },
                None => Event::Recovered,
            });
        }
        let available = self.sensors.available();
        if self.available != Some(available) {
            self.available = Some(available);
            self.listener.notify(&Event::Sensors(available));
        }
        if census.liveness_total > self.liveness {
            let admitted = census.liveness_total - self.liveness;
            self.liveness = census.liveness_total;
            let after = self.settings.options.liveness_min;
            self.listener.notify(&Event::Liveness { admitted, after });
        }
    }

    fn show(&self, at: Nanos, census: Census, entry: Entry) {
        self.latest.put(Snapshot {
            at,
            census,
            sample: entry.sample,
            verdict: entry.verdict,
            proven: self.controller.proven(),
            controller: self.controller.name(),
            dry_run: self.settings.options.dry_run,
            available: self.sensors.available(),
            baseline: self.baseline.clone(),
            totals: self.totals,
            long: (self.long.limit(), self.long.reason()),
        });
    }
}

/// The long lane begins with a place for each of this machine's CPUs.
fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}

#[cfg(test)]
mod tests;
