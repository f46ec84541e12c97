//! `evenkeel compare`: is the second study better than the first?

use super::Session;
use crate::config::units;
use crate::failure::{FINDING, WRONG_USE, WithHint};
use crate::out;
use crate::study::comparison;
use crate::study::stored;
use anyhow::{Result, anyhow};
use evenkeel_core::experiment::{Margin, Verdict};
use evenkeel_study::compare::{self, Criterion, Side};
use evenkeel_study::published::kind as published_kind;
use evenkeel_study::store::StudyFolder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel compare before after                        two studies by their names (`profile --name before`)
  evenkeel compare before after --of p95               are answers slower at the rates that both have?
  evenkeel compare before after --margin 2% --json     for CI: exit code 1 where it is worse

The first line is the verdict on the second study, with its figure as a multiple of the first's and the 95 % interval. It is the same \
if the whole interval lies within the margin, and better or worse if the 97.5 % interval excludes 1. If it is too close to tell, the \
commands that would most likely decide it follow, unless they take more than an hour. Each statement of a mix has its own verdict.

--of chooses the figure: throughput in overload, or by what both carry at least and at most; response (the mean) or p95 at the rates \
that both have; cpu, the server's CPU time for a request, at rates within 10 % of one another. A rate that one side carried in all \
runs and the other in none decides the verdict; so does one rate that is worse. Two studies are measured at different times: \
whatever changed between them, such as the neighbours, is part of the difference.

Exit codes: 0 the same, better, or too close to tell; 1 worse (without --of: in any figure); 2 nothing can be compared, or a study is damaged.")]
pub struct Args {
    /// The study before the change (its folder, its name or a prefix of it, or `last`)
    #[arg(value_name = "A")]
    pub first: String,
    /// The study after the change, named the same way
    #[arg(value_name = "B")]
    pub second: String,
    /// What the verdict is about: throughput, response, p95 or cpu [default: the first of throughput, response and cpu that both studies have]
    #[arg(long, value_name = "FIGURE")]
    pub of: Option<Criterion>,
    /// Largest difference at which two figures count as the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin)]
    pub margin: Margin,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

fn margin(text: &str) -> Result<Margin, String> {
    units::margin(text).map_err(|error| error.to_string())
}

/// Compares and shows what came of it.
/// Errors: a study cannot be read or is no profile, or the two have nothing in common that could be compared.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let (first, first_is_damaged) = side(session, args, &args.first)?;
    let (second, second_is_damaged) = side(session, args, &args.second)?;
    if first.name() == second.name() {
        return Err(anyhow!("both names are of the study {}", first.name()))
            .hint("name two studies; `evenkeel runs` lists all of them");
    }
    let names = [args.first.as_str(), args.second.as_str()];
    let compared = comparison::of_two([&first, &second], names, args.of, args.margin);
    let (told, verdict) = compared.map_err(|error| {
        // It may be why there is nothing to compare.
        let unfinished = compare::unfinished(&first, &second);
        unfinished.iter().for_each(|caveat| out::tell(&format!("unfinished: {caveat}\n")));
        let unlike = compare::unlike(&first, &second);
        unlike.iter().for_each(|what| out::tell(&format!("they differ: {what}\n")));
        let is_other = first.workloads() != second.workloads();
        let hint = if is_other { "compare profiles of one workload".to_owned() } else { error.hint() };
        let hint = crate::failure::Hint(hint);
        anyhow::Error::from(error).context(hint)
    })?;
    out::answer(args.json, &told.json, || out::write(&told.text()))?;
    Ok(match verdict {
        // A pipeline must not take a damaged study for a worse one.
        _ if first_is_damaged || second_is_damaged => ExitCode::from(WRONG_USE),
        Verdict::Worse => ExitCode::from(FINDING),
        _ => ExitCode::SUCCESS,
    })
}

fn side(session: &Session, args: &Args, name: &str) -> Result<(Side, bool)> {
    let path = stored::path(session, args.output.as_ref(), name)?;
    if let Some(kind) = published_kind(&path)? {
        return Err(anyhow!(
            "{name} is a study of {kind}, and `compare` takes profiles and studies of files"
        ))
        .hint(format!("`evenkeel runs {name}` shows what it found"));
    }
    let folder = StudyFolder::open(&path)?;
    Ok((Side::read(&folder)?, stored::tell_damage(&folder)?))
}
