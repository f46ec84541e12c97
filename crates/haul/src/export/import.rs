//! A table of an export is loaded again: into a table under another name, which gets its own once its rows are compared.

use super::check;
use super::check::{Fault, difference};
use super::job::no_name;
use super::line::{Exported, ExportedFile};
use crate::table::{Found, quoted};
use crate::{HaulError, refused};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::fs::File;
use std::path::Path;

const LONGEST: usize = 64;

pub struct Import<'a> {
    pub target: &'a Target,
    pub folder: &'a Path,
    /// Whether the rows are compared with the export before the table gets its name.
    pub compares: bool,
    pub stop: &'a Stop,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    pub table: String,
    /// Rows that were loaded; none where the table was there, as it was exported.
    pub rows: u64,
    pub was_there: bool,
    /// How the loaded rows differ; they are in the table that this names.
    pub fault: Option<Fault>,
}

impl Import<'_> {
    /// Loads a table; one that is there has to be as it was exported. What a killed load left is loaded anew.
    ///
    /// # Errors
    /// The table is another one, or a file cannot be read or stored. The table is not there then.
    pub fn run(&self, exported: &Exported, tell: &mut dyn FnMut(&Path)) -> Result<Imported, HaulError> {
        let mut control = check::connect(self.target, self.stop)?;
        control
            .exec("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0, autocommit = 1")?;
        let table = exported.table.clone();
        crate::load::lock(&mut control, &table)?;
        if Found::read(&mut control, &table)?.is_some() {
            return match difference(&mut control, &table, exported)? {
                Some(what) => Err(refused(
                    format!(
                        "table {table} is there and is not as it was exported: {what}; it was not changed"
                    ),
                    "load into another database, or drop the table",
                )
                .into()),
                None => Ok(Imported { table, rows: 0, was_there: true, fault: None }),
            };
        }
        let next = make(&mut control, exported)?;
        for file in &exported.files {
            tell(&self.folder.join(&file.name));
            self.load(&mut control, &next, (exported, file))?;
        }
        if self.compares
            && let Some(what) = difference(&mut control, &next, exported)?
        {
            let fault = Some(Fault { of: next, what });
            return Ok(Imported { table, rows: exported.rows, was_there: false, fault });
        }
        control.exec(&format!("RENAME TABLE {} TO {}", quoted(&next), quoted(&table)))?;
        Ok(Imported { table, rows: exported.rows, was_there: false, fault: None })
    }

    fn load(
        &self,
        control: &mut Control,
        table: &str,
        (exported, file): (&Exported, &ExportedFile),
    ) -> Result<(), HaulError> {
        let path = self.folder.join(&file.name);
        let columns: Vec<String> = exported.columns.iter().map(|name| quoted(name)).collect();
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'export' INTO TABLE {} CHARACTER SET utf8mb4 FIELDS TERMINATED BY 0x3B ESCAPED BY 0x5C \
             LINES TERMINATED BY 0x0A ({})",
            quoted(table),
            columns.join(",")
        );
        let opened = File::open(&path).map_err(HaulError::io("read", &path))?;
        let stored = control.load_data_local(&sql, opened)?;
        if stored == file.rows {
            return Ok(());
        }
        let said = control.query("SHOW WARNINGS LIMIT 1")?.rows;
        let said = said.first().and_then(|row| row.get(2)?.clone());
        let server = said.unwrap_or_else(|| "the server gave no reason".to_owned());
        let (path, rows) = (path.display(), file.rows);
        let what = format!("{path}: the server stored {stored} of its {rows} rows ({server})");
        Err(refused(what, "fix what the server says, and run the same command again").into())
    }
}

/// Makes the table that is filled, in the place of one that a killed load left; its name.
fn make(control: &mut Control, exported: &Exported) -> Result<String, HaulError> {
    let table = &exported.table;
    let next = format!("evenkeel_import_{table}");
    if next.chars().count() > LONGEST {
        return Err(no_name(table).into());
    }
    // Whatever else stands in a manifest is no statement for us to make.
    let rest = exported.create.strip_prefix(&format!("CREATE TABLE {} (", quoted(table)));
    let what = || format!("{table}: it has no statement that makes it");
    let rest = rest.ok_or_else(|| refused(what(), "export the tables again"))?;
    control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&next)))?;
    control.exec(&format!("CREATE TABLE {} ({rest}", quoted(&next)))?;
    Ok(next)
}
