//! `evenkeel compare`: is the second study, or cell, better than the first?

use super::Session;
use crate::config::units;
use crate::failure::{FINDING, WRONG_USE, WithHint};
use crate::out;
use crate::study::comparison::{as_json, text};
use crate::study::stored;
use anyhow::{Result, anyhow};
use evenkeel_core::experiment::{Margin, Verdict};
use evenkeel_study::compare::{self, CellName, Figure, Side};
use evenkeel_study::published::kind as published_kind;
use evenkeel_study::store::StudyFolder;
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
    let compared = compared.map_err(|error| {
        // It may be why there is nothing to compare.
        let unfinished = compare::unfinished(&first, &second);
        unfinished.iter().for_each(|caveat| out::tell(&format!("unfinished: {caveat}\n")));
        match error.hint() {
            Some(hint) => anyhow::Error::from(error).context(crate::failure::Hint(hint)),
            None => error.into(),
        }
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
