//! Why files cannot be held against tables.

/// Why files cannot be held against tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// No table is called so.
    #[error("there is no table {0} in the database, or none that this account may read")]
    NoTable(String),
    /// A field without a column.
    #[error("table {table} has no column `{field}` for the field of that name")]
    NoColumn { table: String, field: String },
    /// A column that is not the same in all tables.
    #[error("column {column} is {first} in {first_table} and {second} in {second_table}")]
    Unlike { column: String, first: String, first_table: String, second: String, second_table: String },
    /// A pipe, which is read once.
    #[error("{0} is a pipe, and an audit reads its files more than once")]
    Pipe(String),
    /// Inputs whose rejects have one file.
    #[error("{0} and {1} would both have their rejects in {2}.rejects")]
    Alike(String, String, String),
}

impl AuditError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoTable(_) => "SHOW TABLES lists them; a pattern stands in quotes, as --table 'calls_*'",
            Self::NoColumn { .. } => "name the table of these records, or take `skip` for what is not stored",
            Self::Unlike { .. } => "audit tables of one kind at a time, each with the files that went there",
            Self::Pipe(_) => "keep it in a file first",
            Self::Alike(..) => "audit them one by one",
        }
    }
}
