//! Ours and the default: ascent of a potential by sequential tests, with sensors that only order the tests.
//!
//! `Phi(L) = ln X(L) - eps ln L`, with throughput `X` at limit `L` (work per second) and `eps` = 0.02, the price of a
//! transaction in flight: the knee rather than the last percent of the peak.
//!
//! - One limit is *kept*; another is *tried* beside it, in halves that alternate where a drain is short. The move is made
//!   when `Phi` is higher there, and only then: on the finite range of limits no curve `X` can make it go in circles
//!   (docs/decisions/0004 has the argument and its assumptions).
//! - Where: a tenth and a third up or down, twice, half, a quarter, a sixteenth, a single one (`Offset`). A good step is
//!   followed by a longer one the same way; upwards it never more than doubles what has proved good, and never
//!   looks beyond a limit that was far worse. From a high start it first falls by sixteenths, since the drain is paid once.
//! - How sure: a test that may be looked at every tick (`evidence`). It ends as soon as the sign is clear, after a few
//!   completions in a collapse; where it stays unclear, after `HORIZON` completions. To stay needs little evidence, to
//!   move needs more the more probes have failed.
//! - How often: a refused limit is looked at again after a time that doubles (`known`); a change of throughput or of the
//!   cost of work by a tenth, or of lock waits by 0.1, opens everything again (`watch`, `strain`).
//! - When not: while the limit is not filled, while a lowered limit drains, while nothing completes, before the server
//!   feels a new limit (a lag that is learnt), after samples that make no sense.
//! - Memory: what a transaction takes shows in the probes upwards, and none goes where it would end (`room`).
//! - Brake: a fall to 0.7 with strained sensors, or want of memory, halves the limit at once.
//!
//! After control-laws 9f (potential ascent with hysteresis on a geometric grid), whose 1,500 completions for each half
//! and single steps it replaces. Sources of the test: `evidence`; of reflection: Elnikety and others.

mod dispersion;
mod evidence;
mod grid;
mod hold;
mod known;
mod probe;
mod reopen;
mod room;
mod settings;
mod strain;
mod watch;

pub use settings::{Memory, Settings};

use super::{Bounds, Controller, Decision, Evidence, Hint, Reason, Sample};
use dispersion::Dispersion;
use evidence::{Tally, Test};
use grid::Offset;
use known::Known;
use probe::Probe;
use reopen::Reopen;
use room::Room;
use strain::{Strain, Strained};
use watch::{Change, Silence, Watch};

/// Price of a transaction in flight: a limit e times as high must bring this much more of ln X.
const EPSILON: f64 = 0.02;
/// Completions of a test at most, while nothing is known; doubles with every second failed probe.
const HORIZON: (f64, f64) = (200.0, 2_400.0);
/// From here on a drain is long: a much lower limit that gives no less is good, as long as none below is known.
const HIGH: u32 = 32;
/// Probability of taking an equal for better: while nothing is known, when a mistake is soon undone, and at least.
const ALPHA_BETTER: (f64, f64) = (0.2, 0.01);
/// And for worse.
const ALPHA_WORSE: f64 = 0.02;
/// Throughput (ln) by which a limit is far worse.
const FAR_WORSE: f64 = 0.25;
/// Seconds around a pause of the server that say nothing either.
const PAUSE_S: f64 = 0.1;
/// For so many seconds a move is suspected when throughput falls.
const SUSPECT_S: f64 = 3.0;
/// Throughput (ln) by which it has fallen in a collapse: to 0.7.
const COLLAPSE: f64 = 0.357;
/// What a change of the limit is expected to take until the server feels it, in seconds, before it was seen.
const LAG_S: f64 = 0.2;
/// Completions of the limit in use that are remembered.
const MEMORY: f64 = 4_000.0;
/// Of these, what counts as fresh.
const FRESH: f64 = 1_000.0;
/// Longest time between two looks at a near limit: seconds, and completions; the longer of both.
const PATIENCE: (f64, f64) = (30.0, 10_000.0);
/// Relative throughput (ln) by which a change counts.
const CHANGE: f64 = 0.1;

/// The controller.
#[derive(Clone, Debug)]
pub struct Evenkeel {
    settings: Settings,
    /// The lowest and the highest limit, of those that the memory budget allows.
    range: (u32, u32),
    /// Seconds in which the limit was full: what is known grows no older in a quiet night.
    now: f64,
    /// The limit in use, which the probes are compared with.
    kept: u32,
    /// What it gave lately.
    base: Tally,
    /// The limit in force.
    limit: u32,
    probe: Option<Probe>,
    known: Known,
    /// Whether no probe has had a verdict yet.
    cold: bool,
    /// Whether it came from a high limit and has not yet found one that is too low.
    descends: bool,
    /// Whether all probes from here have failed.
    settled: bool,
    /// Failed probes since the last change or good one.
    caution: u32,
    /// The limit left last and when, and the one to go back to since throughput fell.
    left: Option<(u32, f64)>,
    back_to: Option<u32>,
    /// Direction that was good last.
    momentum: Option<Offset>,
    dispersion: Dispersion,
    silence: Silence,
    /// A limit and the completions per second that it gave when last measured.
    usual: Option<(u32, f64)>,
    /// The limit refused last, and when.
    refused: Option<(u32, f64)>,
    watch: Watch,
    strain: Strain,
    room: Room,
    reopen: Reopen,
    /// Whether the brake was pulled and no probe has had a verdict since.
    braked: bool,
    /// Seconds to leave out after a change of the limit.
    skip_s: f64,
    drain: Drain,
    /// Seconds since a probe was given up, while throughput has not come back.
    recovering: Option<f64>,
    /// How long the server takes to feel a change, as seen.
    lag_s: f64,
    /// Whether throughput was so far off that its way back tells the lag.
    learns_lag: bool,
    /// No probe before this instant.
    rest_until: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Drain {
    in_flight: u32,
    stuck_s: f64,
}

impl Evenkeel {
    /// Begins with the initial limit of its bounds, or with the nearest one that is allowed.
    pub fn new(bounds: Bounds, settings: Settings) -> Self {
        let (low, high) = (bounds.range.0.max(1), bounds.range.1.max(bounds.range.0).max(1));
        let room = settings.memory.and_then(|memory| memory.room()).unwrap_or(high);
        let range = (low, high.min(room).max(low));
        let limit = bounds.initial.clamp(range.0, range.1);
        Self {
            settings,
            range,
            now: 0.0,
            kept: limit,
            base: Tally::default(),
            limit,
            probe: None,
            known: Known::default(),
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
            refused: None,
            watch: Watch::default(),
            strain: Strain::default(),
            room: Room::default(),
            reopen: Reopen::default(),
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
        if self.room.tick(sample, self.kept) {
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
            Some(probe) if probe.trying => Reason::Trying { kept: self.kept, because: probe.hint },
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

    /// Longest time between two looks at a near limit.
    fn patience_s(&self) -> f64 {
        let rate = self.lately().rate().unwrap_or(0.0);
        (PATIENCE.1 / rate.max(1.0)).max(PATIENCE.0)
    }

    fn horizon(&self) -> f64 {
        let many = HORIZON.0 * f64::from(1_u32 << (self.caution.min(8) / 2));
        many.min(HORIZON.1) * self.scale()
    }

    /// How many completions say as much as one of a Poisson stream, in a half of a test.
    fn scale(&self) -> f64 {
        self.dispersion.scale(self.dispersion.best_s(self.lag_s))
    }

    fn alpha(&self) -> f64 {
        (ALPHA_BETTER.0 * 0.7_f64.powi(self.caution as i32)).max(ALPHA_BETTER.1)
    }

    /// Before the server has settled, only what is far worse counts.
    fn on_unsettled(&mut self, tick: &Tally) -> Reason {
        if let Some(probe) = self.probe.take_if(|probe| probe.trying) {
            let phi = self.dispersion.between(probe.kept.seconds, tick.seconds);
            let test = Test::of(&probe.kept, tick, 0.0, phi);
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
            return self.brake(Strained(Hint::Memory));
        }
        if self.reopen.takes_pending(self.now) {
            self.open_again(0.0);
            return Reason::LookDue;
        }
        if self.reopen.is_due(self.now) && self.strain.moved() {
            self.open_again(0.0);
            return Reason::StrainChanged;
        }
        match self.watch.tick(tick, &self.base, &self.dispersion) {
            Change::None => {}
            Change::Of(gain) => {
                self.base = Tally::default();
                let collapsed = self.strain.strained().filter(|_| gain < -COLLAPSE && !self.braked);
                return match collapsed {
                    Some(strained) => self.brake(strained),
                    None if gain.abs() > COLLAPSE || self.reopen.is_due(self.now) => self.open_again(gain),
                    None => self.open_later(gain),
                };
            }
        }
        if self.watch.fresh().count >= self.base.count.clamp(100.0, fresh) {
            self.base.add(&self.watch.fresh());
            self.base.cap(MEMORY * self.scale());
            self.watch.restart();
        }
        let lately = self.lately();
        if lately.count >= 16.0 {
            self.usual = Some((self.kept, lately.count / lately.seconds));
        }
        if lately.count < enough && lately.seconds < if self.descends { 4.0 } else { 1.0 } {
            return self.describe();
        }
        self.next_probe(sample)
    }

    /// After a probe that was not good, what comes first is still its.
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
            // It does not come back: what was remembered is no longer so.
            self.base = *tick;
            return Some(self.open_again(test.gain));
        }
        self.recovering = (!back).then_some(seconds);
        self.recovering.map(|_| self.describe())
    }

    /// The server has changed: what was learnt of other limits no longer counts.
    fn open_again(&mut self, gain: f64) -> Reason {
        let lately = self.left.take().filter(|(_, at)| gain < 0.0 && self.now - at < SUSPECT_S);
        self.back_to = lately.map(|(left, _)| left);
        self.watch.restart();
        self.reopen.begin(self.now);
        if gain < -COLLAPSE {
            self.known.clear();
        } else {
            self.known.reopen(self.kept);
        }
        self.caution = 0;
        self.settled = false;
        self.momentum = None;
        self.recovering = None;
        self.rest_until = 0.0;
        Reason::Changed { gain }
    }

    /// The server has changed, as it did just before, when nothing better was found.
    fn open_later(&mut self, gain: f64) -> Reason {
        self.watch.restart();
        self.reopen.wait();
        Reason::ChangedAgain { gain }
    }

    /// Collapse or want of memory: half at once, and what was learnt no longer counts. Not again before a probe has had
    /// a verdict: the brake lowers what the probes then judge.
    fn brake(&mut self, strained: Strained) -> Reason {
        let from = self.kept;
        self.open_again(-2.0 * COLLAPSE);
        self.braked = true;
        self.base = Tally::default();
        self.kept = (from / 2).max(self.range.0);
        self.set(self.kept);
        Reason::Brake { from, because: strained.0 }
    }

    /// What the limit in use gave lately.
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

/// Whether the numbers of a sample can be used.
fn makes_sense(sample: &Sample) -> bool {
    let finite = [sample.in_flight_mean, sample.queued, sample.work]
        .iter()
        .all(|value| value.is_finite() && *value >= 0.0);
    finite && sample.end > sample.start
}

#[cfg(test)]
mod tests;
