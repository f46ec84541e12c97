//! Why a workload cannot be used.

use thiserror::Error;

/// Why a workload cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorkloadError {
    /// Nothing has this name.
    #[error("unknown workload `{name}`{}", did_you_mean(near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// It asks for the tables of another data set.
    #[error("workload `{name}` does not go with {found} data")]
    OtherData {
        /// Name of the workload.
        name: String,
        /// What is there.
        found: &'static str,
    },
    /// A user's workload contradicts itself.
    #[error("{entry}: {problem}")]
    Invalid {
        /// Which part of it, for example "statement `pay`, parameter `id`".
        entry: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The values of a `column` generator could not be read.
    #[error("cannot read the values of {table}.{column}: {problem}")]
    Column {
        /// The table that values were to be read from.
        table: String,
        /// The column that values were to be read from.
        column: String,
        /// The server's words, or "no rows".
        problem: String,
    },
}

/// `, did you mean ...?`, or nothing where nothing is near.
fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}
