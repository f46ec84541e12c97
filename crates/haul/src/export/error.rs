//! Why tables cannot be exported.

/// Why tables cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Several connections cannot see one instant.
    #[error("{connections} connections cannot be brought to one instant: {reason}")]
    Instant {
        /// How many there were to be.
        connections: usize,
        /// What the server said, or what it lacks.
        reason: String,
    },
    /// A table that has nothing to be exported.
    #[error("{table} is no table with rows of its own, but: {kind}")]
    Kind {
        /// Name of the table, unquoted.
        table: String,
        /// As the server says.
        kind: String,
    },
    /// No table is called so.
    #[error("there is no table {0} in the database, or none that this account may read")]
    NoTable(String),
    /// A name that is no name of a file.
    #[error("table {0:?} cannot give a file its name")]
    Name(String),
    /// A folder without an export.
    #[error("{0} holds no manifest of an export")]
    NoManifest(String),
    /// A manifest that is none.
    #[error("{path}: {problem}")]
    Manifest {
        /// Path of the file that this is about.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl ExportError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Instant { .. } => {
                "grant RELOAD to the account, or take --connections 1, which is one instant by itself"
            }
            Self::Kind { .. } | Self::NoTable(_) => {
                "SHOW FULL TABLES lists them; a pattern stands in quotes, as --table 'calls_*'"
            }
            Self::Name(_) => "rename the table",
            Self::NoManifest(_) => "name the folder that `evenkeel cdr export --into` wrote",
            Self::Manifest { .. } => "export the table again",
        }
    }
}
