//! What a sample does not tell.

/// Something that the sample does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The record type.
    pub record_type: String,
    /// Bytes before it in the record.
    pub at: usize,
    /// What may be otherwise, as a sentence without the record's own bytes.
    pub what: String,
}
