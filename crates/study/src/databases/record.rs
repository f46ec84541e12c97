//! What is to be run, and what a run brought.

use crate::published::{Number, Numbers};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::share::experiment::Treatment;
use evenkeel_core::share::simulation::Stretch;
use serde::{Deserialize, Serialize};

/// In the lull host b has one client for so many at other times.
const FEWER: u32 = 12;
/// Of a lull, the last part: windows take their time to open.
const LATE: f64 = 0.25;

/// How it is made, beside rounds, most windows and ways, which are the plan's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Closed clients of each store, without think time.
    pub clients: u32,
    /// Load before measuring begins.
    pub warm_up_s: f64,
    /// Measured time of a run.
    pub duration_s: f64,
    /// After that, how long host b asks for less, before it asks as before for the measured time again; 0 for never.
    pub lull_s: f64,
    /// Of each store, by its name.
    pub size: String,
    /// From one window to the next.
    pub period_s: f64,
}

/// What tells a run from the others of the study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// What sets the windows.
    pub way: Treatment,
    /// Most window of a host.
    pub most: u32,
    /// Round, from 1.
    pub round: u32,
}

/// A finished run, with what was measured of both hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Which run of the study it is.
    pub key: Key,
    /// Of the measured time.
    pub hosts: [Figures; 2],
    /// Since both loads began, in order of time.
    pub periods: Vec<Period>,
    /// When host b asked for less, since both loads began.
    pub lull: Option<Stretch>,
    /// Doubts of the load generator, each once, with the host.
    pub caveats: Vec<Caveat>,
}

/// What a host made in the measured time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Orders per minute, those rolled back for want of stock among them, as the benchmark has it.
    pub orders_per_minute: f64,
    /// Standard error of that within the run.
    pub standard_error: Option<f64>,
    /// Mean time of an order.
    pub response_ms: f64,
    /// Orders rolled back for want of stock.
    pub rolled_back: u64,
    /// Orders that failed, or were given up.
    pub lost: u64,
    /// Of its data disk.
    pub ios_per_s: f64,
    /// Of its data disk, weighted by I/Os.
    pub latency_ms: Option<f64>,
    /// Mean over periods.
    pub window: f64,
    /// I/Os under way or held back, mean over periods.
    pub wanted: f64,
    /// I/Os under way, mean over periods.
    pub outstanding: f64,
    /// Mean over periods.
    pub beta: f64,
}

/// A period of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Its end, since both loads began.
    pub at_s: f64,
    /// Place of the host.
    pub host: usize,
    /// The window from then on.
    pub window: f64,
    /// Mean under way in it.
    pub outstanding: f64,
    /// Mean under way or held back in it.
    pub wanted: f64,
    /// Of the window before: as the published law counts it, by its formula where it does not set the window.
    pub beta: f64,
    /// I/Os per second in it.
    pub ios_per_s: f64,
    /// Their mean latency in seconds.
    pub latency_s: Option<f64>,
}

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![
            Number::new("clients", self.clients.into(), 1.0, 100_000.0),
            Number::around_s("warm_up_s", self.warm_up_s),
            Number::measured_s("duration_s", self.duration_s),
            Number::around_s("lull_s", self.lull_s),
            Number::new("period_s", self.period_s, 0.05, 60.0),
        ]
    }
}

impl Setting {
    /// Time of load in a run up to the end of the measured time.
    pub fn run_s(&self) -> f64 {
        self.warm_up_s + self.duration_s
    }

    /// Time of load in a run in all.
    pub fn whole_s(&self) -> f64 {
        self.run_s() + if self.lull_s > 0.0 { self.lull_s + self.duration_s } else { 0.0 }
    }

    /// What clients do in a run, one after the other; measured is the first.
    pub fn phases(&self) -> Vec<Phase> {
        let both = [self.clients; 2];
        let fewer = [self.clients, (self.clients / FEWER).max(1)];
        let mut phases =
            vec![Phase { clients: both, warm_up_s: self.warm_up_s, duration_s: self.duration_s }];
        if self.lull_s > 0.0 {
            phases.push(Phase { clients: fewer, warm_up_s: 0.0, duration_s: self.lull_s });
            phases.push(Phase { clients: both, warm_up_s: 0.0, duration_s: self.duration_s });
        }
        phases
    }
}

/// A stretch of a run in which both hosts have so many clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Clients of host a and of host b.
    pub clients: [u32; 2],
    /// Before measuring begins.
    pub warm_up_s: f64,
    /// How long the phase is measured, in seconds.
    pub duration_s: f64,
}

/// What became of windows and beta while host b asked for less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eased {
    /// Windows of both hosts late in the lull, over those before it.
    pub opened: [f64; 2],
    /// Beta of host b before the lull, late in it, and after it.
    pub beta: [f64; 3],
}

impl Run {
    /// Orders of host b over those of host a; `None` where a made none.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = &self.hosts;
        (a.orders_per_minute > 0.0).then(|| b.orders_per_minute / a.orders_per_minute)
    }

    /// What became of the lull; `None` without one, and where a host told nothing of a part of it.
    pub fn eased(&self, setting: &Setting) -> Option<Eased> {
        let (from_s, until_s) = self.lull?;
        let end_s = self.periods.last()?.at_s;
        let before = (setting.warm_up_s, setting.run_s());
        let late = (until_s - LATE * (until_s - from_s), until_s);
        // The first half of what is left is for windows and clients to find back.
        let after = ((until_s + end_s) / 2.0, end_s);
        let window = |stretch, host| self.mean(stretch, host, |period| period.window);
        let opened = |host| Some(window(late, host)? / window(before, host)?);
        let beta = |stretch| self.mean(stretch, 1, |period| period.beta);
        Some(Eased { opened: [opened(0)?, opened(1)?], beta: [beta(before)?, beta(late)?, beta(after)?] })
    }

    /// Mean over the periods of a host within a stretch.
    fn mean(&self, (from_s, until_s): Stretch, host: usize, of: fn(&Period) -> f64) -> Option<f64> {
        let within = |period: &&Period| period.host == host && period.at_s > from_s && period.at_s <= until_s;
        let values: Vec<f64> = self.periods.iter().filter(within).map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{run, setting};
    use super::*;

    #[test]
    fn in_a_lull_host_b_has_few_clients_and_afterwards_as_many_as_before() {
        let setting = Setting { lull_s: 80.0, ..setting() };
        let clients: Vec<[u32; 2]> = setting.phases().iter().map(|phase| phase.clients).collect();
        assert_eq!(clients, [[48, 48], [48, 4], [48, 48]]);
        assert_eq!((setting.run_s(), setting.whole_s()), (12.0, 100.0));
        assert_eq!(super::super::fixture::setting().phases().len(), 1);
    }

    #[test]
    fn what_becomes_of_a_lull_is_told_by_its_last_quarter() {
        let setting = Setting { warm_up_s: 0.0, duration_s: 4.0, lull_s: 4.0, ..setting() };
        let mut run = run(Treatment::Parda, 32, 1, [1.0, 1.0]);
        assert_eq!(run.eased(&setting), None, "without a lull");
        run.lull = Some((4.0, 8.0));
        for period in &mut run.periods {
            let late = period.at_s > 7.0 && period.at_s <= 8.0;
            period.window = if late { 32.0 } else { 8.0 };
            period.beta = if late { 0.5 } else { 2.0 };
        }
        assert_eq!(run.eased(&setting), Some(Eased { opened: [4.0, 4.0], beta: [2.0, 0.5, 2.0] }));
    }
}
