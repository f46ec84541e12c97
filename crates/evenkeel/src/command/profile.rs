//! `evenkeel profile`: sweep the arrival rate on a server.

use super::Session;
use crate::profile::resume::{self, WORKLOAD_FILE};
use crate::profile::spec::{self, Study};
use crate::profile::{finish, measure};
use crate::server::place;
use crate::signals;
use crate::study::stored;
use anyhow::Result;
use evenkeel_os::clock::unix_time;
use evenkeel_site::server::without_password;
use evenkeel_study::profile as lab_study;
use evenkeel_study::store::StudyFolder;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use crate::profile::flags::Args;

/// Profiles, or goes on with a profile, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    let (study, folder) = match &args.resume {
        Some(name) => resume::study(session, &root, name, args.repeats)?,
        None => started(session, &root, args)?,
    };
    match measure(session, &study, &folder, args.resume.is_none(), args.json)? {
        Some(summary) => finish(session, &folder, &summary, args.wide),
        None => Ok(signals::exit_code()),
    }
}

/// A new study: its folder, and in it the plan and the workload's own file.
fn started(session: &Session, root: &Path, args: &Args) -> Result<(Study, StudyFolder)> {
    if let Some(name) = &args.name {
        stored::check_name(root, name)?;
    }
    let study = spec::study(session, args, recorded_command(), None)?;
    let now = unix_time().as_secs();
    let workload = study.spec.series.first().map_or("profile", |series| series.workload.name());
    let plain = for_folder(workload);
    let id = format!("{}-{plain}-{:04x}", crate::format::stamp(now), std::process::id() & 0xffff);
    let id = args.name.clone().unwrap_or(id);
    let plan = lab_study::new_plan(&study.spec, id, now, study.targets.clone());
    let file = place::is_file(&args.workload).then(|| PathBuf::from(&args.workload));
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
