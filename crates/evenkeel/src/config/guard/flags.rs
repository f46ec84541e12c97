//! The flags of a guard, which win over its file.

use super::{GuardConfig, nowhere};
use crate::config::fields::{can_be_read_again, load, parse, set};
use anyhow::{Result, ensure};
use std::path::PathBuf;

/// Flags of a running guard.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// File with all settings; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address for clients: host:port or the path of a socket; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// The server: host:port or the path of its socket
    #[arg(long, value_name = "ADDRESS")]
    backend: Option<String>,
    /// Address for /metrics, /healthz and `evenkeel guard top`, as 127.0.0.1:9307 [default: none]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// File that keeps the best limit across restarts [default: none]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Decide and report, but limit nothing
    #[arg(long)]
    dry_run: bool,
    /// Check the configuration and end
    #[arg(long)]
    pub check: bool,
    /// Print a file with all settings, their defaults and what they do, and end
    #[arg(long)]
    pub print_config: bool,
}

impl Flags {
    /// The file, if there is one, with the flags over it.
    pub fn read(&self) -> Result<GuardConfig> {
        match &self.config {
            Some(path) => load(path, "guard", |text| self.over(text)),
            None => self.over(""),
        }
    }

    /// As [`Flags::read`], while clients are served.
    pub fn read_again(&self) -> Result<GuardConfig> {
        self.config.as_deref().map_or(Ok(()), can_be_read_again)?;
        self.read()
    }

    /// What the text of a file says, with the flags over it.
    /// Errors: names the key and what to do.
    fn over(&self, text: &str) -> Result<GuardConfig> {
        let mut config: GuardConfig = parse("guard", text)?;
        if !self.listen.is_empty() {
            config.listen = self.listen.iter().map(|text| Ok(text.parse()?)).collect::<Result<_>>()?;
        }
        set(&mut config.backend, self.backend.as_ref().map(|text| text.parse()).transpose()?);
        ensure!(!config.listen.is_empty(), "no address for clients: give --listen, or `listen` in the file");
        ensure!(config.backend != nowhere(), "no server: give --backend, or `backend` in the file");
        config.metrics = self.metrics.clone().or(config.metrics);
        config.control.state = self.state.clone().or(config.control.state);
        config.control.dry_run |= self.dry_run;
        config.check().map(|()| config)
    }
}

#[cfg(test)]
impl GuardConfig {
    /// What the text of a file says, without flags.
    pub fn parse(text: &str) -> Result<Self> {
        Flags::default().over(text)
    }
}
