//! `evenkeel report`: a study as one HTML file.

use super::Session;
use super::stored::StoredArgs;
use crate::out;
use crate::report::{Details, html};
use anyhow::{Context, Result};
use evenkeel_lab::store::StudyFolder;
use evenkeel_lab::study;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `evenkeel report`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel report last\n  evenkeel report 20261121 --to /tmp/profile.html"
)]
pub struct Args {
    /// Which study
    #[command(flatten)]
    pub study: StoredArgs,
    /// File to write [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// Writes the report and names its path.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let folder = args.study.open(session)?;
    let to = args.to.clone().unwrap_or_else(|| folder.path().join("report.html"));
    write(&folder, &to)?;
    out::line(to.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the report of a study.
pub fn write(folder: &StudyFolder, to: &Path) -> Result<()> {
    let (plan, manifest, runs) = (folder.plan()?, folder.manifest()?, folder.runs()?);
    let summary = study::summarise(&plan, &runs);
    let details = Details::read(folder, &runs);
    std::fs::write(to, html(&plan, &manifest, &summary, &runs, &details))
        .with_context(|| format!("writing {}", to.display()))
}
