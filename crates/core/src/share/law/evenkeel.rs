//! Our law and the default: the total of all windows follows from Little's law, and is divided by shares.
//!
//! With `O` outstanding, as I/Os meet it, and mean latency `R`, throughput is `X = O / R` (Little) while there is any, and the
//! window of all hosts together that puts the latency at the threshold `L` is `W = L X = O L / R`. What I/Os meet is more
//! than the mean over time where they come in bursts, and the window where a pacer cannot fill it. Nothing is remembered in
//! it, so a report that is old or missing biases it only by its own host, and hosts that act at different instants do not
//! act twice. For the same reason windows have to be filled: filled to `g` of themselves they rest at `g L`. Where the latency
//! grows with `O` with an elasticity `e` (`R ~ O^e`, 0 below saturation, 1 at it), the error of ln W shrinks by `1 - g e` a
//! period: in one period at saturation, without overshoot for `g e <= 1` and stable up to `g e < 2`.
//! decision 5 of docs/decisions.md has the argument.
//!
//! - *Shares.* W is divided among all disks by [`divide`]: shares times their host's latency over the mean ([`paths`]), because
//!   what a window gives of the device is window over latency; capped by what each uses. What nobody wants goes to all by shares.
//! - *Idle.* While the storage is not congested the total does not fall below the last one that met the threshold (`good`):
//!   windows stay open, and a host that comes back is at the threshold at once, not beyond it.
//! - *Outsiders.* Where others load the storage, the total does not fall below a share of that, so that hosts that keep to the
//!   law are not starved by one that does not. The threshold is then not met.

use super::super::{Period, Report, mean_latency};
use super::fairness::Fairness;
use super::parda::WindowLaw;
use super::path::{Path, bounds, divide, paths};

/// Weight of the new total where it differs little from the last.
const CALM: f64 = 0.3;
/// A new total whose logarithm differs by more than this from the last one is taken as it is.
const JUMP: f64 = 0.1;
/// Least and most change of the total in a period, as a factor.
const STEP: (f64, f64) = (0.1, 10.0);
/// The storage is congested from this share of the latency threshold on.
pub const CONGESTED: f64 = 0.9;
/// The threshold is met up to this multiple of it.
const NEAR: f64 = 1.05;
/// When the total is cut, the logarithm of the latency has to fall by this share of the logarithm of the cut. If it does, the
/// latency comes from the hosts themselves and not from others.
const FOLLOWS: f64 = 0.3;
/// Periods at the floor after which somebody else is taken to load the storage. A single such period may come from a member
/// that stood still, whose I/Os are old when it goes on.
const SUSPICIOUS: u32 = 3;
/// The total does not fall below this share of the one that met the threshold last, however much outsiders load the storage.
const FLOOR: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub threshold_s: f64,
    pub most: f64,
    pub initial: f64,
}

impl Settings {
    pub fn new(threshold_s: f64) -> Self {
        Self { threshold_s, most: 256.0, initial: 16.0 }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Evenkeel {
    settings: Settings,
    window: f64,
    total: Option<f64>,
    /// The total does not fall below this while the storage is not congested: the one that met the threshold last, or less.
    good: Option<f64>,
    met: Option<f64>,
    /// While the latency is beyond the threshold: what was outstanding, and the latency, when that began or when the latency last
    /// followed the total.
    beyond: Option<(f64, f64)>,
    /// How long this host's I/Os took lately.
    path: Path,
    fairness: Fairness,
    /// Periods in succession in which only the floor kept the total from falling further.
    at_floor: u32,
}

impl Evenkeel {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            window: settings.initial,
            total: None,
            good: None,
            met: None,
            beyond: None,
            path: Path::default(),
            fairness: Fairness::default(),
            at_floor: 0,
        }
    }

    /// The total that puts the latency at the threshold.
    fn aim(&mut self, all: &[Report], latency: f64) -> f64 {
        let outstanding: f64 = all.iter().map(|report| report.outstanding).sum();
        let begun = self.settings.initial * all.len() as f64;
        let (least_total, most_total) = bounds(all);
        let before =
            self.total.or_else(|| reported_total(all)).unwrap_or(begun).clamp(least_total, most_total);
        let aim = outstanding * self.settings.threshold_s / latency;
        let congested = latency >= CONGESTED * self.settings.threshold_s;
        let least = match self.good {
            Some(good) if congested => FLOOR * good,
            Some(good) if self.met.is_some() => good.max(self.way_back(before)),
            None if congested => FLOOR * before,
            _ => before,
        };
        let at_floor = congested && least > 0.0 && aim <= least && latency > self.settings.threshold_s;
        self.at_floor = if at_floor { self.at_floor.saturating_add(1) } else { 0 };
        let aim = aim.max(least).clamp(STEP.0 * before, STEP.1 * before);
        let weight = if (aim / before).ln().abs() > JUMP { 1.0 } else { CALM };
        let total = (before + weight * (aim - before)).clamp(least_total, most_total);
        if latency <= NEAR * self.settings.threshold_s {
            self.beyond = None;
            if congested && outstanding >= 0.8 * before {
                (self.good, self.met) = (Some(total), Some(total));
            }
        } else if self.follows(outstanding, latency) {
            self.good = Some(before);
        } else if self.good.is_none() {
            // The initial total is a guess, while what was outstanding was measured.
            self.good = Some(before.min(outstanding));
        }
        total
    }

    /// Half of the way, in logarithms, back to the total that met the threshold: what made the storage slow may be over, as when
    /// a machine that stood still goes on. Where it is not over, the next latency shows it.
    fn way_back(&self, total: f64) -> f64 {
        self.met.map_or(0.0, |met| (total * met).sqrt().min(met))
    }

    /// Beyond the threshold the latency is that of others, unless it has followed the total down.
    ///
    /// Down from what was outstanding and not from the total: that may have been a guess that nobody could fill, or not have
    /// been in force for the time in which the latency was measured.
    fn follows(&mut self, outstanding: f64, latency: f64) -> bool {
        let &mut (from, was) = self.beyond.get_or_insert((outstanding, latency));
        let cut = (from / outstanding).ln();
        let follows = cut > JUMP && (was / latency).ln() >= FOLLOWS * cut;
        if follows {
            self.beyond = Some((outstanding, latency));
        }
        follows
    }
}

/// The total that the other hosts report: their median, so that a single one that lies moves nothing.
fn reported_total(all: &[Report]) -> Option<f64> {
    let mut totals: Vec<f64> =
        all.iter().map(|report| report.total).filter(|total| total.is_finite() && *total > 0.0).collect();
    totals.sort_by(f64::total_cmp);
    totals.get(totals.len() / 2).copied()
}

impl WindowLaw for Evenkeel {
    fn name(&self) -> &'static str {
        "evenkeel"
    }

    fn report(&mut self, period: &Period) -> Report {
        self.path.learn(period.done, period.completions);
        let (cost_latency, grain) = self.path.figures();
        Report {
            cost_latency,
            grain,
            outstanding: period.met.min(self.window).max(period.outstanding),
            total: self.total.unwrap_or(0.0),
            ..Report::of(period, self.settings.most)
        }
    }

    fn update(&mut self, all: &[Report], own: usize) -> f64 {
        if all.get(own).is_none() {
            return self.window;
        }
        let Some(latency) = mean_latency(all) else { return self.window };
        let total = self.aim(all, latency);
        self.total = Some(total);
        self.fairness.learn(all, own);
        let part = divide(total, all, &paths(all))[own];
        if part.is_finite() {
            self.window = part.min(self.settings.most);
        }
        self.window
    }

    fn is_at_floor(&self) -> bool {
        self.at_floor >= SUSPICIOUS
    }

    fn unfair(&self) -> Option<f64> {
        self.fairness.unfair()
    }
}

#[cfg(test)]
mod tests;
