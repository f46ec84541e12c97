//! Random plants, steps on the measured curves, and the search for parameters.

use super::flags::Args;
use crate::command::Session;
use crate::config::control::named;
use crate::config::simulate::fitted;
use crate::failure::Stopped;
use crate::out;
use anyhow::Result;
use evenkeel_core::control::plant::Distribution;
use evenkeel_core::control::search::{self, EFFORT, SEARCHED};
use evenkeel_core::control::steps::regrets;
use evenkeel_core::control::trial::{self, CLIENTS, INITIAL_LIMITS, Summary, Verdict};
use evenkeel_core::control::{Bounds, ControllerSettings};
use evenkeel_core::random::Seed;
use serde_json::json;
use std::process::ExitCode;

/// Failures that are named one by one.
const NAMED: usize = 20;

/// The controller that flags ask for.
fn controller(args: &Args) -> Result<ControllerSettings> {
    if !args.fitted {
        let name = args.controller.as_deref().unwrap_or("evenkeel");
        return named(name, Bounds { initial: 8, range: (1, CLIENTS) });
    }
    let name = args.controller.as_deref().unwrap_or_default();
    fitted(name)
}

fn seed(args: &Args) -> Seed {
    Seed(args.seed.unwrap_or(1))
}

/// Judges a controller on random plants; failures are named by plant and initial limit, so that they can be run again.
pub fn judge(session: &Session, args: &Args, count: u64) -> Result<()> {
    let (settings, seed) = (controller(args)?, seed(args));
    let distribution = match (args.wobble, args.short_halves) {
        (false, _) => Distribution::default(),
        (true, false) => Distribution::wobbling(),
        (true, true) => Distribution::wobbling_in_short_halves(),
    };
    let mut verdicts: Vec<(u64, u32, Verdict)> = Vec::new();
    for number in 0..count {
        if session.stop.is_set() {
            return Err(Stopped(format!("after {number} of {count} plants")).into());
        }
        for initial in INITIAL_LIMITS {
            let mut controller = settings.starting_at(initial).build();
            let (_, _, verdict) = trial::run(&distribution, seed, number, initial, controller.as_mut());
            verdicts.push((number, initial, verdict));
        }
    }
    let all: Vec<Verdict> = verdicts.iter().map(|(_, _, verdict)| *verdict).collect();
    let summary = Summary::of(&all);
    if args.json {
        let mut value = as_json(&settings, seed, &summary, &verdicts);
        value["wobble"] = json!(distribution.wobble.map(|wobble| wobble.sd));
        return Ok(out::line(serde_json::to_string(&value)?)?);
    }
    out::write(&told(&settings, seed, &summary))?;
    for (number, initial, verdict) in verdicts.iter().filter(|(_, _, verdict)| failed(verdict)).take(NAMED) {
        let words = match verdict {
            Verdict { cycles: true, .. } => "cycles".to_owned(),
            verdict if !verdict.is_settled() => "not settled within 60 halves".to_owned(),
            verdict => format!("held at {:.0} % for six halves", verdict.worst * 100.0),
        };
        out::line(format!("  seed {} plant {number} initial limit {initial}: {words}", seed.0))?;
    }
    Ok(())
}

fn failed(verdict: &Verdict) -> bool {
    !verdict.is_settled() || verdict.cycles || verdict.worst < 0.7
}

fn told(settings: &ControllerSettings, seed: Seed, summary: &Summary) -> String {
    let halves =
        |halves: Option<usize>| halves.map_or("more than 60".to_owned(), |halves| halves.to_string());
    format!(
        "{} on {} runs, seed {}: settled {:.2} %, {} never; of all runs: worst fraction {:.2} ({} below 0.7), cycles {}, \
         {:.1} % of the best at the end; halves until settled: median {}, 98th percentile {}\n",
        settings.name(),
        summary.runs,
        seed.0,
        summary.settled_share() * 100.0,
        summary.runs - summary.settled,
        summary.worst,
        summary.below,
        summary.cycles,
        summary.steady * 100.0,
        halves(summary.halves[0]),
        halves(summary.halves[1])
    )
}

fn as_json(
    settings: &ControllerSettings,
    seed: Seed,
    summary: &Summary,
    verdicts: &[(u64, u32, Verdict)],
) -> serde_json::Value {
    let failures: Vec<_> = verdicts
        .iter()
        .filter(|(_, _, verdict)| failed(verdict))
        .map(|(number, initial, verdict)| {
            json!({
                "plant": number, "start": initial, "settled": verdict.is_settled(),
                "worst": verdict.worst, "cycles": verdict.cycles,
            })
        })
        .collect();
    json!({
        "controller": settings.name(), "seed": seed.0, "runs": summary.runs,
        "settled_share": summary.settled_share(), "worst_fraction": summary.worst,
        "below": summary.below, "below_share": summary.share(summary.below), "cycles": summary.cycles,
        "cycles_share": summary.share(summary.cycles), "steady": summary.steady,
        "halves_median": summary.halves[0], "halves_p98": summary.halves[1], "failures": failures,
    })
}

/// What steps of the number of clients cost.
pub fn steps(args: &Args) -> Result<()> {
    let settings = controller(args)?;
    let regrets = regrets(&settings, seed(args));
    if args.json {
        let rows: Vec<_> = regrets
            .iter()
            .map(|row| json!({"curve": row.curve, "from": row.clients.0, "to": row.clients.1, "regret": row.regret}))
            .collect();
        let value = json!({"controller": settings.name(), "seed": seed(args).0, "steps": rows});
        return Ok(out::line(serde_json::to_string(&value)?)?);
    }
    for row in regrets {
        let (from, to) = row.clients;
        out::line(format!(
            "{:10} {:18} {from:4} -> {to:4} clients: {:5.1} % lost",
            settings.name(),
            row.curve,
            row.regret * 100.0
        ))?;
    }
    Ok(())
}

/// Finds the parameters that are committed in core again.
pub fn search(args: &Args) -> Result<ExitCode> {
    let (plants, tries, seed) = EFFORT;
    for name in SEARCHED {
        if args.controller.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let Some((settings, summary)) = search::search(name, plants, tries, seed) else { continue };
        out::write(&told(&settings, seed, &summary))?;
        out::line(format!("  {settings:?}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
