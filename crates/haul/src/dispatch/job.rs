//! What is to be dispatched, and how.

use super::NamePattern;
use crate::table::folded;
use evenkeel_site::server::{Control, TargetError};

#[derive(Clone, Debug)]
pub struct Job {
    pub table: String,
    pub by: String,
    pub names: NamePattern,
    /// Records that one transaction moves, about.
    pub batch: u64,
    /// Whether the records are held against what was there before, once all are moved.
    pub audit: bool,
    /// Days beyond which the dates are doubted.
    pub days_max: usize,
}

impl Job {
    /// The same with the names by which the server knows its tables.
    pub(super) fn folded(&self, control: &mut Control) -> Result<Self, TargetError> {
        let (table, names) = (folded(control, &self.table)?, self.names.folded(control)?);
        Ok(Self { table, names, ..self.clone() })
    }
}
