//! How far a conversion is.

use super::Tally;

/// How far it is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// What is done now.
    pub step: Step,
    /// Bytes of the inputs that this step has read, packed as they are.
    pub read: u64,
    /// Bytes of all inputs; `None` where one of them is a pipe.
    pub total: Option<u64>,
    /// What became of the records up to here.
    pub tally: Tally,
}

/// A step of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Records that come twice are looked for.
    Keys,
    /// Records become lines.
    #[default]
    Lines,
    /// Records become rows.
    Load,
    /// Indexes are made.
    Indexes,
}
