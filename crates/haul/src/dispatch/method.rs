//! By which way records are moved to day tables.

use serde::Serialize;

/// By which way records are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// INSERT ... SELECT.
    Insert,
    /// The same by stored procedures that write the statements.
    Procedure,
    /// Partitions become tables; late records go by `Insert`.
    Exchange,
}

impl Method {
    /// As the journal has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Procedure => "procedure",
            Self::Exchange => "exchange",
        }
    }
}
