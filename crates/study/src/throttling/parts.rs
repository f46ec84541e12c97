//! Which runs the study has: two workloads by way and clients, and a step by way.

use super::record::{Load, Setting, StepPlan, Treatment};
use crate::harness::{Factor, Part};

/// Most clients: a private server has 2,000 connections.
pub const CLIENTS_MAX: u32 = 1_900;
/// The name of the part that watches a step.
pub const STEP: &str = "step";
/// A point costs this much besides its load, seconds: a guard is started and stopped, sessions are opened.
const OVERHEAD_S: f64 = 0.8;

#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub clients: Vec<u32>,
    pub ways: Vec<Treatment>,
    pub repeats: u32,
}

pub fn of_load(load: Load, sweep: &Sweep) -> Part {
    let factors = vec![ways(&sweep.ways), Factor::numeric("clients", sweep.clients.iter().copied())];
    Part::new(load.name(), load.words(), about(load), factors, sweep.repeats)
}

pub fn of_step(setting: &Setting, of: &[Treatment], repeats: u32) -> Part {
    let StepPlan { clients: (few, many), before_s, .. } = setting.step;
    let title = "after a step in the number of clients";
    let about = format!(
        "The shopping mix with {few} clients, and from {before_s} s on with {many}; runs of each: {repeats}."
    );
    let marks = vec![(before_s, format!("{few} to {many} clients"))];
    Part { marks, ..Part::new(STEP, title, about, vec![ways(of)], repeats) }
}

fn ways(of: &[Treatment]) -> Factor {
    Factor::named("way", of.iter().map(|way| (way.name(), way.words())))
}

fn about(load: Load) -> &'static str {
    match load {
        Load::Shopping => {
            "The workload of the published study: browsers of a bookshop, here without think time, on a buffer pool \
             that holds all data."
        }
        Load::Reread => {
            "Measured because the shopping mix does not fall, or because it was asked for: a transaction reads one \
             range of rows six times and locks nothing. The buffer pool holds the ranges of a few transactions, not \
             of many."
        }
    }
}

/// Seconds that a run takes at most.
pub fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
    let Some(load) = Load::from_name(&part.name) else {
        return setting.step.before_s + setting.step.after_s + OVERHEAD_S;
    };
    let way = levels.first().and_then(|name| Treatment::from_name(name));
    let settle_s = way.and_then(|way| setting.settle_of(way)).map_or(0.0, |settle| settle.most_s);
    let times = setting.times(load);
    settle_s + times.warm_up_s + times.duration_s + OVERHEAD_S
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{plan, setting};
    use super::*;

    #[test]
    fn only_a_point_of_the_published_rule_may_take_ten_spans_more() {
        let (plan, setting) = (plan(), setting());
        let point =
            |way: Treatment| takes_s(&setting, &plan.parts[0], &[way.name().to_owned(), "8".to_owned()]);
        assert!((point(Treatment::Reflection) - point(Treatment::Evenkeel) - 600.0).abs() < 1e-9);
        assert!((point(Treatment::Evenkeel) - point(Treatment::Direct)).abs() < 1e-9);
    }
}
