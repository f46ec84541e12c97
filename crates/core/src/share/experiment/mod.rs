//! The published experiments on an array calibrated once.
//!
//! Figures of the publication: Gulati, Ahmad and Waldspurger, FAST 2009, section 5. Its array had ten disks; here it is ten
//! spindles of 2.9 ms, which give 3,315 I/Os per second at 38.6 ms where the publication measured 3,360 at 37. The databases
//! of its table 7 had six disks of their own, and are calibrated on that table's uncontrolled run.

mod judge;
mod published;

pub use judge::{Division, Eased, Outcome, judge};
pub use published::experiments;

use super::law::{Parameters, Settings};
use super::simulation::{HostPlan, Lull, Scenario, Stretch};
use super::{ArrayPlan, Cost, Law, Service};
use crate::random::Seed;

/// The array on which all published experiments are run but those with the clients of table 7.
pub const ARRAY: ArrayPlan = ArrayPlan {
    spindles: 10,
    mean_s: 0.0029,
    service: Service::Uniform(0.6),
    cost: Cost { per_byte: 0.4 / (240.0 * 1_024.0), write: 1.0 },
    cache: None,
};

/// How the hosts of an experiment are treated: what sets their windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Treatment {
    /// Nothing but the depth of their clients.
    Uncontrolled,
    Parda,
    Evenkeel,
}

impl Treatment {
    pub const ALL: [Self; 3] = [Self::Uncontrolled, Self::Parda, Self::Evenkeel];

    pub fn name(self) -> &'static str {
        match self {
            Self::Uncontrolled => "uncontrolled",
            Self::Parda => "parda",
            Self::Evenkeel => "evenkeel",
        }
    }
}

/// A stretch in which nothing changes from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Calm {
    pub stretch: Stretch,
    /// The shares that hosts should have in it: 0 for a host that is not there or not counted. `None` where shares are not
    /// judged, because they cannot be met, or because who has them does not want that much.
    pub shares: Option<Vec<f64>>,
}

/// What was published of an experiment under a treatment, for the first calm stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Published {
    pub iops: Option<f64>,
    pub latency_s: Option<f64>,
    pub hosts: &'static [(usize, f64)],
    /// Orders of the last host over those of the first, where clients were databases.
    pub orders: Option<f64>,
}

/// An experiment: hosts, shares, threshold, and what was published of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    pub name: &'static str,
    /// What it is in the publication.
    pub what: &'static str,
    pub array: ArrayPlan,
    pub hosts: Vec<HostPlan>,
    pub threshold_s: f64,
    pub most: f64,
    /// Beta for a share of 1.
    pub k: f64,
    pub duration_s: f64,
    /// Stretches in which nothing changes from outside.
    pub calm: Vec<Calm>,
    /// Seconds at the end of a calm stretch over which it is judged.
    pub tail_s: f64,
    /// The array was calibrated on this experiment: its published figures say nothing of the model.
    pub calibrates: bool,
    pub parda: Published,
    pub uncontrolled: Published,
    /// Why its figures are not the published ones, where that is known.
    pub why_off: Option<&'static str>,
}

impl Experiment {
    pub fn scenario(&self, treatment: Treatment, period_s: f64, seed: Seed) -> Scenario {
        let law = self.law(treatment);
        self.with(|host| if host.reports { law } else { host.law }, period_s, seed)
    }

    pub fn law(&self, treatment: Treatment) -> Law {
        match treatment {
            Treatment::Uncontrolled => Law::Fixed(f64::MAX),
            Treatment::Parda => Law::Parda(Parameters {
                k: self.k,
                range: (1.0, self.most),
                initial: 32.0_f64.min(self.most),
                ..Parameters::published(self.threshold_s)
            }),
            Treatment::Evenkeel => {
                Law::Evenkeel(Settings { most: self.most, ..Settings::new(self.threshold_s) })
            }
        }
    }

    pub fn published(&self, treatment: Treatment) -> Published {
        match treatment {
            Treatment::Uncontrolled => self.uncontrolled,
            Treatment::Parda => self.parda,
            Treatment::Evenkeel => Published::default(),
        }
    }

    /// Where a host asks for less for a while: its place, and when.
    pub fn lull(&self) -> Option<(usize, Stretch)> {
        let of = |host: &HostPlan| host.disks.iter().find_map(|disk| disk.lull.map(|lull| lull.stretch));
        self.hosts.iter().enumerate().find_map(|(place, host)| Some((place, of(host)?)))
    }

    /// The same with all times multiplied: as many periods of another length.
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |(from_s, until_s): Stretch| (factor * from_s, factor * until_s);
        let mut scaled = Self {
            duration_s: factor * self.duration_s,
            calm: self
                .calm
                .iter()
                .map(|calm| Calm { stretch: times(calm.stretch), ..calm.clone() })
                .collect(),
            tail_s: factor * self.tail_s,
            ..self.clone()
        };
        for disk in scaled.hosts.iter_mut().flat_map(|host| &mut host.disks) {
            disk.active = disk.active.iter().copied().map(times).collect();
            disk.lull = disk.lull.map(|lull| Lull { stretch: times(lull.stretch), ..lull });
        }
        scaled
    }

    /// The run of the experiment with the law that each host is given.
    pub fn with(&self, law: impl Fn(&HostPlan) -> Law, period_s: f64, seed: Seed) -> Scenario {
        let hosts = self.hosts.iter().map(|host| HostPlan { law: law(host), ..host.clone() }).collect();
        Scenario { array: self.array, hosts, period_s, duration_s: self.duration_s, seed }
    }
}

#[cfg(test)]
mod tests;
