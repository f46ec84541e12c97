//! Why a table cannot hold the records of a layout.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("an index names `{0}`, and no column has that name")]
    Index(String),
    #[error("the key names `{0}`, which is skipped and becomes no column")]
    Key(String),
    #[error("columns `{0}` and `{1}` have the same name for the server, which ignores case")]
    Alike(String, String),
    #[error(
        "{0:?} is no name of a table or column: 1 to 64 letters, none of them a control character, and no space at the end"
    )]
    Name(String),
    #[error("rows cannot be loaded into {name}: its type is {kind}")]
    Kind { name: String, kind: String },
    #[error("table {name} has engine {engine}; rows are loaded into InnoDB, MyISAM and Aria")]
    Engine { name: String, engine: String },
    #[error("table {table} has no column `{field}` for the field of that name")]
    Missing { table: String, field: String },
    #[error("field {field} has {width} bytes, and column {table}.{field} is {column}: {problem}")]
    Narrow { table: String, field: String, width: usize, column: String, problem: &'static str },
    #[error("column {table}.{column} has no default, and no field has that name")]
    Unfilled { table: String, column: String },
}

impl TableError {
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
