//! How well `evenkeel size` tells a response that was left out, on virtual servers.

use super::many;
use crate::command::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::simulation::VirtualServer;
use evenkeel_study::profile::VirtualProfile;
use evenkeel_study::size::sized;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Runs of each cell.
const REPEATS: u32 = 5;
/// Length of a run in seconds, and of one near the saturation.
const SECONDS: (f64, f64) = (8.0, 32.0);

/// Flags of `evenkeel simulate size`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each seed has a server of its own: 1 to 8 CPUs, work of 2 to 20 ms that is more or less even, with or without a disk, and \
runs that differ in speed by up to 5 %. It is profiled at nine rates, and within the trust limit one rate after the other is left out \
and told from the others by the model that errs least.

Examples:
  evenkeel simulate size                       200 servers
  evenkeel simulate size --seeds 20 --json     a line of JSON for each server"
)]
pub struct Args {
    /// Number of servers
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// As JSON, a line for each server
    #[arg(long)]
    pub json: bool,
}

/// Tries every server, on all processors.
///
/// # Errors
/// Somebody asked to stop.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let seed = Seed(args.seed).child("size");
    let rows = many::tries(session, args.seeds, |number| attempt(seed.numbered(number)))?;
    let rows: Result<Vec<Value>, RateError> = rows.into_iter().collect();
    let rows = rows.hint("a virtual server has a rate")?;
    let text = if args.json { rows.iter().map(|row| format!("{row}\n")).collect() } else { table(&rows) };
    out::write(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn profile(seed: Seed) -> VirtualProfile {
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
        loads: (1..=9).map(|tenth| f64::from(tenth) / 10.0).collect(),
        repeats: REPEATS,
        seconds: SECONDS,
    }
}

fn attempt(seed: Seed) -> Result<Value, RateError> {
    let profile = profile(seed);
    let (plan, runs) = profile.play(seed)?;
    let found = sized(&plan, &runs).into_iter().next();
    let server = found.as_ref().and_then(|found| found.server.as_ref().ok());
    let better = server.map(|server| server.tau.better());
    let left_out = server.map_or(&[][..], |server| server.tau.chosen.as_slice());
    let p95 = server.and_then(|server| server.p95.as_ref().ok()).map_or(&[][..], |p95| p95.chosen.as_slice());
    Ok(json!({
        "cpus": profile.server.cpus, "rates": found.as_ref().map_or(0, |found| found.rates),
        "model": better.map(|rival| rival.kind.word()),
        "errors": left_out.iter().map(|left| left.error()).collect::<Vec<_>>(),
        "held": left_out.iter().filter(|left| left.is_held()).count(),
        "left_out": left_out.len(),
        "p95_errors": p95.iter().map(|left| left.error()).collect::<Vec<_>>(),
        "p95_held": p95.iter().filter(|left| left.is_held()).count(),
        "widths": left_out.iter().filter_map(|left| left.told.map(|told| told.high / told.low)).collect::<Vec<_>>(),
    }))
}

fn table(rows: &[Value]) -> String {
    let told: Vec<&Value> = rows.iter().filter(|row| row["model"].is_string()).collect();
    let errors = told.iter().filter_map(|row| row["errors"].as_array()).flatten();
    let mut errors: Vec<f64> = errors.map(|error| error.as_f64().map_or(f64::INFINITY, f64::abs)).collect();
    errors.sort_by(f64::total_cmp);
    let sum = |key: &str| told.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    let of = |model: &str| told.iter().filter(|row| row["model"] == model).count();
    format!(
        "{} of {} servers have a model (queue {}, network {}, regression {}); rates left out {}, median error {:.1} %, intervals hold \
         {:.3}\n",
        told.len(),
        rows.len(),
        of("queue"),
        of("network"),
        of("regression"),
        errors.len(),
        100.0 * errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN),
        sum("held") as f64 / sum("left_out").max(1) as f64
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_with_what_each_rate_was_off() {
        let row = attempt(Seed(1)).unwrap();
        assert_eq!(
            row["left_out"].as_u64().unwrap(),
            row["errors"].as_array().unwrap().len() as u64,
            "{row}"
        );
        assert!(table(&[row]).starts_with("1 of 1 servers"));
    }

    #[test]
    fn servers_without_a_model_are_counted_and_tell_nothing() {
        let row = json!({ "model": null, "errors": [], "held": 0, "left_out": 0 });
        assert!(table(&[row]).starts_with("0 of 1 servers have a model"));
    }
}
