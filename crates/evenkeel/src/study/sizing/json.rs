//! The answers of `size` for programs.

use super::{Answered, Answers, Asked, HOURS, lines, million};
use evenkeel_core::size::{LeftOut, Prediction, Server, SizeError, Sizing};
use serde_json::{Value, json};

pub fn as_json(asked: &Asked<'_>, answers: &[Answers<'_>]) -> Value {
    json!({
        "study": asked.study,
        "rate_per_s": asked.rate,
        "objective": asked.objective.map(|(figure, seconds)| json!({ "figure": figure.word(), "within_ms": 1e3 * seconds })),
        "answers": answers.iter().map(|answer| answer_json(asked, answer)).collect::<Vec<_>>(),
    })
}

fn answer_json(asked: &Asked<'_>, answer: &Answers<'_>) -> Value {
    let (sized, server) = (answer.sized, answer.sized.server.as_ref().ok());
    let left_out =
        |of: fn(&Server) -> &Sizing| server.map_or_else(Vec::new, |server| left_out_json(of(server)));
    let mut all = json!({
        "label": sized.label, "workload": sized.workload, "misses_stalls": sized.misses_stalls, "left_out_rates_per_s": sized.spoilt, "trust_limit_per_s": sized.limit.rate,
        "at_least_per_s": sized.bounds.at_least_per_s, "at_most_per_s": sized.bounds.at_most_per_s,
        "settled_rates_per_s": server.map_or_else(Vec::new, |server| {
            server.mean.points().iter().map(|point| point.rate).collect::<Vec<_>>()
        }),
        "error": answer.found.as_ref().err().map(ToString::to_string),
        "narrower": { "command": answer.narrower.command, "seconds": answer.narrower.seconds },
        "left_out": { "mean": left_out(|server| &server.mean), "p95": left_out(|server| &server.p95) },
    });
    if let Ok(found @ Answered { needed, statements }) = &answer.found {
        let each = &needed.each;
        all["servers"] = json!(needed.servers);
        // All that it says of how far to believe it.
        all["text"] = json!(server.map_or_else(Vec::new, |server| lines(asked, answer, server, found)));
        all["by_range"] = json!(needed.by_range);
        all["each"] = json!({
            "rate_per_s": each.rate, "tau_ms": prediction_json(&each.mean), "p95_ms": prediction_json(&each.p95),
            "theta_percent": each.busy.map(|(busy, low, high)| {
                json!({ "mean": 100.0 * busy, "low": 100.0 * low, "high": 100.0 * high })
            }),
        });
        let named = |(name, found): &(String, Result<Prediction, SizeError>)| {
            let (tau_ms, error) = (found.as_ref().ok().map(prediction_json), found.as_ref().err());
            json!({ "name": name, "tau_ms": tau_ms, "error": error.map(ToString::to_string) })
        };
        all["statements"] = statements.iter().map(named).collect();
        all["cost"] = asked.cost.map_or(Value::Null, |cost| {
            let hour = cost * needed.servers as f64;
            json!({ "per_hour": hour, "per_month": hour * HOURS, "per_million_requests": million(asked.rate, hour) })
        });
    }
    all
}

/// An end that is open is null.
fn prediction_json(found: &Prediction) -> Value {
    json!({ "mean": 1e3 * found.response, "low": 1e3 * found.low, "high": 1e3 * found.high, "wide": found.is_wide() })
}

fn left_out_json(sizing: &Sizing) -> Vec<Value> {
    let one = |left: &LeftOut| {
        json!({
            "rate_per_s": left.measured.rate, "runs_ms": left.measured.responses.iter().map(|one| 1e3 * one).collect::<Vec<_>>(),
            "predicted_ms": left.predicted.as_ref().map(prediction_json), "error": left.error(),
        })
    };
    sizing.left_out().iter().map(one).collect()
}
