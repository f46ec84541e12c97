//! `evenkeel report`: a study as one HTML file, or two over each other.

use super::Session;
use super::stored::{self, tell_damage};
use super::study::published;
use crate::failure::{FINDING, WithHint};
use crate::out;
use crate::report::{Records, compare, html};
use anyhow::{Context, Result, anyhow};
use evenkeel_study::published::stored as stored_published;
use evenkeel_study::store::StudyFolder;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `evenkeel report`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel report last\n  evenkeel report 20261121 --to /tmp/profile.html\n  \
                  evenkeel report 20261121 last    two studies over each other, with their ratios"
)]
pub struct Args {
    /// Study: its folder, its name or the start of it, or `last`
    #[arg(default_value = "last")]
    pub study: String,
    /// A second study, to be laid over the first
    pub other: Option<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// File to write [default: report.html in the study's folder, or compare-OTHER.html]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// Writes the report and names its path.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let path = stored::path(session, args.output.as_ref(), &args.study)?;
    if let Some((plan, runs)) = stored_published(&path)? {
        if args.other.is_some() {
            return Err(anyhow!("{} is a published study, which has a page of its own alone", plan.id))
                .hint("name one study, or two profiles");
        }
        let page = published::view(session, &plan, &runs, crate::report::published::html)?;
        out::line(save(args.to.as_deref(), &path, "report.html", &page)?.display().to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = StudyFolder::open(&path)?;
    let mut is_damaged = tell_damage(&folder)?;
    let to = match &args.other {
        None => {
            let page = html(&Records::read(&folder)?);
            save(args.to.as_deref(), folder.path(), "report.html", &page)?
        }
        Some(other) => {
            let other = StudyFolder::open(&stored::path(session, args.output.as_ref(), other)?)?;
            is_damaged |= tell_damage(&other)?;
            write_both(&folder, &other, args.to.as_deref())?
        }
    };
    out::line(to.display().to_string())?;
    Ok(if is_damaged { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

/// Writes the report of a study into its folder; gives where it is.
pub fn write(folder: &StudyFolder) -> Result<PathBuf> {
    save(None, folder.path(), "report.html", &html(&Records::read(folder)?))
}

/// Writes two studies over each other; by default beside the first.
fn write_both(one: &StudyFolder, other: &StudyFolder, to: Option<&Path>) -> Result<PathBuf> {
    let (first, second) = (Records::read(one)?, Records::read(other)?);
    if first.plan.id == second.plan.id {
        return Err(anyhow!("both names are of the study {}", first.plan.id))
            .hint("name two studies; `evenkeel runs` lists all of them");
    }
    let page = compare(&first, &second).map_err(|unlike| {
        let hint = unlike.hint();
        anyhow::Error::from(unlike).context(crate::failure::Hint(hint))
    })?;
    save(to, one.path(), &name_beside(other.path()), &page)
}

/// The name of a page of two studies. By the other one's folder: what stands in its plan may lead anywhere.
fn name_beside(other: &Path) -> String {
    format!("compare-{}.html", other.file_name().unwrap_or_default().to_string_lossy())
}

/// Writes a page to where the user said, or under a name of ours into a study's folder, where a symbolic link of that name is
/// replaced: the folder may be somebody else's.
fn save(to: Option<&Path>, folder: &Path, name: &str, page: &str) -> Result<PathBuf> {
    let own = folder.join(name);
    let written = match to {
        Some(to) => out::file(to, page),
        None => evenkeel_os::replace(&own, page.as_bytes()),
    };
    let to = to.map_or(own, Path::to_owned);
    // Of a full disk the error knows itself what to do.
    let is_full = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::StorageFull);
    let written = written.with_context(|| format!("writing {}", to.display()));
    match is_full {
        true => written?,
        false => written.hint("name a file in a folder that you may write to, by --to")?,
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_page_in_a_folder_of_somebody_else_overwrites_nothing_outside_of_it() {
        let home = tempfile::tempdir().unwrap();
        let (folder, victim) = (home.path().join("gift"), home.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join("report.html")).unwrap();
        assert_eq!(save(None, &folder, "report.html", "page").unwrap(), folder.join("report.html"));
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        assert_eq!(fs::read(folder.join("report.html")).unwrap(), b"page");
    }

    #[test]
    fn a_page_of_two_studies_is_named_by_a_folder_and_stays_in_the_first_one() {
        assert_eq!(name_beside(Path::new("/runs/two")), "compare-two.html");
        assert_eq!(name_beside(Path::new("..")), "compare-.html");
    }
}
