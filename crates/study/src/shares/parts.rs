//! Which runs the study has: each published experiment under every way.

use super::{PUBLISHED_S, words};
use crate::harness::{Factor, Part};
use crate::published::{Number, Numbers};
use evenkeel_core::share::experiment::{Experiment, Treatment};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Seconds between two windows.
    pub period_s: f64,
    /// In real time, with fio as the clients, instead of on the virtual clock.
    pub live: bool,
}

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![Number::new("period_s", self.period_s, 0.05, 60.0)]
    }
}

pub fn parts(experiments: &[Experiment], setting: Setting) -> Vec<Part> {
    let part = |experiment: &Experiment| {
        let experiment = scaled(experiment, setting);
        let lull = experiment.lull();
        let marks = lull.map(|(host, (from_s, until_s))| {
            vec![(from_s, String::new()), (until_s, format!("host {} asks for less", host + 1))]
        });
        let title = format!("{}: {}", experiment.name, experiment.what);
        let ways = Factor::named("way", Treatment::ALL.map(|way| (way.name(), words(way))));
        let about = experiment.why_off.unwrap_or_default();
        let marks = marks.unwrap_or_default();
        Part { marks, ..Part::new(experiment.name, &title, about, vec![ways], 1) }
    };
    experiments.iter().map(part).collect()
}

/// In real time an experiment has as many periods as were published.
pub fn scaled(experiment: &Experiment, setting: Setting) -> Experiment {
    if setting.live { experiment.scaled(setting.period_s / PUBLISHED_S) } else { experiment.clone() }
}
