//! Why a table cannot hold the records of a layout.

/// Why a table cannot hold the records of a layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// An index over what is no column.
    #[error("an index names `{0}`, and no column is called so")]
    Index(String),
    /// A key field that is not stored.
    #[error("the key names `{0}`, which is skipped and becomes no column")]
    Key(String),
    /// Names that the server takes for the same.
    #[error(
        "columns `{0}` and `{1}` would have one name at the server, which does not look at small and large letters"
    )]
    Alike(String, String),
    /// No name of a table or column.
    #[error(
        "{0:?} is no name of a table or column: 1 to 64 letters, none of them a control character, and no space at the end"
    )]
    Name(String),
    /// A view, or another thing that stores no rows itself.
    #[error("{name} is no table that rows could be loaded into, but: {kind}")]
    Kind { name: String, kind: String },
    /// An engine that we do not know to undo, or not to undo, what was cut.
    #[error("table {name} has engine {engine}; rows are loaded into InnoDB, MyISAM and Aria")]
    Engine { name: String, engine: String },
    /// A field without a column.
    #[error("table {table} has no column `{field}` for the field of that name")]
    Missing { table: String, field: String },
    /// A column that some values of its field do not fit into.
    #[error("field {field} has {width} bytes, and column {table}.{field} is {column}: {problem}")]
    Narrow { table: String, field: String, width: usize, column: String, problem: &'static str },
    /// A column that no field fills and that has no value of its own.
    #[error("column {table}.{column} has no default, and no field is called so")]
    Unfilled { table: String, column: String },
}

impl TableError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Index(_) => "name columns of the layout, as --index calling,start",
            Self::Key(_) => "take `skip` from that field, or the field from the key",
            Self::Alike(..) | Self::Name(_) => "rename it in the layout, or by --table",
            Self::Kind { .. } | Self::Engine { .. } => "name another table by --table",
            Self::Missing { .. } | Self::Narrow { .. } | Self::Unfilled { .. } => {
                "alter the table, correct the layout, or name another table by --table; --print-table shows one that fits"
            }
        }
    }
}
