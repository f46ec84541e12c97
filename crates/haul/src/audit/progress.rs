//! How far an audit is.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub step: Step,
    /// Bytes of the inputs that this step has read, packed as they are.
    pub read: u64,
    pub total: Option<u64>,
    pub records: u64,
    pub rows: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    #[default]
    Sums,
    Differences,
    Naming,
}
