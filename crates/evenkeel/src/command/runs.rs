//! `evenkeel runs`: what was measured.

use std::path::PathBuf;

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
