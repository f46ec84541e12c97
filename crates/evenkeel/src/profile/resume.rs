//! A study that goes on where it was stopped or killed, and what has to be kept for that.

use super::flags::Args;
use super::spec;
use super::spec::Study;
use crate::cli::{Cli, modes};
use crate::config::fields::file_bytes;
use crate::console::Session;
use crate::failure::WithHint;
use crate::server::place;
use crate::study::stored::check_command;
use anyhow::{Context, Result, anyhow};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Subcommand, error};
use evenkeel_core::rates::RatePlan;
use evenkeel_study::profile::StudyError;
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::PlanFile;
use evenkeel_study::{profile as lab_study, store};
use std::path::Path;

/// Copy of the user's workload in the study's folder, so that a resumed study asks what it asked before.
pub const WORKLOAD_FILE: &str = "workload.toml";

/// A stopped study: its own command line again, with the seed, rates and cells of its plan; with more repeats where these are asked
/// for.
pub fn study(
    session: &Session,
    root: &Path,
    name: &str,
    repeats: Option<u32>,
) -> Result<(Study, StudyFolder)> {
    let path = store::resolve_begun(root, name)?;
    check_command(&path, lab_study::NAME)?;
    let folder = StudyFolder::resume(&path)?;
    let plan = extended(&folder, repeats)?;
    let args = read(plan.command.iter().map(String::as_str)).map_err(|error| match error.kind() {
        ErrorKind::InvalidSubcommand => anyhow!("{} is not a profile", plan.id),
        _ => anyhow!("the stored command of {} cannot be read: {error}", plan.id),
    })?;
    for (name, _) in args.targets.iter().filter_map(|text| place::named(text, &args.workload)) {
        lab_study::recover(&session.home, name, &plan.identity(), &session.stop, &mut drop)?;
    }
    let file = path.join(WORKLOAD_FILE);
    check_file(&plan, &file)?;
    let mut study = spec::study(session, &args, plan.command.clone(), file.exists().then_some(file))?;
    keep_repeats(&mut study, &plan);
    check(&plan, &study)?;
    Ok((study, folder))
}

/// The plan of a study that goes on, with as many repeats as are asked for.
/// Errors: it has as many or more, or its runs are chosen one by one.
pub fn extended(folder: &StudyFolder, repeats: Option<u32>) -> Result<PlanFile> {
    let mut plan = folder.plan()?;
    let Some(repeats) = repeats.filter(|repeats| *repeats != plan.settings.repeats) else { return Ok(plan) };
    if plan.settings.is_sequence() {
        return Err(anyhow!("{} chooses its own rates and runs, so that --repeats does not apply", plan.id))
            .hint("leave --repeats out: it continues for the same time again");
    }
    if repeats < plan.settings.repeats {
        return Err(anyhow!(
            "{} has {} runs of each cell, more than --repeats {repeats}",
            plan.id,
            plan.settings.repeats
        ))
        .hint("ask for more, or leave --repeats out");
    }
    plan.settings.repeats = repeats;
    folder.write("plan.json", &plan)?;
    Ok(plan)
}

/// A study that was given more repeats later has these, whatever its own flags say.
pub fn keep_repeats(study: &mut Study, plan: &PlanFile) {
    study.spec.repeats = study.spec.repeats.max(plan.settings.repeats);
}

/// Makes the folder of a new study, with a copy of the user's file that it is made of, so that it goes on with what it began with.
/// Errors: the folder cannot be made, or the file cannot be read.
pub fn create(root: &Path, mut plan: PlanFile, file: Option<(&Path, &str)>) -> Result<StudyFolder> {
    let Some((file, name)) = file else { return Ok(StudyFolder::create_for(root, &plan.id, &plan)?) };
    let bytes = file_bytes(file).with_context(|| format!("reading {}", file.display()))?;
    plan.file_crc32 = Some(crc32fast::hash(&bytes));
    Ok(StudyFolder::create_with(root, &plan.id, &plan, &[(name.to_owned(), bytes)])?)
}

/// Refuses to go on with a file that was edited: runs of two different questions would be averaged under one name.
pub fn check_file(stored: &PlanFile, file: &Path) -> Result<()> {
    stored.file_crc32.map_or(Ok(()), |kept| check_sum(kept, file))
}

/// Refuses a file whose sum is another one than it had when the study began.
pub fn check_sum(kept: u32, file: &Path) -> Result<()> {
    let now = file_bytes(file).with_context(|| format!("reading {}", file.display()))?;
    if crc32fast::hash(&now) == kept {
        return Ok(());
    }
    Err(StudyError::Differs(format!("{} has changed since", file.display())).into())
}

/// Refuses to go on with another study under the same name.
pub fn check(stored: &PlanFile, study: &Study) -> Result<()> {
    let fresh = lab_study::new_plan(&study.spec, stored.id.clone(), 0, study.targets.clone());
    match difference(stored, &fresh, &study.spec.rates) {
        None => Ok(()),
        Some(what) => Err(StudyError::Differs(what).into()),
    }
}

fn difference(stored: &PlanFile, now: &PlanFile, rates: &RatePlan) -> Option<String> {
    let labels = |plan: &PlanFile| plan.series.iter().map(|series| series.label.clone()).collect::<Vec<_>>();
    let asked = |plan: &PlanFile| plan.series.iter().map(|one| one.workload.clone()).collect::<Vec<_>>();
    match () {
        () if labels(stored) != labels(now) => {
            Some(format!("series {:?} instead of {:?}", labels(now), labels(stored)))
        }
        () if asked(stored) != asked(now) => {
            Some(format!("workloads {:?} instead of {:?}", asked(now), asked(stored)))
        }
        () if stored.seed != now.seed => Some(format!("seed {} instead of {}", now.seed, stored.seed)),
        () if stored.rate != now.rate => Some(format!("rates {:?} instead of {:?}", now.rate, stored.rate)),
        () if stored.settings != now.settings => {
            Some("settings, which follow from the command and this machine's CPUs".to_owned())
        }
        () if stored.cells.iter().any(|cell| cell.series >= stored.series.len()) => {
            Some("cells of a series that the plan does not have".to_owned())
        }
        () => stranger(stored, rates).map(|rate| format!("an unexpected cell at {rate} requests/s")),
    }
}

/// The rate of a cell that is none of a list. By a thousand-millionth it may differ: a number is read back as nearly as that.
fn stranger(stored: &PlanFile, rates: &RatePlan) -> Option<f64> {
    let RatePlan::List(listed) = rates else { return None };
    let is_listed = |rate: f64| listed.iter().any(|own| (own / rate - 1.0).abs() < 1e-9);
    stored.cells.iter().map(|cell| cell.rate_per_s).find(|rate| !is_listed(*rate))
}

/// The one command that such a line may name.
#[derive(Debug, Subcommand)]
enum Only {
    /// Measure what load a server carries
    Profile(Box<Args>),
}

/// The flags of a line, whose words are those behind the program's name.
/// Errors: words that are no flags of a profile, or another command.
pub fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> error::Result<Box<Args>> {
    let line = std::iter::once("evenkeel").chain(words);
    let Only::Profile(args) = Cli::from_arg_matches(&command().try_get_matches_from(line)?)?.command;
    Ok(args)
}

fn command() -> clap::Command {
    modes::profile(Cli::<Only>::command())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_study_goes_on_with_what_it_began_with_and_with_nothing_else() {
        let stored = fixture::demo().plan;
        let rates = RatePlan::Auto(6);
        assert_eq!(difference(&stored, &stored, &rates), None);
        let mut seed = stored.clone();
        seed.seed += 1;
        let mut workload = stored.clone();
        workload.series[0].workload = "another".to_owned();
        let rate = PlanFile { rate: "500,900".to_owned(), ..stored.clone() };
        for (now, what) in [(seed, "seed"), (workload, "workloads"), (rate, "rates")] {
            assert!(difference(&stored, &now, &rates).is_some_and(|told| told.contains(what)), "{what}");
        }
        let own: Vec<f64> = stored.cells.iter().map(|cell| cell.rate_per_s).collect();
        assert_eq!(difference(&stored, &stored, &RatePlan::List(own)), None);
        let told = difference(&stored, &stored, &RatePlan::List(vec![500.0, 900.0]));
        assert!(told.is_some_and(|told| told.contains("an unexpected cell")));
    }

    #[test]
    fn a_file_that_was_edited_in_the_folder_is_refused_and_one_of_an_older_plan_is_not_looked_at() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("orders.toml");
        std::fs::write(&file, "SELECT 1").unwrap();
        let folder = create(home.path(), fixture::demo().plan, Some((&file, WORKLOAD_FILE))).unwrap();
        let (plan, copy) = (folder.plan().unwrap(), folder.path().join(WORKLOAD_FILE));
        check_file(&plan, &copy).unwrap();
        std::fs::write(&copy, "SELECT 2").unwrap();
        let error = check_file(&plan, &copy).unwrap_err();
        assert!(error.to_string().contains("workload.toml has changed since"), "{error}");
        check_file(&PlanFile { file_crc32: None, ..plan }, &copy).unwrap();
    }
}
