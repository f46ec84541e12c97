//! Our controller and the default: it climbs to the highest throughput by sequential tests of pairs of limits.
//!
//! It raises the potential `Phi(L) = ln X(L) - eps ln L`, with throughput `X` at limit `L` (work per second) and `eps` = 0.02,
//! the price of a transaction in flight: it settles at the knee of the curve, not at the last percent of its peak.
//!
//! - One limit is in use, and another one is tried beside it, in turns where the drain between them is short. It comes into
//!   use if `Phi` is higher there, and never otherwise. As the range of limits is finite, no curve `X` can make it go in
//!   circles (decision 4 of docs/decisions.md has the argument).
//! - Which limit is tried: see `Offset`. A step that was good is followed by a longer one the same way. Upwards a step at most
//!   doubles the limit, and none leads beyond a limit that was far worse. From a high initial limit it goes down by sixteenths.
//! - How sure it has to be: a test is looked at every tick (`evidence`) and ends as soon as the sign of the difference is clear,
//!   or after `HORIZON` completions. To leave a limit takes the more evidence the more probes have failed.
//! - How often: a refused limit is tried again after a time that doubles (`refused`), or when throughput, cost of work or lock
//!   waits change by a tenth (`watch`, `strain`, `recheck`).
//! - Nothing is learnt while the limit is not filled, while a lowered limit drains, while nothing completes, before the server
//!   feels a new limit, and from samples that make no sense (`no_evidence`).
//! - Memory: no probe is made that would use up what is left (`headroom`).
//! - Brake: when throughput falls to 0.7 and sensors show strain, or when memory is short, the limit is halved at once.

mod dispersion;
mod evidence;
mod grid;
mod headroom;
mod no_evidence;
mod probing;
mod refused;
mod strain;

use super::{Bounds, Controller, Decision, Evidence, Hint, Reason, Sample};
use dispersion::Dispersion;
use evidence::{Tally, Test};
use grid::Offset;
use headroom::MemoryHeadroom;
pub use headroom::{Memory, Settings};
use refused::{Probe, Recheck, RefusedLimits};
use strain::{
    ALPHA_BETTER, ALPHA_WORSE, COLLAPSE, FAR_WORSE, FRESH, HIGH, HORIZON, LAG_S, MEMORY, PATIENCE, SUSPECT_S,
    Silence, Strain, Watch,
};

#[derive(Clone, Debug)]
pub struct Evenkeel {
    settings: Settings,
    /// The lowest and the highest limit, of those that the memory budget allows.
    range: (u32, u32),
    /// The controller's clock: seconds in which the limit was full, so that what was learnt grows no older in a quiet night.
    now: f64,
    in_use: u32,
    /// What was seen at that limit before `watch` began.
    base: Tally,
    /// The limit in force: the one in use, or the one that is tried.
    limit: u32,
    probe: Option<Probe>,
    refused: RefusedLimits,
    /// Whether no probe has ended with a verdict yet.
    cold: bool,
    /// Whether it began with a high limit and has found none yet that is too low.
    descends: bool,
    /// Whether no probe from the limit in use is due: all have failed lately.
    settled: bool,
    /// How many probes have failed, less those that were good since the server last changed.
    caution: u32,
    /// The limit that was in use before this one, and when that was left.
    left: Option<(u32, f64)>,
    /// A limit to try first, because throughput fell soon after it was left.
    back_to: Option<u32>,
    /// The step to try next, because a shorter one the same way was good.
    momentum: Option<Offset>,
    dispersion: Dispersion,
    silence: Silence,
    usual: Option<(u32, f64)>,
    last_refused: Option<(u32, f64)>,
    watch: Watch,
    strain: Strain,
    headroom: MemoryHeadroom,
    recheck: Recheck,
    braked: bool,
    /// Seconds that are still left out after a change of the limit.
    skip_s: f64,
    drain: Drain,
    /// Seconds since the last refusal, while throughput is not yet back to what it was before the probe.
    recovering: Option<f64>,
    /// Seconds that the server takes to feel a change of the limit, as far as that was measured.
    lag_s: f64,
    /// Whether the last probe changed throughput so much that the way back shows the lag.
    learns_lag: bool,
    /// No probe begins before this instant of the controller's clock.
    rest_until: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Drain {
    /// Fewest in flight since it was lowered; 0 where nothing drains.
    in_flight: u32,
    /// Seconds since that number last fell.
    stuck_s: f64,
}

impl Evenkeel {
    /// Begins with the initial limit of its bounds, or with the nearest one that is allowed.
    pub fn new(bounds: Bounds, settings: Settings) -> Self {
        let (low, high) = (bounds.range.0.max(1), bounds.range.1.max(bounds.range.0).max(1));
        let fitting = settings.memory.and_then(|memory| memory.transactions()).unwrap_or(high);
        let range = (low, high.min(fitting).max(low));
        let limit = bounds.initial.clamp(range.0, range.1);
        Self {
            settings,
            range,
            now: 0.0,
            in_use: limit,
            base: Tally::default(),
            limit,
            probe: None,
            refused: RefusedLimits::default(),
            cold: true,
            descends: limit >= HIGH,
            settled: false,
            caution: 0,
            left: None,
            back_to: None,
            momentum: None,
            dispersion: Dispersion::default(),
            silence: Silence::default(),
            usual: None,
            last_refused: None,
            watch: Watch::default(),
            strain: Strain::default(),
            headroom: MemoryHeadroom::default(),
            recheck: Recheck::default(),
            braked: false,
            skip_s: 2.0 * LAG_S,
            drain: Drain::default(),
            recovering: None,
            lag_s: LAG_S,
            learns_lag: false,
            rest_until: 0.0,
        }
    }

    fn decide(&mut self, sample: &Sample) -> Reason {
        if !makes_sense(sample) {
            return Reason::BadSample;
        }
        if sample.limit != self.limit {
            return Reason::NotInForce { limit: sample.limit };
        }
        if self.headroom.tick(sample, self.in_use) {
            return self.give_up();
        }
        if let Some(seconds) = self.silence.tick(sample, self.due_per_s()) {
            return self.on_silence(seconds);
        }
        if self.drains(sample) {
            return Reason::Draining { in_flight: sample.in_flight_max };
        }
        if !self.is_full(sample) {
            return self.on_not_full(sample);
        }
        let tick = Tally { count: sample.completions as f64, work: sample.work, seconds: sample.seconds() };
        if self.skip_s > 0.0 {
            self.skip_s -= tick.seconds;
            return self.on_unsettled(&tick);
        }
        match self.probe.take() {
            Some(probe) => self.on_probe(probe, &tick),
            None => self.on_watch(sample, &tick),
        }
    }

    fn is_full(&self, sample: &Sample) -> bool {
        sample.in_flight_mean >= 0.9 * f64::from(self.limit)
    }

    fn describe(&self) -> Reason {
        match &self.probe {
            Some(probe) if probe.trying => Reason::Trying { in_use: self.in_use, because: probe.hint },
            _ => Reason::Measuring { completions: self.lately().count as u64 },
        }
    }

    fn set(&mut self, limit: u32) {
        if limit != self.limit {
            self.limit = limit;
            self.dispersion.part();
            let response = self.base.rate().map_or(0.0, |rate| f64::from(limit) / rate.max(1e-9));
            self.skip_s = response.min(1.0).max(self.lag_s);
            self.recovering = None;
        }
    }

    /// Longest time in seconds between two tests of a near limit.
    fn patience_s(&self) -> f64 {
        let rate = self.lately().rate().unwrap_or(0.0);
        (PATIENCE.1 / rate.max(1.0)).max(PATIENCE.0)
    }

    fn horizon(&self) -> f64 {
        let many = HORIZON.0 * f64::from(1_u32 << (self.caution.min(8) / 2));
        many.min(HORIZON.1) * self.scale()
    }

    /// How many completions are as much evidence as one of a Poisson stream, in stretches as long as a half of a test.
    fn scale(&self) -> f64 {
        self.dispersion.scale(self.dispersion.best_s(self.lag_s))
    }

    fn alpha(&self) -> f64 {
        (ALPHA_BETTER.0 * 0.7_f64.powi(self.caution as i32)).max(ALPHA_BETTER.1)
    }

    /// A tick before the server has felt the new limit: only a limit that is far worse gets its verdict already.
    fn on_unsettled(&mut self, tick: &Tally) -> Reason {
        if let Some(probe) = self.probe.take_if(|probe| probe.trying) {
            let phi = self.dispersion.between(probe.in_use.seconds, tick.seconds);
            let test = Test::of(&probe.in_use, tick, 0.0, phi);
            if let Some(test) = test.filter(|test| test.clearly_worse(ALPHA_WORSE) && test.gain < -FAR_WORSE)
            {
                let evidence = Evidence { limit: probe.to, gain: test.gain, se: test.se, sure: test.sure() };
                return self.refuse(&probe, evidence);
            }
            self.probe = Some(probe);
        }
        self.describe()
    }

    fn on_watch(&mut self, sample: &Sample, tick: &Tally) -> Reason {
        if let Some(reason) = self.recovers(tick) {
            return reason;
        }
        self.dispersion.tick(tick);
        let enough = match self.caution {
            0 if self.descends => 48.0,
            0 => 16.0,
            failed => 100.0 * f64::from(failed.min(4)),
        };
        let (enough, fresh) = (enough * self.scale(), FRESH * self.scale());
        self.strain.tick(sample, tick, self.settled);
        if self.strain.pressed() && !self.braked {
            return self.brake(Hint::Memory);
        }
        if self.recheck.takes_pending(self.now) {
            self.recheck_now(0.0);
            return Reason::LookDue;
        }
        if self.recheck.is_due(self.now) && self.strain.moved() {
            self.recheck_now(0.0);
            return Reason::StrainChanged;
        }
        if let Some(gain) = self.watch.tick(tick, &self.base, &self.dispersion) {
            self.base = Tally::default();
            let collapsed = self.strain.strained().filter(|_| gain < -COLLAPSE && !self.braked);
            return match collapsed {
                Some(strained) => self.brake(strained),
                None if gain.abs() > COLLAPSE || self.recheck.is_due(self.now) => self.recheck_now(gain),
                None => self.recheck_later(gain),
            };
        }
        if self.watch.fresh().count >= self.base.count.clamp(100.0, fresh) {
            self.base.add(&self.watch.fresh());
            self.base.cap(MEMORY * self.scale());
            self.watch.restart();
        }
        let lately = self.lately();
        if lately.count >= 16.0 {
            self.usual = Some((self.in_use, lately.count / lately.seconds));
        }
        if lately.count < enough && lately.seconds < if self.descends { 4.0 } else { 1.0 } {
            return self.describe();
        }
        self.next_probe(sample)
    }

    /// The first ticks after a refused probe still feel it, so that they are no evidence about the limit in use. `None` once
    /// throughput is back, or where nothing was refused lately.
    fn recovers(&mut self, tick: &Tally) -> Option<Reason> {
        let seconds = self.recovering? + tick.seconds;
        if tick.count == 0.0 && self.usual.is_some() {
            return Some(self.describe());
        }
        let phi = self.dispersion.between(self.base.seconds, tick.seconds);
        let test = Test::of(&self.base, tick, 0.0, phi)?;
        let back = test.z.abs() < 2.5 || test.gain.abs() < 0.05;
        if back && self.learns_lag {
            self.lag_s = (0.8 * self.lag_s).max(2.0 * (seconds - tick.seconds)).min(1.0);
        }
        if !back && seconds >= 1.0 {
            // It does not come back: the server has changed, and what was remembered of it no longer counts.
            self.base = *tick;
            return Some(self.recheck_now(test.gain));
        }
        self.recovering = (!back).then_some(seconds);
        self.recovering.map(|_| self.describe())
    }

    /// The server has changed by `gain`: refused limits may be tried again, all of them where it collapsed.
    fn recheck_now(&mut self, gain: f64) -> Reason {
        let lately = self.left.take().filter(|(_, at)| gain < 0.0 && self.now - at < SUSPECT_S);
        self.back_to = lately.map(|(left, _)| left);
        self.watch.restart();
        self.recheck.begin(self.now);
        if gain < -COLLAPSE {
            self.refused.clear();
        } else {
            self.refused.recheck(self.in_use);
        }
        self.caution = 0;
        self.settled = false;
        self.momentum = None;
        self.recovering = None;
        self.rest_until = 0.0;
        Reason::Changed { gain }
    }

    /// The server has changed as it did shortly before, when a recheck found nothing better: the next one has to wait.
    fn recheck_later(&mut self, gain: f64) -> Reason {
        self.watch.restart();
        self.recheck.wait();
        Reason::ChangedAgain { gain }
    }

    /// Halves the limit at once, because throughput collapsed or memory is short, and opens all refused limits again. It is not
    /// done again before a probe has ended with a verdict, so that the limit does not fall faster than probes can judge.
    fn brake(&mut self, because: Hint) -> Reason {
        let from = self.in_use;
        self.recheck_now(-2.0 * COLLAPSE);
        self.braked = true;
        self.base = Tally::default();
        self.in_use = (from / 2).max(self.range.0);
        self.set(self.in_use);
        Reason::Brake { from, because }
    }

    fn lately(&self) -> Tally {
        let mut lately = self.watch.fresh();
        let most = FRESH * self.scale();
        if lately.count < most / 2.0 {
            lately.add(&self.base);
        }
        lately.cap(most);
        lately
    }
}

impl Controller for Evenkeel {
    fn name(&self) -> &'static str {
        "evenkeel"
    }

    fn update(&mut self, sample: &Sample) -> Decision {
        if makes_sense(sample) && (self.is_full(sample) || self.probe.is_some_and(|probe| probe.trying)) {
            self.now += sample.seconds();
        }
        let why = self.decide(sample);
        Decision { limit: self.limit, why }
    }
}

fn makes_sense(sample: &Sample) -> bool {
    let finite = [sample.in_flight_mean, sample.queued, sample.work]
        .iter()
        .all(|value| value.is_finite() && *value >= 0.0);
    finite && sample.end > sample.start
}
