//! Simulations whose outcome is known in closed form.

use super::*;
use crate::plant::Curve;
use evenkeel_core::control::{Decision, Fixed, Reason, Sample};

fn plant() -> Plant {
    Plant::new(Curve::Usl { sigma: 0.0, kappa: 1.0 / 64.0 }, 1_000.0)
}

fn scenario(load: Load, initial_limit: u32) -> Scenario {
    Scenario {
        plants: vec![plant()],
        load,
        tick: Nanos::from_millis(50),
        duration: Nanos::from_secs(100),
        initial_limit,
        seed: Seed(1),
    }
}

fn completions(trace: &Trace) -> u64 {
    trace.steps.iter().map(|step| step.completions).sum()
}

#[test]
fn a_full_limit_gives_the_throughput_of_the_curve_with_poisson_spread() {
    let trace = simulate(&scenario(Load::constant(100), 8), &mut Fixed::new(8));
    // 100,000 expected, standard deviation 316.
    assert!(completions(&trace).abs_diff(100_000) < 1_300, "{}", completions(&trace));
    let mean = completions(&trace) as f64 / trace.steps.len() as f64;
    let variance = trace.steps.iter().map(|step| (step.completions as f64 - mean).powi(2)).sum::<f64>()
        / trace.steps.len() as f64;
    assert!((variance / mean - 1.0).abs() < 0.12, "index of dispersion {}", variance / mean);
    assert!(trace.regret(Nanos::ZERO, Nanos::from_secs(100)).abs() < 1e-9);
}

#[test]
fn a_lowered_limit_drains_as_transactions_end() {
    struct Lower;
    impl Controller for Lower {
        fn name(&self) -> &'static str {
            "lower"
        }
        fn update(&mut self, _: &Sample) -> Decision {
            Decision { limit: 8, why: Reason::Fixed }
        }
    }
    let trace = simulate(&scenario(Load::constant(200), 200), &mut Lower);
    // The time to drain is the sum of 1 / X(n) from 200 down to 9: 1.3 s here.
    let expected: f64 = (9..=200).map(|n| 1.0 / plant().throughput(f64::from(n), 0.0)).sum();
    let drained = trace.steps.iter().find(|step| step.in_flight <= 8.0).unwrap();
    let took = drained.start.as_secs_f64();
    assert!((took - expected).abs() < 0.35, "{took} s, expected {expected} s");
}

#[test]
fn a_paused_server_completes_nothing_and_a_slow_client_takes_a_permit() {
    let pause = Phase { at: Nanos::from_secs(50), paused: true, ..Phase::of(100) };
    let trace = simulate(&scenario(Load::new(vec![Phase::of(100), pause]), 8), &mut Fixed::new(8));
    assert!(trace.steps[1_000..].iter().all(|step| step.completions == 0 && step.in_flight == 8.0));
    let slow = Phase { slow: 4, ..Phase::of(100) };
    let trace = simulate(&scenario(Load::new(vec![slow]), 8), &mut Fixed::new(8));
    assert!((trace.steps[9].true_per_s - plant().throughput(4.0, 0.0)).abs() < 1e-6);
}
