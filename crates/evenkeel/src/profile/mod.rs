//! A profile from its command line to its outcome: `flags` read it, `spec` makes a study of it with its `servers` and what those differ in
//! (`variant`), here it is measured and shown, and `resume` goes on where one was stopped.

pub mod flags;
pub mod resume;
mod servers;
pub mod spec;
mod variant;

use crate::console::{Session, look, mode};
use crate::failure::{FINDING, Hint, NOT_VALID};
use crate::progress::{ProgressEvents, View};
use crate::study::goes_on;
use crate::study::stored::tell_complete;
use crate::{failed, out, report, signals, table};
use anyhow::{Context, Result};
use evenkeel_study::profile as lab_study;
use evenkeel_study::profile::{StudyError, StudyEvent};
use evenkeel_study::store::format::{PlanFile, RunFile, SummaryFile};
use evenkeel_study::store::{GOES_ON, StudyFolder};
use spec::Study;
use std::process::ExitCode;

/// Measures what the folder does not have yet, with its progress shown; `None` where it was stopped before anything was measured, so
/// that the folder is gone.
pub fn measure(
    session: &Session,
    study: &Study,
    folder: &StudyFolder,
    is_new: bool,
    json: bool,
) -> Result<Option<SummaryFile>> {
    let mut view = View::new(mode(session, json));
    let mut events = ProgressEvents::new(&study.spec);
    let mut show = |event| {
        if let Some(event) = events.of(event) {
            view.show(&event);
        }
    };
    let finished = if is_new { None } else { lab_study::finished(&study.spec, folder)? };
    let outcome = match finished {
        Some(summary) => {
            tell_complete(session, folder);
            show(StudyEvent::Ends(Box::new(summary.clone())));
            Ok(summary)
        }
        None => lab_study::run(&study.spec, folder, &session.stop, &mut show),
    };
    drop(view);
    let was_stopped = outcome.as_ref().map_or(true, |summary| !summary.complete);
    let is_gone = is_new && was_stopped && discard_if_empty(folder);
    if let (Err(_), Ok(Some(written))) = (&outcome, lab_study::written(folder)) {
        out::tell(&format!("rows written so far, warm-up and any search included: {written}\n"));
    }
    let summary = outcome.map_err(|error| named(error, folder));
    let summary = summary.with_context(|| format!("measuring {}", folder.path().display()))?;
    if is_gone {
        out::tell("stopped before the first run: nothing was measured, and nothing is kept\n");
    }
    Ok(Some(summary).filter(|_| !is_gone))
}

/// An error whose hint names this study, and not whichever is the last one when somebody reads it.
fn named(error: StudyError, folder: &StudyFolder) -> anyhow::Error {
    let kept = folder.runs().is_ok_and(|runs| !runs.is_empty());
    let resume = |hint: &str| kept && !hint.contains(GOES_ON) && !matches!(error, StudyError::Stopped);
    let with_resume = |hint: String| match resume(&hint) {
        true => format!("{hint}; finished runs are kept: continue with {GOES_ON}"),
        false => hint,
    };
    match error.hint().map(|hint| goes_on::named(&with_resume(hint.into()), folder.path())) {
        Some(hint) => anyhow::Error::from(error).context(Hint(hint)),
        None => error.into(),
    }
}

/// A study that ended before its first run has nothing to keep or to resume, unless it has searched or may have written rows. Whether it
/// is gone; where it cannot be removed it is listed without runs, which is true.
fn discard_if_empty(folder: &StudyFolder) -> bool {
    let has_no_probes = folder.plan().is_ok_and(|plan| plan.probes.is_empty());
    let wrote_nothing = lab_study::written(folder).is_ok_and(|written| written.is_none());
    let is_empty = has_no_probes && wrote_nothing && folder.runs().is_ok_and(|runs| runs.is_empty());
    is_empty && std::fs::remove_dir_all(folder.path()).is_ok()
}

/// Prints the table, writes the report, and says how it ended.
pub fn finish(
    session: &Session,
    folder: &StudyFolder,
    summary: &SummaryFile,
    wide: bool,
) -> Result<ExitCode> {
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    out::painted(&table::profile(&plan, summary, &runs, look(), wide))?;
    if let Some(written) = &summary.written {
        out::line(format!("\nrows written, warm-up and any search included: {written}"))?;
    }
    if runs.is_empty() {
        let go_on = goes_on::command(folder.path()).unwrap_or_default();
        out::line(format!("no run was measured; continue with {go_on}"))?;
    }
    let report = report::write(folder)?;
    if !session.quiet {
        out::line(format!("\nreport: {}", report.display()))?;
    }
    Ok(exit_code(&plan, &runs, summary))
}

pub fn exit_code(plan: &PlanFile, runs: &[RunFile], summary: &SummaryFile) -> ExitCode {
    let has_bounds = summary.headlines.iter().any(|headline| headline.bounds.is_something());
    let finding = failed::of_study(plan, summary, runs);
    match (summary.complete, finding, has_bounds) {
        (false, ..) => signals::exit_code(),
        (true, Some(_), _) => ExitCode::from(FINDING),
        (true, None, true) => ExitCode::SUCCESS,
        (true, None, false) => ExitCode::from(NOT_VALID),
    }
}
