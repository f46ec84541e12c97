//! `evenkeel runs`: what was measured.

use super::Session;
use crate::out;
use crate::{export, table};
use anyhow::Result;
use evenkeel_lab::store::{self, StudyFolder};
use evenkeel_lab::study;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `evenkeel runs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  evenkeel runs\n  evenkeel runs last\n  evenkeel runs --json")]
pub struct Args {
    /// Show one study as a table: its folder, its name or the start of it, or `last`
    pub study: Option<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists studies, or shows one.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    match &args.study {
        Some(name) => show(&root, name, args.json)?,
        None => list(&root, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(root: &Path, name: &str, json: bool) -> Result<()> {
    let folder = StudyFolder::open(&store::resolve(root, name)?)?;
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    let summary = study::summarise(&plan, &runs);
    if json {
        out::write(&export::json(&plan, &folder.manifest()?, &summary, &runs)?)?;
    } else {
        out::write(&table::profile(&plan, &summary, super::look()))?;
    }
    Ok(())
}

fn list(root: &Path, json: bool) -> Result<()> {
    let mut studies = Vec::new();
    for folder in store::list(root)? {
        let plan = folder.plan()?;
        // A damaged run spoils its study's summary, not the list.
        let summary =
            folder.runs().ok().filter(|runs| !runs.is_empty()).map(|runs| study::summarise(&plan, &runs));
        studies.push((plan, summary));
    }
    if json {
        out::line(serde_json::to_string_pretty(&studies)?)?;
    } else {
        out::write(&table::runs(&studies, super::look()))?;
    }
    Ok(())
}
