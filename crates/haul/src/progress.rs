//! How far work with records is.

use crate::convert::Tally;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub step: Step,
    /// Bytes that this step has read, packed as they are.
    pub read: u64,
    /// Bytes of all inputs, where that is known.
    pub total: Option<u64>,
    pub records: u64,
    /// Rows or lines among them.
    pub rows: u64,
    pub rejects: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Records that come twice are looked for.
    Keys,
    /// Records become lines.
    #[default]
    Lines,
    /// Records become rows.
    Load,
    Indexes,
    /// Files and tables are summed up.
    Sums,
    Differences,
    Naming,
    Export,
}

impl Progress {
    /// The same after so many more bytes, and what became of their records.
    pub(crate) fn and(self, read: u64, tally: &Tally) -> Self {
        Self {
            read: self.read + read,
            records: self.records + tally.records,
            rows: self.rows + tally.lines.iter().sum::<u64>(),
            rejects: self.rejects + tally.rejects,
            ..self
        }
    }
}
