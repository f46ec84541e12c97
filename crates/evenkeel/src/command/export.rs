//! `evenkeel export`: a study as CSV or JSON.

use super::Session;
use crate::export;
use crate::out;
use crate::published::{Published, cells_csv, results, runs_csv};
use crate::study::published;
use crate::study::stored::{StoredArgs, tell_damage};
use anyhow::{Context, Result};
use clap::ValueEnum;
use evenkeel_study::profile;
use evenkeel_study::published::stored as stored_published;
use evenkeel_study::store::StudyFolder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Format of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// One line for each cell
    Cells,
    /// One line for each run
    Runs,
    /// Everything, as one JSON object
    Json,
}

/// Flags of `evenkeel export`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel export last > cells.csv\n  evenkeel export last --format runs --to runs.csv\n  evenkeel export last --format json | python3 -m json.tool\n\n\
                  Exit codes: 0 all figures are exported; damaged files beside a run are named, but no figure comes from \
                  them; 2 the study cannot be read."
)]
pub struct Args {
    /// The study that is exported
    #[command(flatten)]
    pub study: StoredArgs,
    /// CSV of cells or of runs, or JSON [default: json where --to ends with .json, else cells]
    #[arg(long, short, value_enum)]
    pub format: Option<Format>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

impl Args {
    fn format(&self) -> Format {
        let is_json = self.to.as_ref().and_then(|to| to.extension()).is_some_and(|end| end == "json");
        self.format.unwrap_or(if is_json { Format::Json } else { Format::Cells })
    }
}

/// Writes the export to a file or to standard output.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let path = args.study.path(session)?;
    if let Some((plan, runs)) = stored_published(&path)? {
        let text = published::view(session, &plan, &runs, |view: &Published<'_>| match args.format() {
            Format::Cells => cells_csv(view),
            Format::Runs => runs_csv(view),
            Format::Json => format!("{:#}\n", results(view)),
        })?;
        write(args, &text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = StudyFolder::open(&path)?;
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    let summary = profile::summarise(&plan, &runs);
    let text = match args.format() {
        Format::Cells => export::cells(&plan, &summary),
        Format::Runs => export::runs(&plan, &runs),
        Format::Json => export::json(&plan, &folder.manifest()?, &summary, &runs)?,
    };
    write(args, &text)?;
    // All that is exported stands in the files that could be read.
    tell_damage(&folder)?;
    Ok(ExitCode::SUCCESS)
}

fn write(args: &Args, text: &str) -> Result<()> {
    match &args.to {
        Some(path) => out::file(path, text).with_context(|| format!("writing {}", path.display())),
        None => Ok(out::write(text)?),
    }
}
