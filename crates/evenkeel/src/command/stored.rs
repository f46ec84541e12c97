//! A stored study, as the commands that read one name it.

use super::Session;
use anyhow::Result;
use evenkeel_lab::store::{self, StudyFolder};
use std::path::PathBuf;

/// Which study.
#[derive(Debug, clap::Args)]
pub struct StoredArgs {
    /// Study: its folder, its name or the start of it, or `last`
    #[arg(default_value = "last")]
    pub study: String,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl StoredArgs {
    /// Opens it for reading.
    pub fn open(&self, session: &Session) -> Result<StudyFolder> {
        let path = store::resolve(&session.runs_dir(self.output.as_ref()), &self.study)?;
        Ok(StudyFolder::open(&path)?)
    }
}
