//! Published studies: begun, gone on with and shown, whatever they are of.

use super::goes_on;
use super::program::ThisProgram;
use super::stored::tell_complete;
use crate::console::{Session, look, mode};
use crate::progress::{Mode, ProgressEvent, ProgressEvents, View};
use crate::published::{Published, results, table};
use crate::report::published::html;
use crate::{format, out, signals};
use anyhow::{Context, Result};
use evenkeel_study::harness::{
    Event, FORMAT, Judgement, Part, Plan, Run, Study, is_complete, measure, plan_of, read, unfinished,
};
use evenkeel_study::published::{PublishedError, Workplace, of_plan};
use evenkeel_study::store::StudyFolder;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where studies work.
fn workplace(session: &Session) -> Workplace<'_> {
    Workplace { home: &session.home, stop: &session.stop, program: &ThisProgram }
}

/// The plan of a new study.
pub fn plan(kind: &str, seed: u64, parts: Vec<Part>, setting: &impl Serialize) -> Result<Plan> {
    let created_unix_s = evenkeel_os::clock::unix_time().as_secs();
    Ok(Plan {
        format: FORMAT,
        id: format!("{}-{kind}-{:04x}", format::stamp(created_unix_s), std::process::id() & 0xffff),
        kind: kind.to_owned(),
        created_unix_s,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        // A path need not be text.
        command: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        seed,
        parts,
        setting: serde_json::to_value(setting)?,
    })
}

/// How many runs a study has and how long they will take, for people.
fn lasts(plan: &Plan, whole_s: f64) -> String {
    let lasts = match whole_s {
        short if short < 5_400.0 => format::counted((short / 60.0).max(1.0).ceil() as usize, "minute"),
        long => format!("{:.0} hours", (long / 3_600.0).ceil()),
    };
    let runs: usize = plan.parts.iter().map(Part::runs).sum();
    format!("{}: at most about {lasts}\n", format::counted(runs, "run"))
}

/// Makes a study in a folder of `root`, and shows what came out. Where it fails, finished runs stay.
pub fn start(session: &Session, root: &Path, plan: &Plan, json: bool) -> Result<ExitCode> {
    let mut study = of_plan(workplace(session), plan)?;
    if !session.quiet {
        out::tell(&lasts(plan, study.whole_s(plan)));
    }
    let folder = StudyFolder::create_for(root, &plan.id, plan)?;
    let outcome = measured(session, &mut *study, &folder, json);
    if read(&folder)?.is_empty() {
        // Nothing to keep or to resume.
        let _ = std::fs::remove_dir_all(folder.path());
        outcome?;
        out::tell("stopped before the first run was done: nothing is kept\n");
        return Ok(signals::exit_code());
    }
    finish(session, &folder, plan, &*study, outcome, json)
}

/// Goes on with a study that was stopped.
pub fn resume(session: &Session, path: &Path, json: bool) -> Result<ExitCode> {
    let folder = StudyFolder::resume(path)?;
    let plan = plan_of(&folder)?;
    let mut study = of_plan(workplace(session), &plan)?;
    let outcome = match is_complete(&mut *study, &folder)? {
        true => {
            tell_complete(session, &folder);
            Ok(true)
        }
        false => measured(session, &mut *study, &folder, json),
    };
    finish(session, &folder, &plan, &*study, outcome, json)
}

fn measured(
    session: &Session,
    study: &mut dyn Study<Error = PublishedError>,
    folder: &StudyFolder,
    json: bool,
) -> Result<bool> {
    let mode = if json { Mode::Quiet } else { mode(session, false) };
    let (mut view, mut events) = (View::new(mode), ProgressEvents::for_data());
    let mut tell = |event: Event| {
        let shown = match event {
            Event::Step(text) => Some(ProgressEvent::Step { text }),
            Event::Data(progress) => events.data(&progress),
            Event::RunBegins { run, number, of, left_s } => {
                let left = format::seconds(left_s.max(0.0).round());
                Some(ProgressEvent::Step { text: format!("{run}: {number} of {of}, about {left} left") })
            }
        };
        if let Some(shown) = shown {
            view.show(&shown);
        }
    };
    let doing = || format!("measuring {}", folder.path().display());
    measure(study, folder, &session.stop, &mut tell).with_context(doing)
}

/// Writes what there is to say, also of a study that failed; shows it where it did not.
fn finish(
    session: &Session,
    folder: &StudyFolder,
    plan: &Plan,
    study: &dyn Study<Error = PublishedError>,
    outcome: Result<bool>,
    json: bool,
) -> Result<ExitCode> {
    let written = write(folder, plan, study);
    // What failed first is what is told, even where nothing could be written.
    let finished = outcome.inspect_err(|_| {
        if let (Ok(written), false) = (&written, session.quiet) {
            out::tell(&format!("report of what is finished: {}\n", written.report.display()));
        }
    })?;
    let written = written?;
    if json {
        out::line(serde_json::to_string_pretty(&written.results)?)?;
    } else {
        out::painted(&written.table)?;
        if !session.quiet {
            out::line(format!("\nreport: {}", written.report.display()))?;
        }
    }
    if let (false, Some(command)) = (finished, goes_on::command(folder.path())) {
        out::tell(&format!("stopped; continue with `{command}`\n"));
    }
    Ok(if finished { ExitCode::SUCCESS } else { signals::exit_code() })
}

struct Written {
    results: Value,
    table: String,
    report: PathBuf,
}

fn write(folder: &StudyFolder, plan: &Plan, study: &dyn Study<Error = PublishedError>) -> Result<Written> {
    let runs = read(folder)?;
    let view = Published::new(plan, &runs, study.figures(), judged(plan, study, &runs));
    let results = results(&view);
    folder.write("results.json", &results)?;
    let report = folder.path().join("report.html");
    out::file(&report, &html(&view)).with_context(|| format!("writing {}", report.display()))?;
    Ok(Written { results, table: table(&view, look()), report })
}

/// Shows a study that was made.
pub fn view<T>(
    session: &Session,
    plan: &Plan,
    runs: &[Run],
    show: impl FnOnce(&Published<'_>) -> T,
) -> Result<T> {
    let study = of_plan(workplace(session), plan)?;
    Ok(show(&Published::new(plan, runs, study.figures(), judged(plan, &*study, runs))))
}

/// What the study says of its runs; that runs are missing comes first.
fn judged(plan: &Plan, study: &dyn Study<Error = PublishedError>, runs: &[Run]) -> Judgement {
    let mut said = study.judge(plan, runs);
    if let Some(unfinished) = unfinished(study, plan, runs) {
        said.headline = format!("{unfinished} {}", said.headline);
        said.caveats.insert(0, unfinished);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_os::Stop;
    use evenkeel_study::harness::keep;
    use evenkeel_study::throttling::fixture;

    #[test]
    fn a_study_that_failed_leaves_a_page_of_what_is_finished_and_tells_why_it_failed() {
        let home = tempfile::tempdir().unwrap();
        let session = Session { home: home.path().to_owned(), quiet: true, stop: Stop::default() };
        let plan = fixture::plan();
        let study = of_plan(workplace(&session), &plan).unwrap();
        let folder = StudyFolder::create_for(&session.runs_dir(None), &plan.id, &plan).unwrap();
        fixture::falling()[..3].iter().for_each(|run| keep(&folder, run).unwrap());
        let failed = Err(anyhow::anyhow!("the guard has ended"));
        let error = finish(&session, &folder, &plan, &*study, failed, false).unwrap_err();
        assert_eq!(error.to_string(), "the guard has ended");
        let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
        assert!(page.contains("<h1>Unfinished: 3 of 80 runs"), "{page}");
        assert!(folder.path().join("results.json").is_file());
    }
}
