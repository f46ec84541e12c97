//! How well the intervals of `evenkeel size` hold what a run of a minute gives, on virtual servers.

use super::many;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::size::Prediction;
use evenkeel_dev::profile::VirtualProfile;
use evenkeel_dev::simulation::VirtualServer;
use evenkeel_study::size::sized;
use serde_json::{Value, json};

/// Loads, as parts of what a server carries, at which predictions are compared with a run of a minute.
const ASKED: [f64; 3] = [0.3, 0.5, 0.7];

struct Shape {
    name: &'static str,
    loads: &'static [f64],
    repeats: u32,
    /// Length of a run in seconds, and of one near the saturation.
    seconds: (f64, f64),
}

/// As `make demo` measures: a curve of four rates, and rates about the end; and a sweep with longer runs near the end.
const SHAPES: [Shape; 2] = [
    Shape {
        name: "demo",
        loads: &[0.2, 0.4, 0.6, 0.8, 0.95, 1.1, 1.35, 1.8],
        repeats: 3,
        seconds: (8.0, 8.0),
    },
    Shape {
        name: "sweep",
        loads: &[0.1, 0.25, 0.4, 0.55, 0.75, 0.85, 0.9],
        repeats: 5,
        seconds: (8.0, 32.0),
    },
];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of servers
    #[arg(long, default_value_t = 200)]
    pub seeds: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

pub fn run(args: &Args) -> Result<()> {
    let seed = Seed(args.seed).child("size");
    let rows = many::tries(args.seeds, |number| attempt(seed.numbered(number)))?;
    rows.iter().flatten().for_each(|row| println!("{row}"));
    Ok(())
}

fn profile(seed: Seed, shape: &Shape) -> VirtualProfile {
    let mut random = Random::new(seed.child("server"));
    let cpus = [1, 1, 2, 4, 8][random.uniform(0, 4) as usize];
    let service = 0.002 * 10_f64.powf(random.unit());
    let has_disk = random.chance(0.5);
    let disk = service / f64::from(cpus) * (0.2 + 0.7 * random.unit());
    VirtualProfile {
        server: VirtualServer {
            cpus,
            service: Nanos::from_secs_f64(service),
            unevenness: 0.3 + 1.2 * random.unit(),
            disk: if has_disk { Nanos::from_secs_f64(disk) } else { Nanos::ZERO },
            delay: Nanos::from_secs_f64(0.5 * service * random.unit()),
        },
        targets: vec![1.0],
        drift: 0.05 * random.unit(),
        loads: shape.loads.to_vec(),
        repeats: shape.repeats,
        seconds: shape.seconds,
    }
}

fn attempt(seed: Seed) -> Result<Vec<Value>, RateError> {
    SHAPES.iter().map(|shape| of_shape(seed, shape)).collect()
}

fn of_shape(seed: Seed, shape: &Shape) -> Result<Value, RateError> {
    let profile = profile(seed, shape);
    let (plan, runs) = profile.play(seed)?;
    let found = sized(&plan, &runs).into_iter().next();
    let server = found.as_ref().and_then(|found| found.server.as_ref().ok());
    let (mut mean, mut p95) = (Vec::new(), Vec::new());
    for (number, load) in (0..).zip(ASKED) {
        let (rate, run) = profile.minute(load, seed.child("minute").numbered(number))?;
        let answer = server.and_then(|server| server.at(rate).ok());
        mean.extend(answer.as_ref().map(|answer| judged(load, &answer.mean, run.mean_ms)));
        p95.extend(answer.as_ref().map(|answer| judged(load, &answer.p95, run.p95_ms)));
    }
    Ok(json!({
        "shape": shape.name, "cpus": profile.server.cpus, "settled_rates": server.map_or(0, |server| server.mean.points().len()),
        "trusted": found.is_some_and(|found| found.limit.rate.is_some()), "asked": ASKED.len(), "mean": mean, "p95": p95,
    }))
}

fn judged(load: f64, found: &Prediction, measured_ms: f64) -> Value {
    let held = 1e3 * found.low <= measured_ms && measured_ms <= 1e3 * found.high;
    json!({
        "load": load, "ms": 1e3 * found.response, "low": 1e3 * found.low, "high": 1e3 * found.high, "measured_ms": measured_ms, "held": held,
    })
}
