//! `evenkeel compare`: is the second study, or cell, better than the first?

use super::Session;
use crate::config::units;
use crate::failure::{FINDING, WithHint};
use crate::format;
use crate::out;
use crate::study::stored::tell_damage;
use anyhow::{Result, anyhow};
use evenkeel_core::experiment::{Margin, Verdict};
use evenkeel_core::statistics::Estimate;
use evenkeel_study::compare::{self, CellName, Compared, Condition, Figure, Side};
use evenkeel_study::store::{self, StudyFolder};
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
interval lies inside the margin, better or worse where it leaves out 1, and else not known yet, with how many more runs of
each would most likely tell. Throughput is that of overload, where a server does all it can; response times are those at
the rates that both studies have. Two studies are measured at two times: what drifts in between, as neighbours do, is a
part of their difference.

Exit codes: 0 the same, better, or not known yet; 1 worse, or a study is damaged; 2 nothing can be compared.")]
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
/// A study cannot be read, or the two have nothing in common that could be compared.
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
    let is_bad = compared.comparison.verdict == Verdict::Worse || first_is_damaged || second_is_damaged;
    Ok(if is_bad { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

fn side(session: &Session, args: &Args, name: &str) -> Result<(Side, bool)> {
    let name = CellName::parse(name);
    let folder = StudyFolder::open(&store::resolve(&session.runs_dir(args.output.as_ref()), &name.study)?)?;
    let is_damaged = tell_damage(&folder)?;
    let side = Side::read(&folder, name.cell)?.checked();
    let side = side.map_err(|error| {
        let hint = error.hint().unwrap_or_default();
        anyhow::Error::from(error).context(crate::failure::Hint(hint))
    })?;
    Ok((side, is_damaged))
}

/// The verdict first, then what it is made of.
pub(super) fn text(first: &str, second: &str, compared: &Compared) -> String {
    let what = match (compared.figure, compared.conditions.first()) {
        (Figure::Throughput, Some(Condition { rate_per_s: None, .. })) => "throughput in overload".to_owned(),
        (figure, _) => figure.name().to_owned(),
    };
    let Compared { comparison, margin, .. } = compared;
    let mut text = format!(
        "{second} against {first}, {what}: {} of it: {}\n",
        format::ratio(&comparison.ratio),
        verdict(comparison.verdict, margin.share())
    );
    for condition in &compared.conditions {
        let _ = writeln!(text, "  {}", line(condition, compared.figure));
    }
    for unlike in &compared.unlike {
        let _ = writeln!(text, "  not alike: {unlike}");
    }
    for left in &compared.left_out {
        let _ = writeln!(text, "  left out: {left}");
    }
    text
}

fn line(condition: &Condition, figure: Figure) -> String {
    let rate = condition.rate_per_s.map(|rate| format!("{} requests/s", format::short(rate)));
    let places: Vec<String> = [Some(condition.label.clone()).filter(|label| !label.is_empty()), rate]
        .into_iter()
        .flatten()
        .collect();
    let side = |values: &[f64]| {
        let unit = if figure == Figure::Throughput { "/s" } else { " ms" };
        let mean = Estimate::of(values).map_or(f64::NAN, |estimate| estimate.mean);
        format!("{}{unit} over {}", format::significant(mean, 3), format::counted(values.len(), "run"))
    };
    let place = if places.is_empty() { String::new() } else { places.join(", ") + ": " };
    format!("{place}{}, then {}", side(&condition.pair.first), side(&condition.pair.second))
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

pub(super) fn as_json(first: &str, second: &str, compared: &Compared) -> Value {
    let Compared { comparison, conditions, .. } = compared;
    let (word, runs_more) = match comparison.verdict {
        Verdict::Same => ("same", None),
        Verdict::Better => ("better", None),
        Verdict::Worse => ("worse", None),
        Verdict::NotKnown { runs_more } => ("not known", runs_more),
    };
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|condition| {
            json!({
                "label": condition.label, "rate_per_s": condition.rate_per_s,
                "first": condition.pair.first, "second": condition.pair.second,
            })
        })
        .collect();
    json!({
        "first": first, "second": second, "of": compared.figure.name(), "margin": compared.margin.share(),
        "ratio": comparison.ratio.ratio, "low": comparison.ratio.interval.map(|(low, _)| low),
        "high": comparison.ratio.interval.map(|(_, high)| high), "verdict": word, "runs_more": runs_more,
        "conditions": conditions, "left_out": compared.left_out, "unlike": compared.unlike,
    })
}
