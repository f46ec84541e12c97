//! A host: its disks, queue, window and what it measures.

use super::{HostPlan, Scenario};
use crate::random::Random;
use crate::share::{DiskUse, Io, Law, Pacer, Period, Queue, Report, WindowController};

/// An I/O outstanding.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub disk: usize,
    pub cost: f64,
    pub at_s: f64,
}

/// What is wanted and outstanding of one disk, and its time integral.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    ios: u32,
    cost: f64,
    area: f64,
}

pub struct Host<'a> {
    pub plan: &'a HostPlan,
    pub pacer: Pacer,
    controller: Box<dyn WindowController>,
    queue: Queue<Io>,
    wanted: Vec<Wanted>,
    random: Random,
    /// Latest report, and when it was told.
    pub told: Option<(f64, Report)>,
    begun_s: f64,
    at_s: f64,
    outstanding_area: f64,
    latency_sum: f64,
    pub completions: u64,
    pub cost_done: f64,
}

/// What a host did in a period.
pub struct Measured {
    pub period: Period,
    pub seconds: f64,
    pub cost: f64,
}

impl<'a> Host<'a> {
    pub fn new(scenario: &'a Scenario, place: usize) -> Self {
        let plan = &scenario.hosts[place];
        let shares: Vec<f64> = plan.disks.iter().map(|disk| disk.shares).collect();
        let initial = match plan.law {
            Law::Fixed(window) => window,
            Law::Parda(parameters) => parameters.initial,
            Law::Evenkeel(settings) => settings.initial,
        };
        Self {
            plan,
            pacer: Pacer::new(initial, 0.0),
            controller: plan.law.build(),
            queue: Queue::new(&shares),
            wanted: vec![Wanted::default(); shares.len()],
            random: Random::new(scenario.seed.child("host").numbered(place as u64)),
            told: None,
            begun_s: 0.0,
            at_s: 0.0,
            outstanding_area: 0.0,
            latency_sum: 0.0,
            completions: 0,
            cost_done: 0.0,
        }
    }

    /// Time passes: integrals grow.
    pub fn pass(&mut self, now_s: f64) {
        let seconds = now_s - self.at_s;
        self.outstanding_area += seconds * self.pacer.outstanding();
        for wanted in &mut self.wanted {
            wanted.area += seconds * wanted.cost;
        }
        self.at_s = now_s;
    }

    /// Clients that are there want as many as their depth.
    pub fn want(&mut self, array: &super::ArrayPlan, now_s: f64) {
        for (place, disk) in self.plan.disks.iter().enumerate() {
            let most = if disk.is_active(now_s) { disk.depth } else { 0 };
            while self.wanted[place].ios < most {
                let io = disk.io(self.random.unit());
                let cost = array.cost.of(io);
                self.wanted[place].ios += 1;
                self.wanted[place].cost += cost;
                self.queue.push(place, cost, io);
            }
        }
    }

    /// The next I/O that may be sent now; else seconds until one may, if time alone brings it.
    pub fn next(&mut self, now_s: f64) -> Result<(Sent, Io), Option<f64>> {
        let Some((disk, cost)) = self.queue.next() else { return Err(None) };
        match self.pacer.send(cost, now_s) {
            Ok(()) => {
                let (_, _, io) = self.queue.pop().ok_or(None)?;
                Ok((Sent { disk, cost, at_s: now_s }, io))
            }
            Err(wait) => Err(wait.is_finite().then_some(wait)),
        }
    }

    pub fn complete(&mut self, sent: Sent, now_s: f64) {
        self.pacer.complete(sent.cost, now_s);
        self.wanted[sent.disk].ios -= 1;
        self.wanted[sent.disk].cost -= sent.cost;
        self.latency_sum += now_s - sent.at_s;
        self.completions += 1;
        self.cost_done += sent.cost;
    }

    /// Ends a period: what was measured in it, and what the host tells.
    pub fn measure(&mut self, now_s: f64) -> Measured {
        let seconds = (now_s - self.begun_s).max(1e-9);
        let disks = self.plan.disks.iter().zip(&mut self.wanted);
        let disks = disks.map(|(plan, wanted)| DiskUse {
            shares: plan.shares,
            wanted: std::mem::take(&mut wanted.area) / seconds,
        });
        let period = Period {
            disks: disks.collect(),
            outstanding: std::mem::take(&mut self.outstanding_area) / seconds,
            latency: (self.completions > 0).then(|| self.latency_sum / self.completions as f64),
            completions: std::mem::take(&mut self.completions),
        };
        self.latency_sum = 0.0;
        self.begun_s = now_s;
        let report = self.controller.report(&period);
        self.told = self.plan.tells.then_some((now_s, report));
        Measured { period, seconds, cost: std::mem::take(&mut self.cost_done) }
    }

    /// Sets the window from what all have told.
    pub fn update(&mut self, all: &[Report], own: usize, now_s: f64) {
        let window = self.controller.update(all, own);
        self.pacer.set(window, now_s);
    }
}
