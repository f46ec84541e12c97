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

/// A disk counts as held back if it wants at least so many times what it has outstanding.
const HELD_BACK: f64 = 1.2;
/// It must also want so many of its I/Os more. A client that waits for each I/O holds back itself, and a window of 6 has no room
/// for a second I/O of cost 4.
const MORE: f64 = 2.0;
/// A host is judged only if it has so many I/Os outstanding in the mean. A smaller window mostly pays debts, and its part of the
/// device follows from how long single I/Os take.
const LEAST: f64 = 1.0;
/// A disk that wants less than this in the mean is idle.
const IDLE: f64 = 0.05;
/// A host could have a larger window if it has at most this share of its largest window outstanding.
const FREE: f64 = 0.9;
/// Weight of the newest period, and the I/Os that it must have for that. With fewer, the part of the device is mostly chance.
const WEIGHT: (f64, f64) = (0.1, 40.0);
/// Periods after a start in which windows settle.
const SETTLE: u32 = 10;
/// Factor by which fewer I/Os are enough to take an accusation back.
const QUICKER: f64 = 10.0;
/// Factor between a part of the device and the part that is due from which on the storage is called unfair, and the factor below
/// which it no longer is.
const UNFAIR: (f64, f64) = (1.5, 1.25);

/// Whether the device is divided by shares at all. Storage that serves hosts in turn, or bounds each of them, gives a host no more
/// for a larger window. No law can divide it, and an operator who relies on shares has to know of it.
///
/// A host's part of the device against the one that is due to it, over the last ten periods or so, and at least 400 I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// The part over the part that is due, as a logarithm.
    ratio: f64,
    is_unfair: bool,
    periods: u32,
}

impl Fairness {
    /// Takes in a period of all hosts. One by which this host cannot be judged lets an unfairness fade.
    pub fn learn(&mut self, all: &[Report], own: usize) {
        if self.periods < SETTLE {
            self.periods += 1;
            return;
        }
        let seen = ratio(all, own).map_or(0.0, |ratio| ratio.clamp(0.1, 10.0).ln());
        let ios = all.get(own).map_or(0.0, |report| report.completions as f64);
        // Slow to accuse and quick to forget: after windows have settled, a few I/Os say enough.
        let enough = if seen.abs() < self.ratio.abs() { WEIGHT.1 / QUICKER } else { WEIGHT.1 };
        self.ratio += WEIGHT.0 * (ios / enough).min(1.0) * (seen - self.ratio);
        let bound = if self.is_unfair { UNFAIR.1 } else { UNFAIR.0 };
        self.is_unfair = self.ratio.abs() > bound.ln();
    }

    /// The part over the part that is due, where the two are far from each other and stay so.
    pub fn unfair(&self) -> Option<f64> {
        self.is_unfair.then(|| self.ratio.exp())
    }
}

/// Device time of a host over what its shares give it among the hosts that are held back; `None` where it is not one of
/// several.
fn ratio(all: &[Report], own: usize) -> Option<f64> {
    let held: Vec<(usize, f64, f64)> = all
        .iter()
        .enumerate()
        .filter_map(|(place, report)| Some((place, held_shares(report)?, report.rate)))
        .collect();
    let &(_, shares, rate) = held.iter().find(|(place, ..)| *place == own).filter(|_| held.len() > 1)?;
    let (all_shares, all_rates) = held.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
    let ratio = (rate / all_rates) / (shares / all_shares);
    ratio.is_finite().then_some(ratio)
}

/// Shares of the disks that want something, if all of them are held back.
fn held_shares(report: &Report) -> Option<f64> {
    let active = || report.disks.iter().filter(|disk| disk.wanted >= IDLE && disk.shares > 0.0);
    let shares: f64 = active().map(|disk| disk.shares).sum();
    let is_bounded = report.most > 0.0 && report.outstanding > FREE * report.most;
    // A host that has done nothing yet has I/Os of the usual size.
    let grain = if report.grain > 0.0 { report.grain } else { 1.0 };
    let is_held = |wanted: f64, has: f64| wanted > HELD_BACK * has && wanted > has + MORE * grain;
    let are_held = active().all(|disk| is_held(disk.wanted, report.outstanding * disk.shares / shares));
    let is_judged = !is_bounded && are_held && report.outstanding >= LEAST * grain;
    (shares > 0.0 && report.rate > 0.0 && is_judged).then_some(shares)
}

#[cfg(test)]
mod tests;
