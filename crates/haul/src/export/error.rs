//! Why tables cannot be exported or loaded again.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("{connections} connections cannot share a snapshot: {reason}")]
    Snapshot { connections: usize, reason: String },
    /// Also a view, which has no rows of its own.
    #[error("{table} is not a table but a {kind}")]
    Kind { table: String, kind: String },
    #[error("there is no table {0} in the database, or this account may not read it")]
    NoTable(String),
    #[error("table {0:?}: its name cannot be the name of a file")]
    Name(String),
    #[error("{0} exists already and is not an empty folder; nothing was written")]
    Taken(String),
    #[error("{0} holds no export (export.json)")]
    NoManifest(String),
    #[error("{path}: {problem}")]
    Manifest { path: String, problem: String },
    #[error("table {table} is there and is not as it was exported: {what}; it was not changed")]
    Differs { table: String, what: String },
    #[error("{file}: the server stored {stored} of its {rows} rows ({server})")]
    Stored { file: String, rows: u64, stored: u64, server: String },
}

impl ExportError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Snapshot { .. } => "grant RELOAD to the account, or use --connections 1",
            Self::Kind { .. } | Self::NoTable(_) => {
                "SHOW FULL TABLES lists them; put a pattern in quotes, as --table 'calls_*'"
            }
            Self::Name(_) => "rename the table",
            Self::Taken(_) => "name a new folder",
            Self::NoManifest(_) => "name the folder that `evenkeel cdr export --into` wrote",
            Self::Manifest { .. } => "export the tables again",
            Self::Differs { .. } => "load into another database, or drop the table",
            Self::Stored { .. } => "fix what the server says, and run the same command again",
        }
    }
}
