//! `evenkeel runs`: what was measured.

use super::Session;
use crate::failure::WithHint;
use crate::published::{Published, results, table as published_table};
use crate::study::goes_on;
use crate::study::published;
use crate::study::stored::{self, damage, tell_damage};
use crate::table::{ListedPublished, ListedStudy};
use crate::{export, failure, out, table};
use anyhow::{Result, anyhow};
use evenkeel_study::profile;
use evenkeel_study::published::stored as stored_published;
use evenkeel_study::store::{self, Listed, StudyFolder};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel runs`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Examples:\n  evenkeel runs\n  evenkeel runs last\n  evenkeel runs --json\n  evenkeel runs delete before after\n\n\
Exit codes: 0 all is well; 1 a study or a file beside a run is damaged (it is named); 2 the study asked for cannot be read."
)]
pub struct Args {
    /// Show one study as a table: its folder, its name or a prefix of it, or `last`
    pub study: Option<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    /// Show all columns, even if the table is wider than 100 characters, and all doubts in full
    #[arg(long, requires = "study", conflicts_with = "json")]
    pub wide: bool,
    /// What else is done with studies
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What is done with studies besides showing them.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Delete studies with all of their runs, for good
    #[command(after_help = "Examples:\n  evenkeel runs delete before after\n\n\
It does not ask. If a study does not exist or is being measured, none of them is deleted. A folder without a readable plan.json\n\
of Evenkeel is not deleted.\n\n\
Exit codes: 0 all are deleted; 2 one does not exist, has no such plan.json, is being measured, or cannot be removed.")]
    Delete(DeleteArgs),
}

/// Flags of `evenkeel runs delete`.
#[derive(Debug, clap::Args)]
pub struct DeleteArgs {
    /// Full names of studies, as `evenkeel runs` lists them
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Lists studies, shows one, or deletes some.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match (&args.action, &args.study) {
        (Some(Action::Delete(args)), _) => delete(session, args),
        (None, Some(name)) => show(session, args, name),
        (None, None) => list(session, args),
    }
}

/// All are locked before the first is deleted.
fn delete(session: &Session, args: &DeleteArgs) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    let mut names: Vec<&String> = args.names.iter().collect();
    names.sort();
    names.dedup();
    let found: Result<Vec<StudyFolder>, _> =
        names.iter().map(|name| StudyFolder::to_delete(&root, name)).collect();
    for folder in found? {
        let path = folder.path().to_owned();
        folder.delete()?;
        out::line(format!("deleted {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(session: &Session, args: &Args, name: &str) -> Result<ExitCode> {
    let json = args.json;
    let path = stored::path(session, args.output.as_ref(), name)?;
    if let Some((plan, runs)) = stored_published(&path)? {
        let shown = |view: &Published<'_>| match json {
            true => format!("{:#}\n", results(view)),
            false => published_table(view, super::look()),
        };
        out::painted(&published::view(session, &plan, &runs, shown)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = StudyFolder::open(&path)?;
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    let summary = profile::summarise(&plan, &runs);
    if json {
        out::write(&export::json(&plan, &folder.manifest()?, &summary, &runs)?)?;
    } else {
        out::painted(&table::profile(&plan, &summary, &runs, super::look(), args.wide))?;
    }
    if let Some(command) = goes_on::command(&path).filter(|_| !summary.complete && !json) {
        out::line(format!("\nunfinished; continue it with `{command}`"))?;
    }
    let is_damaged = tell_damage(&folder)?;
    Ok(if is_damaged { ExitCode::from(failure::FINDING) } else { ExitCode::SUCCESS })
}

/// One that cannot be read is listed with what is wrong with it, and makes the exit code that of a finding.
fn list(session: &Session, args: &Args) -> Result<ExitCode> {
    if let Some(root) = args.output.as_ref().filter(|root| !root.exists()) {
        return Err(anyhow!("there is no folder {}", root.display()))
            .hint("name one that holds studies by --output, or leave it out for those of the home");
    }
    let folders = store::list(&session.runs_dir(args.output.as_ref()))?;
    let studies: Vec<ListedStudy> = folders.into_iter().map(|listed| read(session, listed)).collect();
    out::answer(args.json, &studies, || out::painted(&table::runs(&studies, super::look())))?;
    let is_damaged = studies.iter().any(|study| study.damaged.is_some());
    Ok(if is_damaged { ExitCode::from(failure::FINDING) } else { ExitCode::SUCCESS })
}

fn read(session: &Session, listed: Listed) -> ListedStudy {
    let Listed { name, folder } = listed;
    let mut study = ListedStudy {
        study: name,
        plan: None,
        summary: None,
        published: None,
        damaged: None,
        is_running: false,
    };
    if let Ok(folder) = &folder {
        study.is_running = folder.is_measured();
        match of_published(session, folder) {
            Ok(None) => {}
            Ok(found) => {
                study.published = found;
                return study;
            }
            Err(error) => {
                study.damaged = Some(table::Damage { text: failure::line(&error), hint: None });
                return study;
            }
        }
    }
    let outcome = folder.and_then(|folder| {
        let plan = study.plan.insert(folder.plan()?);
        let runs = folder.runs()?;
        study.summary = (!runs.is_empty()).then(|| profile::summarise(plan, &runs));
        folder.missing()
    });
    study.damaged = damage(&outcome.unwrap_or_else(|error| vec![error]));
    study
}

/// What a published study came to; `None` of a profile.
fn of_published(session: &Session, folder: &StudyFolder) -> Result<Option<ListedPublished>> {
    let Some((plan, runs)) = stored_published(folder.path())? else { return Ok(None) };
    let said = published::view(session, &plan, &runs, |view| view.said.clone())?;
    // A part that was not wanted has no runs, and is not missing; what is, the study says itself.
    let begun = plan.parts.iter().filter(|part| runs.iter().any(|run| run.part == part.name));
    let begun: usize = begun.map(evenkeel_study::harness::Part::runs).sum();
    let unfinished = said.caveats.iter().find_map(|caveat| caveat.evidence.get("runs_planned").copied());
    Ok(Some(ListedPublished {
        kind: plan.kind,
        created_unix_s: plan.created_unix_s,
        runs: runs.len(),
        planned: unfinished.map_or(begun, |planned| planned as usize),
        headline: said.headline,
    }))
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use evenkeel_study::profile::summarise;
    use evenkeel_study::store::format::{Caveat, Severity, SweepRecord, Verdict};

    #[test]
    fn a_study_that_ended_before_its_first_run_has_ended_and_was_not_stopped() {
        let mut fixture = fixture::demo();
        fixture.plan.settings.within_s = Some(1.0);
        fixture.plan.cells.clear();
        assert!(!summarise(&fixture.plan, &[]).complete, "it goes on");
        fixture.plan.ended = Some("the time is up".to_owned());
        let summary = summarise(&fixture.plan, &[]);
        assert!(summary.complete && summary.headlines.iter().all(|one| !one.bounds.is_something()));
    }

    #[test]
    fn a_sweep_of_series_that_the_plan_does_not_have_is_told_without_their_name() {
        let mut fixture = fixture::factors();
        for series in [vec![], vec![99]] {
            fixture.plan.sweeps = vec![SweepRecord {
                series,
                reason: "the response does not settle".to_owned(),
                not_measured_per_s: vec![300.0],
            }];
            fixture.plan.settings.repeats = u32::MAX;
            let summary = summarise(&fixture.plan, &fixture.runs);
            assert!(
                summary.caveats.iter().any(|caveat| caveat.text.contains("300")),
                "{:?}",
                summary.caveats
            );
        }
    }

    #[test]
    fn a_rate_at_which_requests_fail_is_never_trusted() {
        let mut fixture = fixture::demo();
        let before = summarise(&fixture.plan, &fixture.runs).headlines[0].trust_theta_percent.unwrap();
        let lowest = fixture.plan.cells.iter().map(|cell| cell.rate_per_s).fold(f64::MAX, f64::min);
        let spared: Vec<u32> =
            fixture.plan.cells.iter().filter(|cell| cell.rate_per_s == lowest).map(|cell| cell.id).collect();
        for run in fixture.runs.iter_mut().filter(|run| !spared.contains(&run.cell)) {
            let failed = run.counts.completed / 10;
            run.counts.completed -= failed;
            run.counts.failed.insert(1205, failed);
        }
        let after = &summarise(&fixture.plan, &fixture.runs).headlines[0];
        assert!(after.trust_theta_percent.unwrap() < before);
        assert!(after.trust_reason.contains("got no answer"), "{}", after.trust_reason);
    }

    #[test]
    fn rates_that_are_not_valid_or_too_short_to_tell_carry_nothing() {
        let mut fixture = fixture::demo();
        fixture.runs.iter_mut().for_each(|run| run.stability = Verdict::TooShort);
        let short = summarise(&fixture.plan, &fixture.runs).headlines[0].clone();
        let late = Caveat::new("lag-too-large", Severity::Invalid, "The generator sent its requests late.");
        for run in &mut fixture.runs {
            (run.stability, run.caveats) = (Verdict::Settled, vec![late.clone()]);
        }
        let invalid = summarise(&fixture.plan, &fixture.runs).headlines[0].clone();
        assert!(!invalid.bounds.is_something(), "{invalid:?}");
        assert_eq!(
            invalid.text,
            "No bound can be given for tpcw.complex: in all 18 runs the generator fell behind or most requests failed"
        );
        // What is too short to have settled carries nothing for certain, and a rate that loses requests is too much.
        assert_eq!((short.bounds.at_least_per_s, short.bounds.at_most_per_s), (None, Some(72.0)));
        for (headline, why) in [(short, "too short to tell"), (invalid, "generator's own delay")] {
            let trust = &headline.trust_text;
            assert!(trust.contains("Less certain: response times, because "), "{trust}");
            assert!(headline.trust_reason.contains(why), "{headline:?}");
            assert_eq!(headline.trust_theta_percent, None);
        }
    }

    #[test]
    fn p95_is_told_up_to_the_objective_and_without_one_at_the_knee() {
        let mut fixture = fixture::demo();
        let objective = fixture.plan.settings.objective_p95_ms.expect("it has one");
        let first = |fixture: &fixture::Fixture| summarise(&fixture.plan, &fixture.runs).headlines[0].clone();
        let met = first(&fixture);
        assert!(
            met.p95_text.starts_with(&format!("p95 stays below {objective} ms up to ")),
            "{}",
            met.p95_text
        );
        assert!(met.bounds.p95_below_ms.unwrap() <= objective, "{:?}", met.bounds);
        fixture.plan.settings.objective_p95_ms = None;
        let knee = first(&fixture);
        assert!(knee.p95_text.ends_with(" requests per second"), "{}", knee.p95_text);
        fixture.plan.settings.objective_p95_ms = Some(0.001);
        assert_eq!(
            first(&fixture).p95_text,
            "No measured rate keeps p95 below 0.001 ms with 95 % confidence"
        );
    }

    #[test]
    fn runs_that_their_generator_spoilt_are_left_out_of_the_bounds_and_counted() {
        let mut fixture = fixture::demo();
        let last = fixture.plan.cells.last().unwrap().id;
        let before = summarise(&fixture.plan, &fixture.runs).headlines[0].clone();
        assert!(
            before.bounds.at_most_per_s.is_some() && !before.trust_text.contains("left out"),
            "{before:?}"
        );
        for run in fixture.runs.iter_mut().filter(|run| run.cell == last) {
            let late = "The generator sent its requests late.";
            run.caveats.push(Caveat::new("lag-too-large", Severity::Invalid, late));
        }
        let after = &summarise(&fixture.plan, &fixture.runs).headlines[0];
        assert_eq!((after.bounds.at_most_per_s, after.bounds.left_out), (None, 3), "{after:?}");
        assert!(after.trust_text.contains("3 of 18 runs are left out of the bounds"), "{}", after.trust_text);
    }
}
