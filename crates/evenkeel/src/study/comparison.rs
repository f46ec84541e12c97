//! What a comparison of two studies, cells or levels says, for people and programs.

use crate::format;
use evenkeel_core::experiment::{self, Verdict};
use evenkeel_core::statistics::Estimate;
use evenkeel_study::compare::{Compared, Condition, Figure, Parted};
use evenkeel_study::store::Caveats;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The verdict first, then what it is made of.
pub fn text(first: &str, second: &str, compared: &Compared) -> String {
    let what = match (compared.figure, compared.conditions.first()) {
        (Figure::Throughput, Some(Condition { rate_per_s: None, .. })) => "throughput in overload".to_owned(),
        (figure, _) => figure.name().to_owned(),
    };
    let ratio = compared.comparison.as_ref().map(|found| format!("{} of it: ", format::ratio(&found.ratio)));
    let mut text = format!(
        "{second} against {first}, {what}: {}{}{}\n",
        ratio.unwrap_or_default(),
        verdict(compared.verdict, compared.margin.share()),
        at(&places(compared))
    );
    let conditions = compared.conditions.iter().map(|condition| line(condition, compared.figure));
    let parted = compared.parted.iter().map(parted_line);
    let unlike = compared.unlike.iter().map(|unlike| format!("not alike: {unlike}"));
    let left = compared.left_out.iter().map(|left| format!("left out: {left}"));
    let unfinished = compared.caveats.iter().map(|caveat| format!("unfinished: {caveat}"));
    let lines = conditions.chain(parted).chain(nearly(compared)).chain(unlike).chain(left).chain(unfinished);
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Why it is not known although the interval that is shown leaves out 1.
fn nearly(compared: &Compared) -> Option<String> {
    let comparison = compared.comparison.as_ref()?;
    let is_open = matches!(compared.verdict, Verdict::NotKnown { .. }) && comparison.ratio.differs();
    is_open.then(|| {
        let confidence = format::percent(100.0 * comparison.confidence);
        format!("the {confidence} interval decides, for whoever asks twice, and does not leave out 1")
    })
}

/// Where it is worse, or better, whatever it is elsewhere.
fn places(compared: &Compared) -> Vec<String> {
    let wanted = match compared.verdict {
        Verdict::Worse => Some(experiment::Side::Worse),
        Verdict::Better => Some(experiment::Side::Better),
        _ => return Vec::new(),
    };
    let conditions = compared.conditions.iter().filter(|condition| condition.by_itself == wanted);
    let conditions = conditions.map(|condition| place(&condition.label, condition.rate_per_s));
    let parted = compared.parted.iter().filter(|parted| Some(parted.side) == wanted);
    let parted = parted.map(|parted| place(&parted.label, parted.rate_per_s));
    conditions.chain(parted).filter(|place| !place.is_empty()).collect()
}

fn at(places: &[String]) -> String {
    if places.is_empty() { String::new() } else { format!(" at {}", places.join(" and ")) }
}

/// Series and rate, as far as there are several.
fn place(label: &str, rate_per_s: Option<f64>) -> String {
    let rate = rate_per_s.map(|rate| format!("{} requests/s", format::short(rate)));
    let label = Some(label.to_owned()).filter(|label| !label.is_empty());
    [label, rate].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn parted_line(parted: &Parted) -> String {
    let place = Some(place(&parted.label, parted.rate_per_s)).filter(|place| !place.is_empty());
    let (first, second) = parted.runs;
    let runs = |count: usize| format::counted(count, "run");
    let words = match parted.side {
        experiment::Side::Worse => {
            format!("carried in all of {}, then in none of {}", runs(first), runs(second))
        }
        experiment::Side::Better => {
            format!("carried in none of {}, then in all of {}", runs(first), runs(second))
        }
    };
    place.map_or_else(|| words.clone(), |place| format!("{place}: {words}"))
}

fn line(condition: &Condition, figure: Figure) -> String {
    let side = |values: &[f64]| {
        let unit = if figure == Figure::Throughput { "/s" } else { " ms" };
        let mean = Estimate::of(values).map_or(f64::NAN, |estimate| estimate.mean);
        format!("{}{unit} over {}", format::significant(mean, 3), format::counted(values.len(), "run"))
    };
    let place = place(&condition.label, condition.rate_per_s);
    let place = if place.is_empty() { place } else { place + ": " };
    let by_itself =
        condition.by_itself.map_or_else(String::new, |side| format!(", {} by itself", word(side)));
    format!("{place}{}, then {}{by_itself}", side(&condition.pair.first), side(&condition.pair.second))
}

fn verdict(verdict: Verdict, margin: f64) -> String {
    let margin = format::percent(100.0 * margin);
    match verdict {
        Verdict::Same => format!("the same, within {margin}"),
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::NotKnown { runs_more: Some(more) } => {
            format!(
                "not known yet; {} more of each would most likely tell",
                format::counted(more as usize, "run")
            )
        }
        Verdict::NotKnown { runs_more: None } => {
            "not known yet, and these runs do not tell how many more it takes".to_owned()
        }
    }
}

fn word(side: experiment::Side) -> &'static str {
    match side {
        experiment::Side::Better => "better",
        experiment::Side::Worse => "worse",
    }
}

/// The same for programs.
pub fn as_json(first: &str, second: &str, compared: &Compared) -> Value {
    let (verdict, runs_more) = match compared.verdict {
        Verdict::Same => ("same", None),
        Verdict::Better => ("better", None),
        Verdict::Worse => ("worse", None),
        Verdict::NotKnown { runs_more } => ("not known", runs_more),
    };
    let condition = |condition: &Condition| {
        json!({
            "label": condition.label, "rate_per_s": condition.rate_per_s, "by_itself": condition.by_itself.map(word),
            "first": condition.pair.first, "second": condition.pair.second,
        })
    };
    let parted = |parted: &Parted| {
        json!({
            "label": parted.label, "rate_per_s": parted.rate_per_s, "side": word(parted.side),
            "runs_first": parted.runs.0, "runs_second": parted.runs.1,
        })
    };
    let comparison = compared.comparison.as_ref();
    let interval = comparison.and_then(|found| found.ratio.interval);
    json!({
        "first": first, "second": second, "of": compared.figure.name(), "margin": compared.margin.share(),
        "ratio": comparison.map(|found| found.ratio.ratio), "low": interval.map(|(low, _)| low),
        "high": interval.map(|(_, high)| high), "confidence_to_differ": comparison.map(|found| found.confidence),
        "verdict": verdict, "at": places(compared), "runs_more": runs_more,
        "conditions": compared.conditions.iter().map(condition).collect::<Vec<_>>(),
        "parted": compared.parted.iter().map(parted).collect::<Vec<_>>(),
        "left_out": compared.left_out, "unlike": compared.unlike, "caveats": Caveats(&compared.caveats),
    })
}
