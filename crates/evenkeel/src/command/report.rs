//! `evenkeel report`: a study as one HTML file, or two over each other.

use super::Session;
use crate::failure::{FINDING, WithHint};
use crate::out;
use crate::report::{Study, compare, html, save};
use crate::study::published;
use crate::study::stored::{self, tell_damage};
use anyhow::{Result, anyhow};
use evenkeel_study::published::stored as stored_published;
use evenkeel_study::store::StudyFolder;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `evenkeel report`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel report last\n  evenkeel report before --to /tmp/profile.html\n  \
                  evenkeel report before after     two studies on one page, with the verdict\n\n\
                  Exit codes: 0 the page is written; 1 it is written, but files beside a run are damaged (they are named); 2 the study \
                  cannot be read."
)]
pub struct Args {
    /// Study: its folder, its name or a prefix of it, or `last`
    #[arg(default_value = "last")]
    pub study: String,
    /// A second study, drawn in the charts of the first
    pub other: Option<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// File to write [default: report.html in the study's folder, or compare-OTHER.html]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let path = stored::path(session, args.output.as_ref(), &args.study)?;
    if let Some((plan, runs)) = stored_published(&path)? {
        if args.other.is_some() {
            return Err(anyhow!("{} is a published study, which only has a page of its own", plan.id))
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
            let page = html(&Study::read(&folder)?);
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

/// Writes two studies over each other; by default beside the first.
fn write_both(one: &StudyFolder, other: &StudyFolder, to: Option<&Path>) -> Result<PathBuf> {
    let (first, second) = (Study::read(one)?, Study::read(other)?);
    if first.plan.id == second.plan.id {
        return Err(anyhow!("both names are of the study {}", first.plan.id))
            .hint("name two studies; `evenkeel runs` lists all of them");
    }
    // By the other one's folder: what stands in its plan may lead anywhere.
    let name = format!("compare-{}.html", other.path().file_name().unwrap_or_default().to_string_lossy());
    save(to, one.path(), &name, &compare(&first, &second)?)
}
