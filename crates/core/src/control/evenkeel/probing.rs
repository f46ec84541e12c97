use super::Evenkeel;
use super::evidence::{Tally, Test};
use super::grid::Offset;
use super::refused::{Prior, Probe};
use super::strain::{ALPHA_WORSE, CHANGE, EPSILON, FAR_WORSE, HIGH};
use crate::control::{Evidence, Hint, Reason, Sample};

impl Evenkeel {
    pub(super) fn next_probe(&mut self, sample: &Sample) -> Reason {
        let demand = sample.in_flight_mean + sample.queued;
        let fits = self.headroom.most().unwrap_or(u32::MAX);
        let most = self.range.1.min((demand / 0.95) as u32).min(fits).max(self.range.0);
        let Some((offset, to, hint)) = self.choose(most) else {
            self.settled = true;
            let next_s = self.refused.next_s(self.now).max(self.rest_until - self.now);
            let capped = self.settings.memory.is_some() && self.in_use == self.range.1;
            return if capped || self.in_use >= fits {
                Reason::MemoryCap { wanted: self.in_use.saturating_mul(2) }
            } else {
                Reason::Settled { next_s }
            };
        };
        let in_use = self.lately();
        self.probe = Some(Probe {
            offset,
            to,
            hint,
            began: self.now,
            in_use,
            tried: Tally::default(),
            prior: self.refused.prior(to, self.in_use),
            trying: true,
            half: Tally::default(),
            halves: 1,
            unfilled_s: 0.0,
            gone_s: 0.0,
        });
        self.set(to);
        Reason::Trying { in_use: self.in_use, because: hint }
    }

    /// Where to probe now: first the way that was good last, then back to a limit that was left before throughput fell, then
    /// downwards where sensors show strain, and else the limit whose turn it is.
    fn choose(&mut self, most: u32) -> Option<(Offset, u32, Hint)> {
        let range = (self.range.0, most);
        if let Some(offset) = self.momentum.take()
            && let Some(to) = offset.from(self.in_use, most).filter(|&to| to >= range.0)
        {
            return Some((offset, to, Hint::Momentum));
        }
        if let Some(to) =
            self.back_to.take().filter(|&to| to != self.in_use && (range.0..=most).contains(&to))
        {
            return Some((Offset::toward(self.in_use, to), to, Hint::ThroughputFell));
        }
        if let Some(strained) = self.strain.strained()
            && let Some(to) = Offset::Half.from(self.in_use, most).filter(|&to| to >= range.0)
            && self.refused.is_new(to)
        {
            return Some((Offset::Half, to, strained));
        }
        let (offset, to, new) = self.refused.next(self.in_use, range, self.now, self.cold)?;
        (new || self.now >= self.rest_until).then_some((offset, to, Hint::Turn))
    }

    pub(super) fn on_probe(&mut self, mut probe: Probe, tick: &Tally) -> Reason {
        if probe.trying {
            probe.tried.add(tick)
        } else {
            probe.in_use.add(tick)
        }
        probe.half.add(tick);
        probe.gone_s = 0.0;
        let shift = EPSILON * (f64::from(probe.to) / f64::from(self.in_use)).ln();
        self.dispersion.tick(tick);
        let (in_use_s, tried_s) = probe.stretches_s();
        let phi = self.dispersion.between(in_use_s, tried_s);
        let test = Test::of(&probe.in_use, &probe.tried, shift, phi);
        let Some(test) = test else {
            self.probe = Some(probe);
            return self.describe();
        };
        let evidence = Evidence { limit: probe.to, gain: test.gain, se: test.se, sure: test.sure() };
        if test.clearly_better(self.alpha()) {
            return self.accept(&probe, evidence);
        }
        if test.clearly_worse(ALPHA_WORSE) {
            return self.refuse(&probe, evidence);
        }
        let test = probe.prior.map_or(test, |prior| test.pooled(prior.gain, prior.variance));
        let evidence = Evidence { limit: probe.to, gain: test.gain, se: test.se, sure: test.sure() };
        match self.weigh(&probe, &test) {
            Some(true) => return self.accept(&probe, evidence),
            Some(false) => return self.refuse(&probe, evidence),
            None => {}
        }
        let apart = f64::from(probe.to.abs_diff(self.in_use));
        // A test that was suspended goes on with the limit tried, however far from the one in use that is.
        let swaps =
            !probe.trying || apart < self.horizon() / 16.0 && probe.in_use.count < 2.0 * probe.tried.count;
        let enough = probe.half.count >= self.horizon() / 3.0
            || probe.half.seconds >= 0.99 * self.dispersion.best_s(self.lag_s);
        if enough && swaps {
            probe.half = Tally::default();
            probe.halves += 1;
            probe.trying = !probe.trying;
            self.set(if probe.trying { probe.to } else { self.in_use });
        }
        self.probe = Some(probe);
        self.describe()
    }

    /// The verdict on a test whose sign is not clear: whether the limit tried is to be taken, or `None` to go on. To stay at
    /// the limit in use takes little evidence, to leave it takes more.
    fn weigh(&self, probe: &Probe, test: &Test) -> Option<bool> {
        let (seen, most) = (probe.tried.count, self.horizon());
        if self.descends && probe.offset.is_far_down() && self.in_use >= HIGH {
            if seen >= most / 3.0 && test.gain > -test.se {
                return Some(true);
            }
            return (seen >= most).then_some(test.gain > -2.0 * test.se);
        }
        if seen >= most / 4.0 && test.z < -0.7 {
            return Some(false);
        }
        if seen < most {
            return None;
        }
        let needed = 1.0 + 0.25 * f64::from(self.caution.min(4));
        if test.z > needed && test.theta > 0.01 {
            return Some(true);
        }
        (test.z < 0.5 || seen >= 4.0 * most).then_some(test.z > 1.0)
    }

    fn accept(&mut self, probe: &Probe, evidence: Evidence) -> Reason {
        let left = self.in_use;
        self.recheck.found();
        self.left = Some((left, self.now));
        self.cold = false;
        self.braked = false;
        self.in_use = probe.to;
        self.settled = false;
        self.base = probe.tried;
        self.set(probe.to);
        self.watch.restart();
        self.refused.forget(probe.to);
        self.refused.refuse(left, probe.to, self.now, self.now - probe.began, self.patience_s());
        self.descends &= probe.to < left;
        self.momentum = (evidence.gain > CHANGE || self.descends).then(|| probe.offset.longer());
        self.caution = self.caution.saturating_sub(1);
        Reason::Better { left, evidence }
    }

    pub(super) fn refuse(&mut self, probe: &Probe, evidence: Evidence) -> Reason {
        let took = self.now - probe.began;
        self.cold = false;
        self.braked = false;
        self.set(self.in_use);
        self.recovering = Some(0.0);
        self.last_refused = Some((probe.to, self.now));
        self.learns_lag = evidence.gain < -FAR_WORSE;
        // A limit with a doubtful verdict is tried again soon, one that was far worse late.
        let weight = if evidence.sure < 0.9 {
            0.1
        } else if evidence.gain < -FAR_WORSE {
            4.0
        } else {
            1.0
        };
        self.refused.refuse(probe.to, self.in_use, self.now, weight * took, self.patience_s());
        self.refused.remember(
            probe.to,
            evidence.gain < -FAR_WORSE,
            Prior { in_use: self.in_use, gain: evidence.gain, variance: evidence.se.powi(2) },
        );
        self.descends &= probe.to > self.in_use;
        self.caution += 1;
        let rest = f64::from(1_u32 << self.caution.saturating_sub(4).min(4)) - 1.0;
        self.rest_until = self.now + rest * took;
        Reason::NotBetter(evidence)
    }
}
