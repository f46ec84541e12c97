//! What every command gets.

use evenkeel_os::stop::Stop;
use std::path::PathBuf;

/// What every command gets.
pub struct Session {
    /// Folder for sandboxes and studies.
    pub home: PathBuf,
    /// Results and errors only.
    pub quiet: bool,
    /// Set by Ctrl-C and SIGTERM.
    pub stop: Stop,
}

impl Session {
    /// Folder for studies.
    pub fn runs_dir(&self, output: Option<&PathBuf>) -> PathBuf {
        output.cloned().unwrap_or_else(|| self.home.join("runs"))
    }
}
