//! Our law and the default: the total of all windows follows from Little's law, and is divided by shares.
//!
//! With `O` outstanding, as I/Os meet it, and mean latency `R`, throughput is `X = O / R` (Little) while there is any, and the
//! window of all hosts together that puts the latency at the threshold `L` is `W = L X = O L / R`. What I/Os meet is more
//! than the mean over time where they come in bursts, and the window where a pacer cannot fill it. Nothing is remembered in
//! it, so a report that is old or missing biases it only by its own host, and hosts that act at different instants do not
//! act twice. For the same reason windows have to be filled: filled to `g` of themselves they rest at `g L`. Where the latency
//! grows with `O` with an elasticity `e` (`R ~ O^e`, 0 below saturation, 1 at it), the error of ln W shrinks by `1 - g e` a
//! period: in one period at saturation, without overshoot for `g e <= 1` and stable up to `g e < 2`.
//! docs/decisions/0005 has the argument.
//!
//! - *Shares.* W is divided among all disks by [`divide`]: shares times their host's latency over the mean ([`paths`]), because
//!   what a window gives of the device is window over latency; capped by what each uses. What nobody wants goes to all by shares.
//! - *Idle.* While the storage is not congested the total does not fall below the last one that met the threshold (`good`):
//!   windows stay open, and a host that comes back is at the threshold at once, not beyond it.
//! - *Outsiders.* Where others load the storage, the total does not fall below a share of that, so that hosts that keep to the
//!   law are not starved by one that does not. The threshold is then not met.

use super::super::{Period, Report, mean_latency};
use super::division::{bounds, divide};
use super::fairness::Fairness;
use super::path::{Path, paths};
use super::window_law::WindowLaw;

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

/// What an operator may set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Latency threshold in seconds.
    pub threshold_s: f64,
    /// The largest window of this host.
    pub most: f64,
    /// The window before the first period.
    pub initial: f64,
}

impl Settings {
    /// The usual windows, for a threshold in seconds.
    pub fn new(threshold_s: f64) -> Self {
        Self { threshold_s, most: 256.0, initial: 16.0 }
    }
}

/// The law and what it remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct Evenkeel {
    settings: Settings,
    window: f64,
    /// Window of all hosts together.
    total: Option<f64>,
    /// The total does not fall below this while the storage is not congested: the one that met the threshold last, or less.
    good: Option<f64>,
    /// The total when the threshold was last met.
    met: Option<f64>,
    /// While the latency is beyond the threshold: what was outstanding, and the latency, when that began or when the latency last
    /// followed the total.
    beyond: Option<(f64, f64)>,
    /// How long this host's I/Os took lately.
    path: Path,
    /// Whether the device is divided by shares.
    fairness: Fairness,
    /// Periods in succession in which only the floor kept the total from falling further.
    at_floor: u32,
}

impl Evenkeel {
    /// The law before its first period.
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
mod tests {
    use super::super::super::DiskUse;
    use super::*;

    fn wants(shares: f64, outstanding: f64, latency: f64, wanted: f64) -> Report {
        let disks = vec![DiskUse { shares, wanted }];
        Report {
            disks,
            outstanding,
            latency,
            completions: 1_000,
            cost_latency: latency,
            grain: 1.0,
            ..Report::default()
        }
    }

    fn report(shares: f64, outstanding: f64, latency: f64) -> Report {
        wants(shares, outstanding, latency, 1_000.0)
    }

    #[test]
    fn the_total_is_what_littles_law_says_and_hosts_get_their_shares_of_it() {
        let mut law = Evenkeel::new(Settings::new(0.025));
        // 3,300 I/Os per second.
        let all = [report(1.0, 64.0, 0.0388), report(3.0, 64.0, 0.0388)];
        let window = law.update(&all, 0);
        let total = 128.0 * 0.025 / 0.0388;
        assert!((window - total / 4.0).abs() < 1e-6, "{window}");
    }

    #[test]
    fn a_host_that_wants_little_leaves_the_rest_to_the_others() {
        let little = wants(3.0, 2.0, 0.025, 2.0);
        let all = [report(1.0, 78.0, 0.025), little];
        let mut law = Evenkeel::new(Settings { initial: 40.0, ..Settings::new(0.025) });
        let window = law.update(&all, 0);
        assert!((window - (80.0 - 2.0)).abs() < 1e-6, "{window}");
    }

    #[test]
    fn an_idle_disk_leaves_its_shares_to_all_hosts_not_to_its_own() {
        let idle = DiskUse { shares: 20.0, wanted: 0.0 };
        let mut first = wants(10.0, 40.0, 0.025, 1_000.0);
        first.disks.push(idle);
        let all = [first, report(10.0, 40.0, 0.025)];
        let mut law = Evenkeel::new(Settings { initial: 40.0, ..Settings::new(0.025) });
        let window = law.update(&all, 0);
        assert!((window - 40.0).abs() < 1e-6, "{window}");
    }

    #[test]
    fn what_a_host_may_not_have_goes_to_the_others() {
        let bounded = Report { most: 32.0, ..report(4.0, 40.0, 0.025) };
        let mut law = Evenkeel::new(Settings { initial: 40.0, ..Settings::new(0.025) });
        let window = law.update(&[report(1.0, 40.0, 0.025), bounded], 0);
        assert!((window - 48.0).abs() < 1e-6, "{window}");
    }

    #[test]
    fn windows_stay_open_while_nobody_wants_much() {
        let mut law = Evenkeel::new(Settings::new(0.025));
        let busy = [report(1.0, 80.0, 0.025), report(1.0, 80.0, 0.025)];
        for _ in 0..10 {
            law.update(&busy, 0);
        }
        let open = law.update(&busy, 0);
        let quiet = [0, 1].map(|_| wants(1.0, 0.1, 0.003, 0.1));
        let window = (0..10).map(|_| law.update(&quiet, 0)).last().expect("ten");
        assert!((window / open - 1.0).abs() < 0.05, "{window} after {open}");
    }

    #[test]
    fn a_longer_path_gets_a_larger_window_so_that_throughput_follows_the_shares() {
        let mut law = Evenkeel::new(Settings::new(0.025));
        let all = [report(1.0, 40.0, 0.027), report(1.0, 40.0, 0.023)];
        let window = (0..20).map(|_| law.update(&all, 0)).last().expect("twenty");
        let total = law.total.expect("a total");
        assert!((window / total - 0.54).abs() < 0.005, "{window} of {total}");
    }

    #[test]
    fn who_is_loaded_by_others_down_to_the_floor_says_so() {
        let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
        law.update(&[report(1.0, 80.0, 0.025)], 0);
        assert!(!law.is_at_floor());
        for _ in 0..5 {
            law.update(&[report(1.0, 8.0, 0.100)], 0);
        }
        assert!(law.is_at_floor());
        law.update(&[report(1.0, 8.0, 0.002)], 0);
        assert!(!law.is_at_floor());
    }

    #[test]
    fn a_member_that_stood_still_and_comes_back_is_no_outsider() {
        let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
        let calm = |window: f64| (window / 3_200.0).max(0.003);
        after(&mut law, 10, calm);
        for _ in 0..2 {
            after(&mut law, 1, |_| 20.0);
            assert!(!law.is_at_floor());
        }
        after(&mut law, 1, calm);
        assert!(!law.is_at_floor());
    }

    /// The window of a lone host that fills it, after so many periods in front of storage of this latency.
    fn after(law: &mut Evenkeel, periods: usize, latency: impl Fn(f64) -> f64) -> f64 {
        for _ in 0..periods {
            let window = law.window;
            law.update(&[report(1.0, window, latency(window))], 0);
        }
        law.window
    }

    #[test]
    fn the_floor_comes_down_with_the_total_where_the_latency_follows_it() {
        let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
        let fast = after(&mut law, 10, |window| window / 3_200.0);
        assert!((fast - 80.0).abs() < 1.0, "{fast}");
        // 32 times as slow: a tenth of the window is not little enough.
        let slow = after(&mut law, 30, |window| window / 100.0);
        assert!((slow - 2.5).abs() < 0.3, "{slow}");
        assert!(!law.is_at_floor());
    }

    #[test]
    fn windows_are_open_again_soon_after_a_storm_that_the_latency_seemed_to_follow() {
        let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
        let calm = |window: f64| (window / 3_200.0).max(0.003);
        after(&mut law, 10, calm);
        for latency in [0.4, 0.2, 0.1, 0.05, 0.03] {
            after(&mut law, 1, |_| latency);
        }
        assert!(law.window < 8.0, "{}", law.window);
        // Clients that want few at a time: what is outstanding says little of what the storage could do.
        for _ in 0..6 {
            let outstanding = law.window.min(4.0);
            law.update(&[report(1.0, outstanding, calm(outstanding))], 0);
        }
        assert!(law.window > 60.0, "{}", law.window);
    }

    #[test]
    fn a_floor_holds_against_others_who_were_there_before_the_threshold_was_ever_met() {
        let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
        // 1,000 of others are outstanding, whatever the window.
        let window = after(&mut law, 50, |window| (1_000.0 + window) / 3_200.0);
        assert!((FLOOR * 80.0 - window).abs() < 0.5, "{window}");
        assert!(law.is_at_floor());
    }

    #[test]
    fn a_total_that_never_met_the_threshold_is_no_floor() {
        // 16 of each of 30 hosts is only where the law begins; 31 meet the threshold.
        let mut law = Evenkeel::new(Settings { initial: 480.0, ..Settings::new(0.025) });
        for outstanding in [70.0, 40.0, 38.0] {
            law.update(&[report(1.0, outstanding, outstanding / 31.0 * 0.025)], 0);
        }
        let window = after(&mut law, 1, |_| 0.022);
        assert!((25.0..45.0).contains(&window), "{window}");
        assert!(!law.is_at_floor());
    }

    /// Hosts with shares 1:2:5 that always want more, each period with the latencies that storage gives to their windows:
    /// whether each says that the storage is not divided by shares.
    fn unfair(latencies: impl Fn(&[f64; 3]) -> [f64; 3]) -> [bool; 3] {
        let mut laws = [0; 3].map(|_| Evenkeel::new(Settings::new(0.025)));
        let mut windows = [16.0; 3];
        for _ in 0..60 {
            let latencies = latencies(&windows);
            let all: Vec<Report> = [1.0, 2.0, 5.0]
                .iter()
                .enumerate()
                .map(|(place, &shares)| Report {
                    rate: windows[place] / latencies[place],
                    ..report(shares, windows[place], latencies[place])
                })
                .collect();
            for (place, law) in laws.iter_mut().enumerate() {
                windows[place] = law.update(&all, place);
            }
        }
        laws.map(|law| law.unfair().is_some())
    }

    #[test]
    fn storage_that_serves_hosts_in_turn_is_told_of() {
        assert_eq!(unfair(|windows| windows.map(|window| window / 1_000.0)), [true, false, true]);
        let together = |windows: &[f64; 3]| [windows.iter().sum::<f64>() / 3_000.0; 3];
        assert_eq!(unfair(together), [false; 3]);
    }

    #[test]
    fn storage_far_faster_than_the_threshold_does_not_take_the_total_out_of_sight() {
        let mut law = Evenkeel::new(Settings::new(10.0));
        let fast = |law: &Evenkeel| Report { most: 256.0, ..report(1.0, law.window, 1e-5) };
        for _ in 0..100 {
            let all = [fast(&law), Report { most: 32.0, ..fast(&law) }];
            law.update(&all, 0);
        }
        assert_eq!(law.total, Some(256.0 + 32.0));
    }

    #[test]
    fn one_who_lies_for_a_while_has_no_say_in_the_windows_once_he_is_gone() {
        let honest = |law: &Evenkeel| Report { most: 256.0, ..report(1.0, law.window, law.window / 3_200.0) };
        let tiny = f64::MIN_POSITIVE;
        let lies = [
            Report { most: 256.0, ..report(1.0, 1e6, 0.025) },
            Report { most: 256.0, outstanding: tiny, ..report(1e6, 1e6, tiny) },
            Report { most: 256.0, total: tiny, ..report(1.0, 0.0, 3_600.0) },
        ];
        for lie in lies {
            let mut law = Evenkeel::new(Settings { initial: 80.0, ..Settings::new(0.025) });
            for _ in 0..100 {
                law.update(&[honest(&law), lie.clone()], 0);
            }
            let total = law.total.expect("a total");
            assert!((0.01..=512.0).contains(&total), "{total} beside {lie:?}");
            for _ in 0..10 {
                law.update(&[honest(&law)], 0);
            }
            assert!((law.window - 80.0).abs() < 8.0, "{} after {lie:?}", law.window);
        }
    }

    #[test]
    fn numbers_without_sense_leave_the_window() {
        let mut law = Evenkeel::new(Settings::new(0.025));
        let window = law.window;
        let bad = Report { latency: f64::NAN, completions: 5, ..Report::default() };
        assert_eq!(law.update(&[bad], 0), window);
        assert_eq!(law.update(&[], 3), window);
        let odd = report(f64::NAN, f64::INFINITY, 0.01);
        assert!(law.update(&[odd], 0).is_finite());
    }
}
