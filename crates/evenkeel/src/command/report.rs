//! `evenkeel report`: a study as one HTML file.

use std::path::PathBuf;

/// Flags of `evenkeel report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  evenkeel report last\n  evenkeel report 20261121 --to /tmp/profile.html")]
pub struct Args {
    /// Study: its folder, its name or the start of it, or `last`
    #[arg(default_value = "last")]
    pub study: String,
    /// File to write [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
