//! What one file brought is taken out again.

use super::corrections::of_file;
use super::files::{Looked, look};
use super::job::{Job, lock};
use super::manifest::{self, KnownFile};
use crate::blocks::Blocks;
use crate::convert::{Context, Converted};
use crate::table::{Table, quoted};
use crate::{HaulError, input, refused, session};
use evenkeel_site::server::{Control, TargetError};
use std::path::PathBuf;

/// Into which the rows of the file are loaded, to be found in the table.
const ROWS: &str = "evenkeel_unload";

#[derive(Clone, Debug, serde::Serialize)]
pub struct Unloaded {
    pub path: PathBuf,
    pub rows: u64,
}

impl Job<'_> {
    /// Takes out the rows that its files brought, each file in one transaction with its entry in the manifest.
    /// Errors: a file was not loaded, another layout loaded it, its table has no key, or a row is not as the file has it: nothing of that file
    /// is taken out.
    pub fn unload(self) -> Result<Vec<Unloaded>, HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        let file = self.file_for(&mut control)?;
        Job { file: &file, ..self }.unload_by(control)
    }

    fn unload_by(mut self, mut control: Control) -> Result<Vec<Unloaded>, HaulError> {
        let named = self.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(",");
        lock(&mut control, &named)?;
        manifest::create(&mut control)?;
        if !self.look_at_tables(&mut control)?.0.has_transactions() {
            let hint = "empty the table and load the other files again";
            return Err(refused(format!("{named} has no transactions"), hint).into());
        }
        let known = manifest::read(&mut control, &named)?;
        let looked = look(&self.inputs, &known)?;
        self.inputs = looked.iter().map(|file| file.path.clone()).collect();
        let mut done = Vec::new();
        for (index, file) in looked.iter().enumerate() {
            let before = self.loaded(file, &known, &named)?;
            let corrected = of_file(&mut control, before.id)?;
            for (record_type, table) in self.tables.iter().enumerate() {
                let own = self.stage(&mut control, (index, record_type), table, before.end)?;
                let stored = corrected.values().filter_map(|each| each.stored.as_ref());
                for (_, line) in stored.filter(|(of, _)| *of == record_type) {
                    control.load_data_local(&own.load_sql(), &line[..])?;
                }
            }
            control.exec("BEGIN")?;
            let rows = self.take_out(&mut control, before, file).inspect_err(|_| {
                let _ = control.exec("ROLLBACK");
            })?;
            control.exec("COMMIT")?;
            done.push(Unloaded { path: file.path.clone(), rows });
        }
        Ok(done)
    }

    fn loaded<'a>(
        &self,
        file: &Looked,
        known: &'a [KnownFile],
        named: &str,
    ) -> Result<&'a KnownFile, HaulError> {
        let path = file.path.display();
        let before = known.iter().find(|before| before.content == file.content).ok_or_else(|| {
            let what = format!("{path} was not loaded into {named}, or not with this content");
            refused(what, "evenkeel_loads in that database names the files that were")
        })?;
        if before.layout != self.rules() {
            let hint = "give the layout and the flags by which it was loaded";
            return Err(HaulError::File(refused(format!("{path} was loaded by another layout"), hint)));
        }
        match self.tables.iter().find(|table| table.primary.is_empty()) {
            None => Ok(before),
            Some(table) => {
                let what = format!("{} has no primary key: its rows cannot be told from others", table.name);
                Err(refused(what, "give the layout a key, or delete the rows by hand").into())
            }
        }
    }

    /// Loads the rows of a file into a table of this connection alone.
    fn stage(
        &self,
        control: &mut Control,
        (index, record_type): (usize, usize),
        table: &Table,
        end: u64,
    ) -> Result<Table, HaulError> {
        let own = Table { name: format!("{ROWS}_{record_type}"), indexes: Vec::new(), ..table.clone() };
        let (into, like) = (quoted(&own.name), quoted(&table.name));
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let columns = columns.join(", ");
        control.exec(&format!("DROP TEMPORARY TABLE IF EXISTS {into}"))?;
        match control.exec(&format!("CREATE TEMPORARY TABLE {into} LIKE {like}")) {
            // No temporary table has partitions: MariaDB says 1478, MySQL 1562.
            Err(TargetError::Statement { code: 1478 | 1562, .. }) => control
                .exec(&format!("CREATE TEMPORARY TABLE {into} AS SELECT {columns} FROM {like} LIMIT 0"))?,
            made => made?,
        };
        let context = Context {
            file: self.file,
            names: &self.inputs,
            input: index as u32,
            has_keys: false,
            places: false,
        };
        let stream = std::io::Read::take(input::open(&self.inputs[index], 0)?.stream, end);
        let (mut blocks, mut block, mut lines) =
            (Blocks::new(stream, self.file.separator, 0), Vec::new(), Converted::default());
        while let Some(at) = blocks.next(&mut block).map_err(HaulError::io("read", &self.inputs[index]))? {
            context.convert(at, &block, &mut lines);
            control.load_data_local(&own.load_sql(), &lines.lines[record_type][..])?;
        }
        Ok(own)
    }

    fn take_out(&self, control: &mut Control, before: &KnownFile, file: &Looked) -> Result<u64, HaulError> {
        let mut rows = 0;
        for (record_type, table) in self.tables.iter().enumerate() {
            let same = |column: &str| format!("t.{0} <=> f.{0}", quoted(column));
            let all: Vec<String> = table.columns.iter().map(|column| same(&column.name)).collect();
            let (name, own) = (quoted(&table.name), quoted(&format!("{ROWS}_{record_type}")));
            let equal: Vec<String> =
                table.primary.iter().map(|column| format!("t.{0} = f.{0}", quoted(column))).collect();
            rows += control.exec(&format!(
                "DELETE t FROM {name} t JOIN {own} f ON {} WHERE {}",
                equal.join(" AND "),
                all.join(" AND ")
            ))?;
        }
        manifest::remove(control, before)?;
        match rows == before.rows {
            true => Ok(rows),
            false => {
                let what = format!(
                    "{} brought {} rows, and {rows} of them are in the table as the file has them: nothing was taken out",
                    file.path.display(),
                    before.rows
                );
                let hint =
                    "evenkeel cdr audit names those that differ; rows that were dispatched are in day tables";
                Err(HaulError::File(refused(what, hint)))
            }
        }
    }
}
