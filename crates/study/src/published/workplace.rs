//! Where a published study works.

use super::program::Program;
use evenkeel_os::stop::Stop;
use std::path::{Path, PathBuf};

/// Where a published study works, and with what.
#[derive(Clone, Copy)]
pub struct Workplace<'a> {
    /// Folder for private servers and for what only runs need.
    pub home: &'a Path,
    /// Set by whoever wants the study to stop.
    pub stop: &'a Stop,
    /// Who starts guards and hosts.
    pub program: &'a dyn Program,
}

impl Workplace<'_> {
    pub fn dumps(&self) -> PathBuf {
        self.home.join("dumps")
    }
}
