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
    /// A folder that has a table of the same name from elsewhere.
    #[error("{path} is of {found}, and what is to be exported is of {wanted}; nothing was written")]
    Origin {
        /// Path of the manifest that is there.
        path: String,
        /// The database that it is of.
        found: String,
        /// The database that was named.
        wanted: String,
    },
    /// A file with the name of an export's that no manifest knows.
    #[error(
        "{0} is there already, and no export of this database is known to have written it; nothing was changed"
    )]
    Foreign(String),
    /// A manifest that does not say which database it is of.
    #[error(
        "{path} was written by an earlier version, which did not note the server and the database; nothing was written"
    )]
    NoOrigin {
        /// Path of the manifest that is there.
        path: String,
    },
    /// A table that has rows of others.
    #[error("table {table} has {rows} rows, and not of this export alone; nothing was loaded")]
    Filled {
        /// Name of the table, unquoted.
        table: String,
        /// How many are in it.
        rows: u64,
    },
    /// A table from which rows are gone.
    #[error("{rows} rows of this table {table} were loaded before, and are gone; nothing was loaded")]
    Emptied {
        /// Name of the table, unquoted.
        table: String,
        /// How many were loaded.
        rows: u64,
    },
    /// A manifest that does not say how its table is made.
    #[error("there is no table {0}, and its manifest has no statement that makes it")]
    NoStatement(String),
    /// Rows that the server did not store.
    #[error("{file}: the server stored {stored} of its {rows} rows ({server}); the file is not in")]
    Stored {
        /// Path of the file that was sent.
        file: String,
        /// How many it has.
        rows: u64,
        /// How many were stored.
        stored: u64,
        /// The server's first warning.
        server: String,
    },
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
            Self::Foreign(_) => "choose another folder, or move the file away",
            Self::Origin { .. } | Self::NoOrigin { .. } => {
                "choose another folder, or move that file and those of the table away, after which the table is exported anew"
            }
            Self::Filled { .. } => "load into a database without that table, or drop the table",
            Self::Emptied { .. } => {
                "load into another database, or delete the rows of this table from evenkeel_loads, after which all files are loaded"
            }
            Self::NoStatement(_) => "make the table by hand and run the same again",
            Self::Stored { .. } => {
                "see whether the table has the columns and keys that it had when it was exported, and run the same again"
            }
            Self::Manifest { .. } => {
                "move that file and those of the table away and export the table again, or choose another folder"
            }
        }
    }
}
