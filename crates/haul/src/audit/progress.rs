//! How far an audit is, for who watches it.

/// How far an audit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is done now.
    pub step: Step,
    /// Bytes of the inputs that this step has read, packed as they are.
    pub read: u64,
    /// Bytes of all inputs.
    pub total: Option<u64>,
    /// Records that this step has seen.
    pub records: u64,
    /// Rows that it has seen.
    pub rows: u64,
}

/// A step of an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Both sides are summed up.
    #[default]
    Sums,
    /// What differs is gone through.
    Differences,
    /// What was found gets its names.
    Naming,
}
