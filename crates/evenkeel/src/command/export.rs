//! `evenkeel export`: a study as CSV or JSON.

use clap::ValueEnum;
use std::path::PathBuf;

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
#[command(after_help = "Examples:\n  evenkeel export last > cells.csv\n  evenkeel export last --format runs --to runs.csv\n  evenkeel export last --format json | python3 -m json.tool")]
pub struct Args {
    /// Study: its folder, its name or the start of it, or `last`
    #[arg(default_value = "last")]
    pub study: String,
    /// CSV of cells or of runs, or JSON
    #[arg(long, short, value_enum, default_value_t = Format::Cells)]
    pub format: Format,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
