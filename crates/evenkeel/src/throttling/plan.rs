//! Which points are measured, in which order, and how long that takes.

use super::record::{Key, PlanFile, StepPlan, Sweep, Way};
use evenkeel_core::random::{Random, Seed};

/// A point costs this much besides its load: a guard is started and stopped, sessions are opened.
const OVERHEAD_S: f64 = 0.8;

/// All points of a sweep: repeat by repeat, in random order within each, so that what drifts with time meets every
/// point alike. The same seed gives the same order, also after a resume.
pub fn points(sweep: &Sweep, seed: u64) -> Vec<Key> {
    let all = |repeat| {
        let of = move |way: Way| {
            sweep.clients.iter().map(move |&clients| Key { load: sweep.load, way, clients, repeat })
        };
        sweep.ways.iter().copied().flat_map(of).collect::<Vec<_>>()
    };
    let shuffled = |repeat| {
        let seed = Seed(seed).child(sweep.load.name()).numbered(u64::from(repeat));
        shuffle(all(repeat), &mut Random::new(seed))
    };
    (1..=sweep.repeats).flat_map(shuffled).collect()
}

/// All steps, likewise.
pub fn steps(plan: &StepPlan, seed: u64) -> Vec<(Way, u32)> {
    let of = |repeat| {
        let seed = Seed(seed).child("step").numbered(u64::from(repeat));
        shuffle(plan.ways.iter().map(|&way| (way, repeat)).collect(), &mut Random::new(seed))
    };
    (1..=plan.repeats).flat_map(of).collect()
}

/// Fisher and Yates, from the end.
fn shuffle<T>(mut items: Vec<T>, random: &mut Random) -> Vec<T> {
    for last in (1..items.len()).rev() {
        items.swap(last, random.uniform(0, last as u64) as usize);
    }
    items
}

/// Seconds that a point of a sweep takes at most.
pub fn point_s(plan: &PlanFile, sweep: &Sweep, way: Way) -> f64 {
    let settle_s = plan.settle_of(way).map_or(0.0, |settle| settle.most_s);
    settle_s + sweep.warm_up_s + sweep.duration_s + OVERHEAD_S
}

/// Seconds that a step takes.
pub fn step_s(plan: &StepPlan) -> f64 {
    plan.before_s + plan.after_s + OVERHEAD_S
}

#[cfg(test)]
mod tests {
    use super::super::fixture::plan;
    use super::*;

    #[test]
    fn every_repeat_holds_every_point_once_in_an_order_of_its_own() {
        let sweep = plan().shopping;
        let points = points(&sweep, 1);
        let each = sweep.ways.len() * sweep.clients.len();
        assert_eq!(points.len(), each * sweep.repeats as usize);
        let mut first: Vec<Key> = points[..each].to_vec();
        let mut second: Vec<Key> =
            points[each..2 * each].iter().map(|key| Key { repeat: 1, ..*key }).collect();
        assert_ne!(first, second);
        first.sort();
        second.sort();
        assert_eq!(first, second);
        first.dedup();
        assert_eq!(first.len(), each);
    }

    #[test]
    fn only_a_point_of_the_published_rule_may_take_ten_spans_more() {
        let plan = plan();
        let point = |way| point_s(&plan, &plan.shopping, way);
        assert!((point(Way::Reflection) - point(Way::Evenkeel) - 600.0).abs() < 1e-9);
        assert!((point(Way::Evenkeel) - point(Way::Direct)).abs() < 1e-9);
    }

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let sweep = plan().shopping;
        assert_eq!(points(&sweep, 7), points(&sweep, 7));
        assert_ne!(points(&sweep, 7), points(&sweep, 8));
        let step = plan().step;
        assert_eq!(steps(&step, 7).len(), step.ways.len() * step.repeats as usize);
    }
}
