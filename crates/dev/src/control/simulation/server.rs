//! Clients, permits and the server, tick by tick.

use super::{Load, Phase, Step, Trace};
use crate::plant::Plant;
use evenkeel_core::Nanos;
use evenkeel_core::control::{Controller, Response, Sample};
use evenkeel_core::random::{Random, Seed};

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The servers; phases name them by index. A change of mix is a change of plant.
    pub plants: Vec<Plant>,
    pub load: Load,
    pub tick: Nanos,
    pub duration: Nanos,
    /// The limit in force during the first tick.
    pub initial_limit: u32,
    pub seed: Seed,
}

pub fn simulate(scenario: &Scenario, controller: &mut dyn Controller) -> Trace {
    let mut server = Server::new(scenario.seed);
    let mut limit = scenario.initial_limit.max(1);
    let mut steps = Vec::new();
    let mut start = Nanos::ZERO;
    while start < scenario.duration {
        let end = start + scenario.tick;
        let phase = scenario.load.at(start);
        let Some(plant) = scenario.plants.get(phase.plant) else { break };
        let (sample, step) = server.tick(plant, phase, limit, start, end);
        steps.push(step);
        limit = controller.update(&sample).limit.max(1);
        start = end;
    }
    Trace { steps }
}

pub struct Server {
    random: Random,
    in_flight: u32,
    waiting: u32,
    thinking: u32,
    /// Transactions in flight as the server feels them, which follows `in_flight` with a delay.
    felt: f64,
    /// Deviation of ln X at present.
    wobble: f64,
    /// The best throughput that was computed last, and what it depends on.
    best: Option<(BestOf, f64)>,
}

type BestOf = (usize, u32, u64);

#[derive(Default)]
struct Tally {
    completions: u64,
    in_flight_s: f64,
    busy_s: f64,
    waiting_s: f64,
    in_flight_max: u32,
    /// Completions that the plant makes in the mean.
    expected: f64,
}

impl Server {
    pub fn new(seed: Seed) -> Self {
        Self {
            random: Random::new(seed.child("server")),
            in_flight: 0,
            waiting: 0,
            thinking: 0,
            felt: 0.0,
            wobble: 0.0,
            best: None,
        }
    }

    pub fn tick(
        &mut self,
        plant: &Plant,
        phase: Phase,
        limit: u32,
        start: Nanos,
        end: Nanos,
    ) -> (Sample, Step) {
        self.seat(phase.clients);
        self.admit(limit);
        let (mut now, end_s) = (start.as_secs_f64(), end.as_secs_f64());
        let seconds = end_s - now;
        self.sway(plant, seconds);
        let mut tally = Tally { in_flight_max: self.in_flight, ..Tally::default() };
        while now < end_s - 1e-12 {
            now += self.advance(plant, phase, limit, now, end_s - now, &mut tally);
        }
        let best_per_s = self.best_per_s(plant, phase, start.as_secs_f64());
        let step = Step {
            start,
            end,
            limit,
            in_flight: tally.in_flight_s / seconds,
            completions: tally.completions,
            true_per_s: tally.expected / seconds,
            best_per_s,
        };
        (self.sample(plant, limit, start, end, &tally), step)
    }

    /// Clients come and go. Those that leave are first those that pause, then those that wait; a transaction that runs
    /// runs to its end.
    fn seat(&mut self, clients: u32) {
        let seated = self.in_flight + self.waiting + self.thinking;
        if clients > seated {
            self.waiting += clients - seated;
            return;
        }
        let mut leaving = seated - clients;
        for place in [&mut self.thinking, &mut self.waiting] {
            let gone = leaving.min(*place);
            *place -= gone;
            leaving -= gone;
        }
    }

    /// Lets waiting clients in up to the limit.
    fn admit(&mut self, limit: u32) {
        let admitted = limit.saturating_sub(self.in_flight).min(self.waiting);
        self.in_flight += admitted;
        self.waiting -= admitted;
    }

    /// Draws how far the machine's speed deviates in the next tick.
    fn sway(&mut self, plant: &Plant, seconds: f64) {
        let keep = (-seconds / plant.wobble_memory_s).exp();
        let fresh = (1.0 - keep * keep).sqrt() * plant.wobble * self.random.normal();
        self.wobble = keep * self.wobble + fresh;
    }

    /// Goes on by one event, or by as much time as nothing changes; returns how long that was.
    fn advance(
        &mut self,
        plant: &Plant,
        phase: Phase,
        limit: u32,
        now: f64,
        left: f64,
        tally: &mut Tally,
    ) -> f64 {
        let active = self.in_flight.saturating_sub(phase.slow);
        let settling =
            plant.settle_s > 0.0 && (self.felt - f64::from(active)).abs() > 0.01 * f64::from(active);
        let felt = if settling { self.felt } else { f64::from(active) };
        let moves = active > 0 && !phase.paused;
        let clean = if moves { plant.throughput(felt.max(1.0), now) } else { 0.0 };
        let rate = clean * self.wobble.exp();
        // While the server settles, its throughput changes within the tick.
        let most = if settling { left.min(plant.settle_s / 4.0) } else { left };
        let full = phase.think_s <= 0.0
            && self.in_flight <= limit
            && (self.waiting > 0 || self.in_flight == phase.clients);
        let step = if full {
            tally.completions += poisson(&mut self.random, rate * most);
            most
        } else {
            let back = if phase.think_s > 0.0 { f64::from(self.thinking) / phase.think_s } else { 0.0 };
            let next =
                if rate + back > 0.0 { self.random.exponential(1.0 / (rate + back)) } else { f64::MAX };
            let step = next.min(most);
            tally.expected += clean * step;
            self.account(step, active, tally);
            if next < most {
                let completion = self.is_completion(rate, back);
                self.event(phase, limit, completion, tally);
            }
            self.feel(plant, active, step);
            return step;
        };
        tally.expected += clean * step;
        self.account(step, active, tally);
        self.feel(plant, active, step);
        step
    }

    fn is_completion(&mut self, rate: f64, back: f64) -> bool {
        self.random.unit() * (rate + back) < rate
    }

    fn account(&self, seconds: f64, active: u32, tally: &mut Tally) {
        tally.in_flight_s += f64::from(self.in_flight) * seconds;
        tally.busy_s += f64::from(active) * seconds;
        tally.waiting_s += f64::from(self.waiting) * seconds;
        tally.in_flight_max = tally.in_flight_max.max(self.in_flight);
    }

    fn event(&mut self, phase: Phase, limit: u32, completion: bool, tally: &mut Tally) {
        if completion {
            self.in_flight -= 1;
            tally.completions += 1;
            let seated = self.in_flight + self.waiting + self.thinking;
            // A client too many leaves.
            if seated < phase.clients {
                if phase.think_s > 0.0 { self.thinking += 1 } else { self.waiting += 1 }
            }
        } else {
            self.thinking -= 1;
            self.waiting += 1;
        }
        self.admit(limit);
    }

    fn feel(&mut self, plant: &Plant, active: u32, seconds: f64) {
        let target = f64::from(active);
        let keep = if plant.settle_s > 0.0 { (-seconds / plant.settle_s).exp() } else { 0.0 };
        self.felt = target + (self.felt - target) * keep;
    }

    /// With few or pausing clients, the best is bounded by what they ask for.
    fn best_per_s(&mut self, plant: &Plant, phase: Phase, now: f64) -> f64 {
        if phase.paused {
            return 0.0;
        }
        let clients = phase.clients.saturating_sub(phase.slow);
        let key = (phase.plant, clients, plant.stretch(now).to_bits());
        let best = match self.best {
            Some((of, best)) if of == key => best,
            _ => {
                let best = if clients == 0 { 0.0 } else { plant.best(clients, now).1 };
                self.best = Some((key, best));
                best
            }
        };
        if phase.think_s > 0.0 { best.min(f64::from(clients) / phase.think_s) } else { best }
    }

    fn sample(&mut self, plant: &Plant, limit: u32, start: Nanos, end: Nanos, tally: &Tally) -> Sample {
        let (seconds, count) = ((end - start).as_secs_f64(), tally.completions as f64);
        let felt = self.felt.max(1.0);
        // Little's law over the tick.
        let mean = (tally.completions > 0).then(|| tally.busy_s / count);
        let aborts = plant.deadlocks(felt, end.as_secs_f64()) * count;
        Sample {
            start,
            end,
            limit,
            in_flight_mean: tally.in_flight_s / seconds,
            in_flight_max: tally.in_flight_max,
            queued: tally.waiting_s / seconds,
            completions: tally.completions,
            work: count * plant.cost,
            rejected: 0,
            overload: 0,
            rolled_back: poisson(&mut self.random, aborts),
            // The spread of service is not modelled; these are what a spread with cv near 1 would give.
            response: mean.map(|mean| Response { mean, min: 0.5 * mean, max: mean * (1.0 + count.ln_1p()) }),
            signals: plant.signals(felt, end.as_secs_f64()),
        }
    }
}

/// A Poisson draw: exact by multiplication up to a mean of 30, and the rounded normal beyond, which is close enough for any
/// controller.
fn poisson(random: &mut Random, mean: f64) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    if mean > 30.0 {
        return (mean + mean.sqrt() * random.normal() + 0.5).max(0.0) as u64;
    }
    let (bound, mut product, mut count) = ((-mean).exp(), random.unit(), 0);
    while product > bound {
        product *= random.unit();
        count += 1;
    }
    count
}
