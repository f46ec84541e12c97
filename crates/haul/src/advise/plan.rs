//! What is measured.

use crate::convert::Duplicates;
use crate::input::Input;
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;

/// What is measured.
pub struct Plan<'a> {
    /// Where the fields are.
    pub file: &'a LayoutFile,
    /// Files that the sample is taken from.
    pub inputs: &'a [Input],
    /// The server; the database is not used.
    pub target: &'a Target,
    /// Columns of each further index.
    pub indexes: Vec<Vec<String>>,
    /// Records of the sample at most.
    pub sample: u64,
    /// Rounds, each with every way.
    pub rounds: u32,
    /// What becomes of records that come twice.
    pub duplicates: Duplicates,
    /// Ends it early.
    pub stop: &'a Stop,
}
