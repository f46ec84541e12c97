//! What a load needs, for people and programs.

use crate::format;
use evenkeel_core::size::{LeftOut, Needed, Objective, Prediction, Rival, Server, SizeError, Sizing};
use evenkeel_study::size::Sized;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Hours of a month, a twelfth of a year.
const HOURS: f64 = 730.0;
/// Statements that are named, the slowest of them.
const STATEMENTS_MOST: usize = 5;

/// What a server costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Money for an hour.
    pub per_hour: f64,
}

/// What was asked of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Name of the profile.
    pub study: &'a str,
    /// Requests per second of all servers together.
    pub rate: f64,
    /// Figure and time in seconds that it has to be within.
    pub objective: Option<(Objective, f64)>,
    /// What a server costs, where that was said.
    pub cost: Option<Cost>,
    /// Whether it is told beyond the trust limit.
    pub beyond_trust: bool,
}

/// What one server of the profile says.
#[derive(Debug)]
pub struct Answers<'a> {
    /// The server with its models.
    pub sized: &'a Sized,
    /// What it says, or why it says nothing.
    pub told: Result<Answered, SizeError>,
}

/// Servers, and what each does.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// How many there are, and what each of them does.
    pub needed: Needed,
    /// The mean response of each statement of a mix.
    pub statements: Vec<(String, Prediction)>,
}

/// The answer first, then what it is made of.
pub fn text(asked: &Asked<'_>, answers: &[Answers<'_>], hint: fn(&SizeError) -> &'static str) -> String {
    let mut text = String::new();
    for answer in answers {
        let label =
            if answer.sized.label.is_empty() { String::new() } else { format!("{}: ", answer.sized.label) };
        match (&answer.told, &answer.sized.server) {
            (Ok(told), Ok(server)) => {
                let _ = writeln!(text, "{label}{}", headline(asked, answer.sized, told));
                for line in lines(asked, answer.sized, server, told) {
                    let _ = writeln!(text, "  {line}");
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                let _ = writeln!(text, "{label}{error}\n  hint: {}", hint(error));
            }
        }
    }
    text
}

fn headline(asked: &Asked<'_>, sized: &Sized, told: &Answered) -> String {
    let Needed { servers, each, .. } = &told.needed;
    let wanted = asked.objective.map_or_else(String::new, |(figure, seconds)| {
        format!(" with {} within {}", word(figure), format::time(1e3 * seconds))
    });
    let share = if *servers > 1 { format!(", {} each", format::rate(each.rate)) } else { String::new() };
    format!(
        "{}{wanted} ({}): {}{share}",
        format::rate(asked.rate),
        sized.workload,
        format::counted(usize::try_from(*servers).unwrap_or(usize::MAX), "server")
    )
}

fn lines(asked: &Asked<'_>, sized: &Sized, server: &Server, told: &Answered) -> Vec<String> {
    let each = &told.needed.each;
    let mut response = format!("tau {}", interval(&each.tau));
    if let Some(p95) = &each.p95 {
        let _ = write!(response, ", p95 {}", interval(p95));
    }
    if let Some((busy, low, high)) = each.busy {
        let _ = write!(
            response,
            ", theta {:.0} % ({:.0} to {:.0})",
            100.0 * busy,
            100.0 * low,
            100.0 * high.min(1.0)
        );
    }
    let mut lines = vec![response];
    lines.extend(asked.cost.map(|cost| money(asked.rate, told.needed.servers, cost)));
    let (figure, by) = match (asked.objective, &server.p95, &each.p95) {
        (Some((Objective::P95, _)), Ok(sizing), Some(told)) => (sizing, told.kind),
        _ => (&server.tau, each.tau.kind),
    };
    lines.push(models(sized, figure, by));
    let limit = server.tau.basis().limit;
    lines.push(match (each.rate > limit * 1.000_1, told.needed.by_trust) {
        (true, _) => format!(
            "beyond the trust limit of {} for a server: the models say it, and no measurement does",
            format::rate(limit)
        ),
        (false, true) => format!("as many as keep each within the trust limit of {}", format::rate(limit)),
        (false, false) => format!("trusted up to {} for a server", format::rate(limit)),
    });
    let lowest = server.tau.points().first().map_or(0.0, |point| point.rate);
    if each.rate < lowest {
        lines.push(format!(
            "less than the lowest rate that was measured, {}: its response is told",
            format::rate(lowest)
        ));
    }
    lines.extend(statements(&told.statements));
    lines
}

fn statements(all: &[(String, Prediction)]) -> Vec<String> {
    let mut slowest: Vec<&(String, Prediction)> = all.iter().collect();
    slowest.sort_by(|one, other| other.1.response.total_cmp(&one.1.response));
    let line =
        |(name, told): &&(String, Prediction)| format!("{}: tau {}", format::plain(name), interval(told));
    slowest.iter().take(STATEMENTS_MOST).map(line).collect()
}

/// What the models of the figure that decides err by.
fn models(sized: &Sized, sizing: &Sizing, used: evenkeel_core::size::Kind) -> String {
    let error = |rival: &Rival| match rival.untold() {
        0 => format!("{} {}", rival.kind.word(), format::percent(100.0 * rival.error())),
        some => format!("{} cannot tell {some} of {}", rival.kind.word(), rival.left_out.len()),
    };
    let errors: Vec<String> = sizing.rivals.iter().map(error).collect();
    let chosen = match sizing.error() {
        error if error.is_finite() => {
            format!("; with the model chosen without it, {}", format::percent(100.0 * error))
        }
        _ => String::new(),
    };
    format!(
        "by the {} of {} trusted rates; each left out and told from the others, models err by: {}{chosen}",
        used.word(),
        sized.rates,
        errors.join(", ")
    )
}

fn money(rate: f64, servers: u64, cost: Cost) -> String {
    let hour = cost.per_hour * servers as f64;
    format!(
        "{} an hour, {} a month of {HOURS:.0} hours, {} for a million requests",
        format::significant(hour, 3),
        format::significant(hour * HOURS, 3),
        format::significant(million(rate, hour), 3)
    )
}

/// What a million requests cost.
fn million(rate: f64, hour: f64) -> f64 {
    hour * 1e6 / (3_600.0 * rate)
}

fn interval(told: &Prediction) -> String {
    format!(
        "{} ({} to {})",
        format::time(1e3 * told.response),
        format::time(1e3 * told.low),
        format::time(1e3 * told.high)
    )
}

fn word(objective: Objective) -> &'static str {
    match objective {
        Objective::Tau => "tau",
        Objective::P95 => "p95",
    }
}

/// The same for programs.
pub fn as_json(asked: &Asked<'_>, answers: &[Answers<'_>]) -> Value {
    json!({
        "study": asked.study,
        "rate_per_s": asked.rate,
        "objective": asked.objective.map(|(figure, seconds)| json!({ "figure": word(figure), "within_ms": 1e3 * seconds })),
        "beyond_trust": asked.beyond_trust,
        "answers": answers.iter().map(|answer| answer_json(asked, answer)).collect::<Vec<_>>(),
    })
}

fn answer_json(asked: &Asked<'_>, answer: &Answers<'_>) -> Value {
    let sized = answer.sized;
    let mut told = json!({
        "label": sized.label, "workload": sized.workload, "trusted_rates": sized.rates, "trust_limit_per_s": sized.limit.rate,
        "error": answer.told.as_ref().err().map(ToString::to_string),
        "models": sized.server.as_ref().map_or_else(|_| Vec::new(), |server| server.tau.rivals.iter().map(rival_json).collect()),
        "chosen": sized.server.as_ref().map_or(Value::Null, |server| chosen_json(&server.tau)),
    });
    if let Ok(p95) = sized
        .server
        .as_ref()
        .map_err(|error| *error)
        .and_then(|server| server.p95.as_ref().map_err(|error| *error))
    {
        told["p95_models"] = p95.rivals.iter().map(rival_json).collect();
        told["p95_chosen"] = chosen_json(p95);
    }
    if let Ok(Answered { needed, statements }) = &answer.told {
        let each = &needed.each;
        told["servers"] = json!(needed.servers);
        told["by_trust"] = json!(needed.by_trust);
        told["each"] = json!({
            "rate_per_s": each.rate, "tau_ms": prediction_json(&each.tau), "p95_ms": each.p95.as_ref().map(prediction_json),
            "theta_percent": each.busy.map(|(busy, low, high)| {
                json!({ "mean": 100.0 * busy, "low": 100.0 * low, "high": 100.0 * high })
            }),
        });
        let named =
            |(name, told): &(String, Prediction)| json!({ "name": name, "tau_ms": prediction_json(told) });
        told["statements"] = statements.iter().map(named).collect();
        told["cost"] = asked.cost.map_or(Value::Null, |cost| {
            let hour = cost.per_hour * needed.servers as f64;
            json!({ "per_hour": hour, "per_month": hour * HOURS, "per_million_requests": million(asked.rate, hour) })
        });
    }
    told
}

fn prediction_json(told: &Prediction) -> Value {
    json!({ "mean": 1e3 * told.response, "low": 1e3 * told.low, "high": 1e3 * told.high, "model": told.kind.word() })
}

/// What each rate is off by, told by the model that the others would have chosen.
fn chosen_json(sizing: &Sizing) -> Value {
    let error = sizing.error();
    json!({ "error_percent": error.is_finite().then_some(100.0 * error), "left_out": left_out_json(&sizing.chosen) })
}

fn left_out_json(left_out: &[LeftOut]) -> Vec<Value> {
    left_out
        .iter()
        .map(|left| {
            json!({
                "rate_per_s": left.measured.rate, "model": left.told.as_ref().map(|told| told.kind.word()), "measured_ms": 1e3 * left.measured.response,
                "se_share": left.measured.error, "told_ms": left.told.as_ref().map(prediction_json), "held": left.is_held(),
            })
        })
        .collect()
}

fn rival_json(rival: &Rival) -> Value {
    let error = rival.error();
    json!({
        "model": rival.kind.word(), "error_percent": error.is_finite().then_some(100.0 * error), "left_out": left_out_json(&rival.left_out),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;
    use evenkeel_study::profile::VirtualProfile;
    use evenkeel_study::size::sized;

    const ASKED: Asked<'static> = Asked {
        study: "virtual",
        rate: 400.0,
        objective: Some((Objective::P95, 0.03)),
        cost: Some(Cost { per_hour: 0.12 }),
        beyond_trust: false,
    };

    fn profiled() -> Sized {
        let profile = VirtualProfile::of_one_cpu(&[0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
        let (plan, runs) = profile.play(Seed(1)).unwrap();
        sized(&plan, &runs).remove(0)
    }

    fn answer(sized: &Sized) -> Answers<'_> {
        let server = sized.server.as_ref().unwrap();
        let needed = server.needed(ASKED.rate, ASKED.objective, false).unwrap();
        Answers { sized, told: Ok(Answered { needed, statements: Vec::new() }) }
    }

    #[test]
    fn a_size_is_servers_response_money_and_how_far_to_believe_it() {
        let sized = profiled();
        let text = text(&ASKED, &[answer(&sized)], |_| "");
        assert!(text.starts_with("400/s with p95 within 30.0 ms (virtual): "), "{text}");
        for part in ["servers, ", "tau ", "theta ", "an hour", "models err by: ", "trusted up to 175/s"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn programs_get_every_rate_that_was_left_out() {
        let sized = profiled();
        let told = as_json(&ASKED, &[answer(&sized)]);
        let one = &told["answers"][0];
        assert_eq!(one["models"][0]["left_out"].as_array().unwrap().len(), 6);
        let cost = one["cost"]["per_hour"].as_f64().unwrap();
        assert!((cost - 0.12 * one["servers"].as_f64().unwrap()).abs() < 1e-9);
        assert!(one["error"].is_null() && one["each"]["p95_ms"]["high"].as_f64().unwrap() <= 30.0, "{told}");
    }

    #[test]
    fn a_refusal_is_told_with_what_to_do() {
        let sized = profiled();
        let refused =
            Answers { sized: &sized, told: Err(SizeError::BeyondTrust { rate: 400.0, limit: 175.0 }) };
        let text = text(&ASKED, &[refused], |_| "name more servers");
        assert_eq!(
            text,
            "400.0 requests/s for a server lie beyond the trust limit of 175.0\n  hint: name more servers\n"
        );
    }
}
