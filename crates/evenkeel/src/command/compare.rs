//! `evenkeel compare`: is the second study, or cell, better than the first?

use super::Session;
use crate::config::units;
use crate::failure::{FINDING, WRONG_USE, WithHint};
use crate::format;
use crate::out;
use crate::study::stored;
use anyhow::{Result, anyhow};
use evenkeel_core::experiment::{self, Margin, Verdict};
use evenkeel_core::statistics::Estimate;
use evenkeel_study::compare::{self, CellName, Compared, Condition, Figure, Parted, Side};
use evenkeel_study::published::kind as published_kind;
use evenkeel_study::store::StudyFolder;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel compare 20261121-2105 last                  does the server carry more than before?
  evenkeel compare before after --of p95               are answers slower at the rates that both have?
  evenkeel compare last:c03 last:c07 --of tau          two cells, numbered as in the report
  evenkeel compare before after --margin 2% --json     for CI: exit code 1 where it is worse

The second is held against the first: its figure as a multiple, with the 95 % interval. It is the same where the whole
interval lies inside the margin, better or worse where even the 97.5 % interval leaves out 1 (so that whoever makes the runs
that are asked for, and asks again, is misled in 5 % of cases at most), and else not known yet, with how many more runs of each
would most likely tell. Throughput is that of overload, where a server does all it can; response times are those at the rates
that both studies have. A rate that one side carried in all runs and the other in none decides by itself, and so does a rate
that is worse whatever the others are. Two studies are measured at two times: what drifts in between, as neighbours do, is a
part of their difference.

Exit codes: 0 the same, better, or not known yet; 1 worse; 2 nothing can be compared, or a study is damaged.")]
pub struct Args {
    /// What it was: a study (its folder, its name or the start of it, or `last`), or a cell of one as STUDY:c03
    #[arg(value_name = "A")]
    pub first: String,
    /// What it is now, named likewise
    #[arg(value_name = "B")]
    pub second: String,
    /// What is compared: throughput, tau or p95
    #[arg(long, value_name = "FIGURE", default_value = "throughput", value_parser = figure)]
    pub of: Figure,
    /// Up to which difference two figures count as the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin)]
    pub margin: Margin,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

fn figure(text: &str) -> Result<Figure, String> {
    Figure::from_name(text).ok_or_else(|| "throughput, tau and p95 can be compared".to_owned())
}

fn margin(text: &str) -> Result<Margin, String> {
    units::margin(text).map_err(|error| error.to_string())
}

/// Compares and shows what came of it.
///
/// # Errors
/// A study cannot be read or is no profile, or the two have nothing in common that could be compared.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let (first, first_is_damaged) = side(session, args, &args.first)?;
    let (second, second_is_damaged) = side(session, args, &args.second)?;
    if CellName::parse(&args.first).cell.is_none() && first.name() == second.name() {
        return Err(anyhow!("both names are of the study {}", first.name()))
            .hint("name two studies, or two cells as last:c03; `evenkeel runs` lists all studies");
    }
    let compared = compare::compare(&first, &second, args.of, args.margin);
    let compared = compared.map_err(|error| match error.hint() {
        Some(hint) => anyhow::Error::from(error).context(crate::failure::Hint(hint)),
        None => error.into(),
    })?;
    match args.json {
        true => out::line(serde_json::to_string_pretty(&as_json(first.name(), second.name(), &compared))?)?,
        false => out::write(&text(&args.first, &args.second, &compared))?,
    }
    Ok(exit_code(compared.verdict, first_is_damaged || second_is_damaged))
}

/// A pipeline must not take a damaged study for a worse one.
fn exit_code(verdict: Verdict, is_damaged: bool) -> ExitCode {
    match verdict {
        _ if is_damaged => ExitCode::from(WRONG_USE),
        Verdict::Worse => ExitCode::from(FINDING),
        _ => ExitCode::SUCCESS,
    }
}

fn side(session: &Session, args: &Args, name: &str) -> Result<(Side, bool)> {
    let name = CellName::parse(name);
    let path = stored::path(session, args.output.as_ref(), &name.study)?;
    if let Some(kind) = published_kind(&path)? {
        return Err(anyhow!(
            "{} is the published study of {kind}, and `compare` takes profiles and studies of files",
            name.study
        ))
        .hint(format!(
            "`evenkeel runs {}` shows what it found, beside the publication's figures",
            name.study
        ));
    }
    let folder = StudyFolder::open(&path)?;
    let side = Side::read(&folder, name.cell)?.checked();
    let side = side.map_err(|error| {
        let hint = error.hint().unwrap_or_default();
        anyhow::Error::from(error).context(crate::failure::Hint(hint))
    })?;
    Ok((side, stored::tell_damage(&folder)?))
}

/// The verdict first, then what it is made of.
pub(super) fn text(first: &str, second: &str, compared: &Compared) -> String {
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
    for line in conditions.chain(parted).chain(nearly(compared)).chain(unlike).chain(left) {
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

pub(super) fn as_json(first: &str, second: &str, compared: &Compared) -> Value {
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
        "left_out": compared.left_out, "unlike": compared.unlike,
    })
}
