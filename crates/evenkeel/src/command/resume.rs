//! A study that goes on where it was stopped or killed.

use super::profile::WORKLOAD_FILE;
use super::spec::{self, Study};
use super::{Session, place};
use crate::cli::{Cli, Command};
use crate::failure::WithHint;
use anyhow::{Result, anyhow, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, Parser};
use evenkeel_study::profile::{self as lab_study, StudyError};
use evenkeel_study::store::format::{PlanFile, ResetRecord, SettingsRecord};
use evenkeel_study::store::{self, StudyFolder};
use std::path::Path;

/// A stopped study: its own command line again, with the seed, rates and cells of its plan.
pub fn study(session: &Session, root: &Path, name: &str) -> Result<(Study, StudyFolder)> {
    check_alone()?;
    let path = store::resolve(root, name)?;
    let folder = StudyFolder::resume(&path)?;
    let plan = folder.plan()?;
    let line = std::iter::once("evenkeel".to_owned()).chain(plan.command.iter().cloned());
    let cli = Cli::try_parse_from(line)
        .map_err(|error| anyhow!("the stored command of {} cannot be read: {error}", plan.id))?;
    let Command::Profile(args) = cli.command else { bail!("{} is no profile", plan.id) };
    for (name, _) in args.targets.iter().filter_map(|text| place::named(text, &args.workload)) {
        lab_study::recover(&session.home, name, &plan.id, &session.stop, &mut drop)?;
    }
    let file = path.join(WORKLOAD_FILE);
    let study = spec::study(session, &args, plan.command.clone(), file.exists().then_some(file))?;
    let fresh =
        lab_study::new_plan(&study.spec, plan.id.clone(), 0, study.settings.clone(), study.targets.clone());
    same(&plan, &fresh)?;
    Ok((study, folder))
}

/// Refuses to go on with another study under the same name.
pub(super) fn same(stored: &PlanFile, now: &PlanFile) -> Result<()> {
    let labels = |plan: &PlanFile| plan.series.iter().map(|series| series.label.clone()).collect::<Vec<_>>();
    let differs = |what: String| Err(StudyError::Differs(what).into());
    if labels(stored) != labels(now) {
        return differs(format!("series {:?} instead of {:?}", labels(now), labels(stored)));
    }
    if !fits(&stored.settings, &now.settings) {
        return differs("settings, which follow from the command and this machine's CPUs".to_owned());
    }
    Ok(())
}

/// Whether a study may go on with these settings. Older plans say "restart" also where data was
/// restored.
fn fits(stored: &SettingsRecord, now: &SettingsRecord) -> bool {
    let mut stored = stored.clone();
    if (stored.reset, now.reset) == (ResetRecord::Restart, ResetRecord::Restore) {
        stored.reset = now.reset;
    }
    stored == *now
}

/// What may stand beside `--resume`: where to look, and how to show it. All else is in the plan.
const BESIDE: [&str; 5] = ["resume", "home", "output", "quiet", "json"];

/// Refuses flags that the stored study has already, which would be dropped silently.
fn check_alone() -> Result<()> {
    let line = Cli::command().try_get_matches()?;
    let given = line.subcommand_matches("profile").map(given).unwrap_or_default();
    if given.is_empty() {
        return Ok(());
    }
    let given = given.join(" and ");
    Err(anyhow!("--resume goes on with the flags the study began with, and {given} would have no effect"))
        .hint("leave it out, or start a new study without --resume")
}

/// Flags and positional arguments on the command line besides those that may be there.
fn given(matches: &ArgMatches) -> Vec<String> {
    let command = Cli::command();
    let arguments = command.find_subcommand("profile").into_iter().flat_map(clap::Command::get_arguments);
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    arguments
        .filter(|argument| {
            !BESIDE.contains(&argument.get_id().as_str()) && is_given(argument.get_id().as_str())
        })
        .map(|argument| argument.get_long().map_or_else(|| "a URL".to_owned(), |long| format!("--{long}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given_in(line: &str) -> Vec<String> {
        let matches = Cli::command().get_matches_from(line.split(' '));
        given(matches.subcommand_matches("profile").unwrap())
    }

    #[test]
    fn only_where_and_how_to_show_may_stand_beside() {
        let line = "evenkeel --home /h profile --resume last --output /o --json --quiet";
        assert_eq!(given_in(line), Vec::<String>::new());
        let line = "evenkeel profile --resume last --repeats 3 -r 10 mysql://a@b/c --no-reset --ebs 5";
        assert_eq!(given_in(line), ["a URL", "--rate", "--repeats", "--no-reset", "--ebs"]);
    }
}
