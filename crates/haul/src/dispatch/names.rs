//! The names of the tables that a dispatch without transactions works with, and whether they are there.

use crate::table::literal;
use evenkeel_site::server::{Control, TargetError};

pub(super) struct Names {
    /// The source, once it is taken.
    pub taken: String,
    /// What becomes the source.
    pub next: String,
}

impl Names {
    pub fn of(source: &str) -> Self {
        let name = |what| format!("evenkeel_{what}_{source}");
        Self { taken: name("taken"), next: name("next") }
    }
}

pub(super) fn exists(control: &mut Control, table: &str) -> Result<bool, TargetError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
        literal(table.as_bytes())
    );
    Ok(control.query_value(&sql)?.is_some())
}
