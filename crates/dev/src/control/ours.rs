//! The guard's own controller on plants with known answers.

use super::simulation::{Load, Phase, Scenario, Trace, simulate, simulate_with};
use crate::plant::{Curve, Fall, MEASURED, Plant, Rise};
use evenkeel_core::Nanos;
use evenkeel_core::control::evenkeel::{Memory, Settings};
use evenkeel_core::control::{Bounds, Controller, Evenkeel, Hint, Reason, Sample};
use evenkeel_core::random::Seed;

/// The controller's price of a transaction in flight.
const EPSILON: f64 = 0.02;

fn scenario(plant: Plant, initial_limit: u32, clients: u32, seconds: u64, seed: u64) -> Scenario {
    Scenario {
        plants: vec![plant],
        load: Load::constant(clients),
        tick: Nanos::from_millis(50),
        duration: Nanos::from_secs(seconds),
        initial_limit,
        seed: Seed(seed),
    }
}

/// The controller with no limit but the usual range, from this limit on.
fn evenkeel(initial: u32) -> Evenkeel {
    Evenkeel::new(Bounds::starting_at(initial), Settings::default())
}

fn run(scenario: &Scenario) -> Trace {
    simulate(scenario, &mut evenkeel(scenario.initial_limit))
}

/// Throughput as a share of the best between two instants.
fn share(trace: &Trace, from_s: u64, to_s: u64) -> f64 {
    1.0 - trace.regret(Nanos::from_secs(from_s), Nanos::from_secs(to_s))
}

/// A tick of 50 ms as a plant without noise gives it.
fn exact(number: u64, limit: u32, in_flight: f64, per_s: f64) -> Sample {
    let count = per_s * 0.05;
    Sample {
        start: Nanos::from_millis(50 * number),
        end: Nanos::from_millis(50 * number + 50),
        limit,
        in_flight_mean: in_flight,
        in_flight_max: in_flight.ceil() as u32,
        queued: 1_000.0,
        completions: count.round() as u64,
        work: count,
        ..Sample::default()
    }
}

#[test]
fn measured_curves_are_held_near_their_best() {
    for measured in &MEASURED {
        for (initial, seed) in [(1, 1), (8, 2), (64, 3)] {
            if measured.name == "sorts" && initial == 64 {
                // The kernel has killed it before the controller begins.
                continue;
            }
            let trace = run(&scenario(measured.plant(), initial, 512, 180, seed));
            let share = share(&trace, 60, 180);
            assert!(share > 0.9, "{} from {initial}: {share:.3}", measured.name);
        }
    }
}

#[test]
fn a_quiet_night_makes_nothing_worth_another_look() {
    let curve = Curve::peaked(8.0, Rise { bend: 1.0 }, Fall::Cliff { edge: 1.5, height: 0.2 });
    let plant = Plant::new(curve, 20_000.0);
    let mut controller = evenkeel(8);
    let (mut limit, mut number) = (8, 0);
    let mut run = |ticks: u64, share: f64| {
        let mut tried = 0;
        for _ in 0..ticks {
            let per_s = share * plant.throughput(f64::from(limit), 0.0);
            let decision = controller.update(&exact(number, limit, share * f64::from(limit), per_s));
            tried += u32::from(matches!(decision.why, Reason::Trying { .. }));
            (limit, number) = (decision.limit, number + 1);
        }
        tried
    };
    run(12_000, 1.0);
    let usual = run(400, 1.0);
    assert_eq!(run(600_000, 0.05), 0);
    let after = run(400, 1.0);
    // Which looks fall into the time differs by a few; knowledge that grew old in the night would double them.
    assert!(
        after <= usual + usual / 2,
        "{after} ticks of trying in the 20 s after the night, {usual} before it"
    );
}

#[test]
fn without_noise_every_move_raises_the_potential_so_that_there_is_no_cycle() {
    // Two peaks with a valley between them, a shelf, a cliff: no single rise and fall.
    let curves = [
        Curve::Points(vec![
            (1.0, 20.0),
            (4.0, 60.0),
            (8.0, 40.0),
            (32.0, 100.0),
            (128.0, 30.0),
            (512.0, 30.0),
        ]),
        Curve::peaked(2.0, Rise { bend: 1.0 }, Fall::Shelf { start: 4.0, end: 64.0, height: 0.39 }),
        Curve::peaked(40.0, Rise { bend: 0.5 }, Fall::Cliff { edge: 1.2, height: 0.2 }),
        Curve::Linear { knee: 100.0 },
    ];
    for curve in curves {
        for initial in [1, 8, 24] {
            let plant = Plant::new(curve.clone(), 20_000.0);
            let potential =
                |limit: u32| plant.throughput(f64::from(limit), 0.0).ln() - EPSILON * f64::from(limit).ln();
            let mut controller = evenkeel(initial);
            let mut limit = initial;
            for number in 0..12_000 {
                let per_s = plant.throughput(f64::from(limit), 0.0);
                let decision = controller.update(&exact(number, limit, f64::from(limit), per_s));
                limit = decision.limit;
                if let Reason::Better { left, .. } = decision.why {
                    assert!(potential(limit) > potential(left), "{left} -> {limit}");
                }
            }
        }
    }
}

#[test]
fn a_paused_server_changes_nothing() {
    let plant = Plant::new(Curve::Usl { sigma: 0.0, kappa: 0.01 }, 2_000.0);
    let pause = |at, paused| Phase { at: Nanos::from_secs(at), paused, ..Phase::of(200) };
    let load = Load::new(vec![pause(0, false), pause(30, true), pause(60, false)]);
    let trace = run(&Scenario { load, ..scenario(plant, 8, 200, 90, 1) });
    let limit = |second: usize| trace.steps[20 * second].limit;
    for second in 32..60 {
        assert_eq!(limit(second), limit(31), "after {second} s");
    }
    assert!(share(&trace, 62, 90) > 0.9);
}

#[test]
fn a_memory_budget_is_never_exceeded() {
    let memory = Some(Memory { budget: 700e6, each: 24e6 });
    let mut controller = Evenkeel::new(Bounds::starting_at(64), Settings { memory });
    let scenario = scenario(Plant::new(Curve::Linear { knee: 500.0 }, 5_000.0), 29, 512, 60, 1);
    let trace = simulate(&scenario, &mut controller);
    assert!(trace.steps.iter().all(|step| step.limit <= 29));
    assert!(trace.steps.last().unwrap().limit >= 20);
}

#[test]
fn upwards_it_never_more_than_doubles_what_it_has_proved() {
    let trace = run(&scenario(Plant::new(Curve::Linear { knee: 200.0 }, 9_000.0), 1, 512, 60, 1));
    let mut proved = 1;
    for step in &trace.steps {
        assert!(step.limit <= 2 * proved, "{} from {proved}", step.limit);
        proved = proved.max(step.limit);
    }
}

#[test]
fn lock_waits_send_the_first_probe_downwards() {
    let fall = Fall::Power { exponent: 1.2, floor: 0.05, by_locks: true };
    let plant = Plant { sensors: true, ..Plant::new(Curve::peaked(4.0, Rise { bend: 1.0 }, fall), 2_000.0) };
    let mut controller = evenkeel(24);
    let mut reasons = Vec::new();
    let scenario = scenario(plant, 24, 512, 5, 1);
    simulate_with(&scenario, &mut controller, |_, decision| {
        reasons.push(decision.why);
    });
    let first = reasons.iter().find(|why| matches!(why, Reason::Trying { .. }));
    assert_eq!(first, Some(&Reason::Trying { in_use: 24, because: Hint::Locks }));
}

#[test]
fn the_same_samples_give_the_same_decisions() {
    let scenario = scenario(MEASURED[0].plant(), 8, 256, 20, 5);
    assert_eq!(run(&scenario), run(&scenario));
}
