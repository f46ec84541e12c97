//! A played scenario as text and JSON.

use super::played::Played;
use crate::config::simulate::ScenarioFile;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::control::simulation::Step;
use serde_json::json;

/// A stretch in which load and plant are the same.
struct Stretch {
    from: Nanos,
    until: Nanos,
    clients: u32,
    /// Limit at its end.
    limit: u32,
    share: f64,
    regret: f64,
}

fn stretches(file: &ScenarioFile, played: &Played) -> Vec<Stretch> {
    let phases = file.scenario.load.phases();
    let ends = phases.iter().skip(1).map(|phase| phase.at).chain([file.scenario.duration]);
    let stretch = |(index, until): (usize, Nanos)| {
        let from = phases[index].at;
        let within: Vec<&Step> =
            played.trace.steps.iter().filter(|step| step.start >= from && step.end <= until).collect();
        let last = within.last()?;
        // The last fifth of it: what it came to rest at.
        let rest = until - Nanos((until - from).0 / 5);
        Some(Stretch {
            from,
            until,
            clients: phases[index].clients,
            limit: last.limit,
            share: 1.0 - played.trace.regret(rest, until),
            regret: played.trace.regret(from, until),
        })
    };
    ends.enumerate().filter_map(stretch).collect()
}

/// The outcome as text for people.
pub fn text(file: &ScenarioFile, played: &Played) -> String {
    let mut out = format!("{}: {}, seed {}\n", file.name, file.controller.name(), file.scenario.seed.0);
    for decision in &played.decisions {
        out.push_str(&format!("{decision}\n"));
    }
    for stretch in stretches(file, played) {
        out.push_str(&format!(
            "  {:7.1} .. {:7.1} s  {:6} clients  limit {:5}  {:5.1} % of the best at the end, {:5.1} % lost\n",
            stretch.from.as_secs_f64(),
            stretch.until.as_secs_f64(),
            stretch.clients,
            stretch.limit,
            stretch.share * 100.0,
            stretch.regret * 100.0
        ));
    }
    for broken in &played.broken {
        out.push_str(&format!("  broken with seed {}: {broken}\n", file.scenario.seed.0));
    }
    if played.broken.is_empty() && !file.expect.is_empty() {
        out.push_str(&format!("  all expectations met ({})\n", file.expect.len()));
    }
    out
}

/// For programs: one object in a line.
pub fn json(file: &ScenarioFile, played: &Played) -> Result<String> {
    let stretches: Vec<_> = stretches(file, played)
        .iter()
        .map(|stretch| {
            json!({
                "from_s": stretch.from.as_secs_f64(),
                "until_s": stretch.until.as_secs_f64(),
                "clients": stretch.clients,
                "limit": stretch.limit,
                "share_at_end": stretch.share,
                "regret": stretch.regret,
            })
        })
        .collect();
    let broken: Vec<String> = played.broken.iter().map(ToString::to_string).collect();
    let value = json!({
        "name": file.name,
        "controller": file.controller.name(),
        "seed": file.scenario.seed.0,
        "stretches": stretches,
        "broken": broken,
    });
    Ok(format!("{}\n", serde_json::to_string(&value)?))
}
