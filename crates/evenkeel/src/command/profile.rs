//! `evenkeel profile`: sweep the arrival rate on a server.

mod flags;
pub mod line;

use super::progress_events::ProgressEvents;
use super::resume::{self, WORKLOAD_FILE};
use super::spec::{self, Study};
use super::{Session, mode};
use crate::clock::unix_time;
use crate::failed;
use crate::failure::{FINDING, Hint, NOT_VALID};
use crate::out;
use crate::progress::View;
use crate::signals;
use crate::table;
use anyhow::{Context, Result};
use evenkeel_site::server::without_password;
use evenkeel_study::profile::{self as lab_study, StudyError};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{PlanFile, RunFile, SummaryFile};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use flags::Args;

/// Profiles, or goes on with a profile, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    let (study, folder) = match &args.resume {
        Some(name) => resume::study(session, &root, name)?,
        None => started(session, &root, args)?,
    };
    let summary = measure(session, &study, &folder, args.resume.is_none(), args.json)?;
    finish(session, &folder, &summary)
}

/// Measures what the folder does not have yet, with its progress shown.
pub(super) fn measure(
    session: &Session,
    study: &Study,
    folder: &StudyFolder,
    is_new: bool,
    json: bool,
) -> Result<SummaryFile> {
    let mut view = View::new(mode(session, json));
    let mut events = ProgressEvents::new(&study.spec);
    let outcome = lab_study::run(&study.spec, folder, &session.stop, &mut |event| {
        if let Some(event) = events.of(event) {
            view.show(&event);
        }
    });
    drop(view);
    if outcome.is_err() && is_new {
        discard_if_empty(folder);
    }
    let summary = outcome.map_err(|error| named(error, folder));
    summary.with_context(|| format!("measuring {}", folder.path().display()))
}

/// An error whose hint names this study, and not whichever is the last one when somebody reads it.
fn named(error: StudyError, folder: &StudyFolder) -> anyhow::Error {
    const LAST: &str = "--resume last";
    let (hint, name) = (error.hint(), folder.path().file_name().unwrap_or_default().to_string_lossy());
    match hint.filter(|hint| hint.contains(LAST)) {
        Some(hint) => {
            anyhow::Error::from(error).context(Hint(hint.replace(LAST, &format!("--resume {name}"))))
        }
        None => error.into(),
    }
}

/// A study that failed before its first run has nothing to keep or to resume.
fn discard_if_empty(folder: &StudyFolder) {
    let has_no_cells = folder.plan().is_ok_and(|plan| plan.cells.is_empty());
    if has_no_cells && folder.runs().is_ok_and(|runs| runs.is_empty()) {
        // Where it cannot be removed it is listed without runs, which is true.
        let _ = std::fs::remove_dir_all(folder.path());
    }
}

/// A new study: its folder, and in it the plan and the workload's own file.
fn started(session: &Session, root: &Path, args: &Args) -> Result<(Study, StudyFolder)> {
    let study = spec::study(session, args, recorded_command(), None)?;
    let now = unix_time().as_secs();
    let workload = study.spec.series.first().map_or("profile", |series| series.workload.name());
    let plain = for_folder(workload);
    let id = format!("{}-{plain}-{:04x}", crate::format::stamp(now), std::process::id() & 0xffff);
    let plan = lab_study::new_plan(&study.spec, id, now, study.settings.clone(), study.targets.clone());
    let file = super::place::is_file(&args.workload).then(|| PathBuf::from(&args.workload));
    let folder = resume::create(root, plan, file.as_deref().map(|file| (file, WORKLOAD_FILE)))?;
    Ok((study, folder))
}

/// A workload's name as a part of a folder's: its beginning, since a file system has an end for names.
fn for_folder(workload: &str) -> String {
    const LETTERS_MAX: usize = 60;
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    workload.chars().take(LETTERS_MAX).map(plain).collect()
}

/// This command line, without the program's name and without passwords.
fn recorded_command() -> Vec<String> {
    // A path need not be text; where one is none, nothing of a study depends on it but the folder that it is in.
    std::env::args_os().skip(1).map(|argument| recorded(&argument.to_string_lossy())).collect()
}

/// An argument as it is kept: of a server's URL all but the password, and all of anything else. A command that is run again must not
/// become another one, whatever it holds.
fn recorded(argument: &str) -> String {
    let is_server = ["mysql://", "mariadb://"].iter().any(|scheme| argument.starts_with(scheme));
    if is_server { without_password(argument) } else { argument.to_owned() }
}

/// Prints the table, writes the report, and says how it ended.
pub(super) fn finish(session: &Session, folder: &StudyFolder, summary: &SummaryFile) -> Result<ExitCode> {
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    out::painted(&table::profile(&plan, summary, &runs, super::look()))?;
    let report = super::report::write(folder)?;
    if !session.quiet {
        out::line(format!("\nreport: {}", report.display()))?;
    }
    Ok(exit_code(&plan, &runs, summary))
}

/// How a study ended.
pub(super) fn exit_code(plan: &PlanFile, runs: &[RunFile], summary: &SummaryFile) -> ExitCode {
    let has_bounds = summary.headlines.iter().any(|headline| headline.bounds.is_something());
    let finding = failed::of_study(plan, summary, runs);
    match (summary.complete, finding, has_bounds) {
        (false, ..) => signals::exit_code(),
        (true, Some(_), _) => ExitCode::from(FINDING),
        (true, None, true) => ExitCode::SUCCESS,
        (true, None, false) => ExitCode::from(NOT_VALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_kept_as_it_was_given_and_a_server_without_its_password() {
        for (given, kept) in [
            ("mysql://app:s3cret@db1/shop", "mysql://app@db1/shop"),
            ("mariadb://app:s3cret@db1/shop?tls=required", "mariadb://app@db1/shop?tls=required"),
            ("curl -s http://db1:8080/restart && ssh root@db1 true", ""),
            ("--reset-command=curl http://db1:8080/x; ssh root@db1", ""),
            ("--sense-with=ssh -J http://hop:22 bench@db1 evenkeel sense", ""),
            ("--workload", ""),
        ] {
            assert_eq!(recorded(given), if kept.is_empty() { given } else { kept });
        }
    }

    #[test]
    fn a_folder_has_the_beginning_of_a_name_without_what_leads_elsewhere() {
        assert_eq!(for_folder("shop.orders"), "shop.orders");
        assert_eq!(for_folder("../../up"), "..-..-up");
        assert_eq!(for_folder(&"ü".repeat(300)), "-".repeat(60));
    }
}
