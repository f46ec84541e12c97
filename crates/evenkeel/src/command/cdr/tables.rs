//! Flags that say what tables records go to.

use crate::failure::Hint;
use anyhow::Result;
use evenkeel_haul::layout::LayoutFile;
use evenkeel_haul::table::{Engine, Table};

/// Flags that say what tables records go to.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// Table [default: the name of the record type]
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Columns of a further index of a table that is made; may be repeated
    #[arg(long = "index", value_name = "COLUMN,...")]
    pub index: Vec<String>,
}

impl Flags {
    /// Columns of each further index.
    pub fn indexes(&self) -> Vec<Vec<String>> {
        let columns = |text: &String| text.split(',').map(|name| name.trim().to_owned()).collect();
        self.index.iter().map(columns).collect()
    }

    /// A table for each type of record.
    pub fn tables(&self, file: &LayoutFile, engine: Engine) -> Result<Vec<Table>> {
        let types = file.layout.types();
        let name = |type_name: &str| match &self.table {
            None => type_name.to_owned(),
            Some(name) if types.len() == 1 => name.clone(),
            Some(name) => format!("{name}_{type_name}"),
        };
        let indexes = self.indexes();
        let of = |(index, each): (usize, &evenkeel_wire::record::RecordType)| {
            // Where there are several types, an index is made in those tables that have its columns.
            let has = |columns: &&Vec<String>| {
                types.len() == 1
                    || columns.iter().all(|column| each.fields.iter().any(|field| field.name == *column))
            };
            let own: Vec<_> = indexes.iter().filter(has).cloned().collect();
            let table = Table::of(&file.layout, index, &name(&each.name), engine, &own);
            table.map_err(|error| {
                let hint = error.hint.to_owned();
                anyhow::Error::from(error).context(Hint(hint))
            })
        };
        types.iter().enumerate().map(of).collect()
    }
}
