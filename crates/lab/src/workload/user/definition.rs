//! What a user wrote, before anything is checked.

use super::Generator;
use crate::workload::Value;
use evenkeel_core::Nanos;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    pub name: String,
    pub statements: Vec<StatementDefinition>,
    pub transactions: Vec<TransactionDefinition>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementDefinition {
    pub name: String,
    /// Text with `?` or `:name` for each parameter, not both.
    pub sql: String,
    /// How often it is asked by itself, against all other weights; where it is not said, 1, or 0 for a
    /// statement that a transaction names.
    pub weight: Option<f64>,
    /// Where the parameters come from.
    pub parameters: ParameterDefinitions,
    /// How long a client waits inside a transaction before it asks this one.
    pub pause: Nanos,
    /// Tables it touches, for sizing the buffer pool; where it is not said they are looked for in `sql`.
    pub tables: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ParameterDefinitions {
    /// One for each `?`, in their order.
    Positional(Vec<Generator>),
    /// One for each name.
    Named(BTreeMap<String, Generator>),
    /// Values that belong together, one for each `?`: an execution has one of these rows.
    Rows(Vec<Vec<Value>>),
}

impl Default for ParameterDefinitions {
    fn default() -> Self {
        Self::Positional(Vec::new())
    }
}

/// A transaction as written: BEGIN, its statements, COMMIT.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionDefinition {
    pub name: String,
    /// How often it is asked, against all other weights.
    pub weight: f64,
    /// Names of its statements, in their order.
    pub statements: Vec<String>,
    /// Parameters drawn once for each transaction and given to every statement that names them.
    pub parameters: BTreeMap<String, Generator>,
}
