//! The columns of rows that are captured.

use crate::bytes::Reader;
use crate::error::ProtocolError;
use crate::row::Column;

/// Bytes kept of a column's name: the 256 characters that a server itself keeps.
const NAME_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Columns {
    pub all: Vec<Column>,
    pub names: Option<Vec<String>>,
}

impl Columns {
    pub fn clear(&mut self) {
        self.all.clear();
        self.names.iter_mut().for_each(Vec::clear);
    }

    /// One more, by its definition.
    pub fn push(&mut self, definition: &[u8]) -> Result<(), ProtocolError> {
        self.all.push(Column::parse(definition)?);
        if let Some(names) = &mut self.names {
            names.push(name(definition).ok_or(ProtocolError::Malformed("column definition"))?);
        }
        Ok(())
    }
}

/// The name of a column, cut where no server's is longer; before it stand catalogue, schema, and both names of the table.
fn name(definition: &[u8]) -> Option<String> {
    let mut reader = Reader(definition);
    for _ in 0..4 {
        reader.string()?;
    }
    let name = reader.string()?;
    Some(String::from_utf8_lossy(&name[..name.len().min(NAME_MAX)]).into_owned())
}
