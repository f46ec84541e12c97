//! The server that records go to.

use crate::command::Session;
use crate::failure::{Hint, WithHint};
use crate::out;
use crate::server::place;
use anyhow::{Result, anyhow};
use evenkeel_haul::HaulError;
use evenkeel_haul::layout::LayoutFile;
use evenkeel_haul::table::{Engine, Table, Trigger};
use evenkeel_site::server::{Control, Needs, Target, TargetError, preflight};

/// The database in a sandbox where nobody names one.
const DATABASE: &str = "cdr";

/// A server and the database on it; in a sandbox the database is made where it is missing.
pub fn target(session: &Session, text: &str) -> Result<Target> {
    let target = named(session, text)?;
    if text.starts_with("sandbox:") {
        let database = target.database.clone().unwrap_or_default();
        let without = Target { database: None, ..target.clone() };
        let mut control = Control::connect_until(&without, &session.stop)?;
        control
            .exec(&format!("CREATE DATABASE IF NOT EXISTS {}", evenkeel_haul::table::quoted(&database)))?;
    }
    Ok(target)
}

/// The same for who only reads: no database is made.
pub fn named(session: &Session, text: &str) -> Result<Target> {
    if !text.starts_with("sandbox:") {
        let target = Target::parse(text)?;
        place::named_database(&target)?;
        return Ok(target);
    }
    let text = if text.contains('/') { text.to_owned() } else { format!("{text}/{DATABASE}") };
    place::target(session, &text, "")
}

/// Looks whether the server takes loads at all.
pub fn check(session: &Session, target: &Target) -> Result<()> {
    let mut control = Control::connect_until(target, &session.stop)?;
    let privileges = ["SELECT", "INSERT", "UPDATE", "DELETE"].map(str::to_owned).to_vec();
    let needs = Needs {
        sessions: 2,
        writes: true,
        local_infile: true,
        database: target.database.clone(),
        privileges,
        ..Needs::default()
    };
    let Err(problems) = preflight(&mut control, &needs)? else { return Ok(()) };
    match problems.into_iter().find(|problem| problem.blocks) {
        None => Ok(()),
        Some(problem) => Err(anyhow!("{}", problem.text)).hint(problem.hint),
    }
}

/// The same of a load, and says before anything is stored which triggers the rows set off. One that changes what the audit compares is refused.
pub fn check_load(session: &Session, target: &Target, tables: &[Table], audits: bool) -> Result<()> {
    check(session, target)?;
    let mut control = Control::connect_until(target, &session.stop)?;
    for table in tables {
        for Trigger { name, sets } in Trigger::of(&mut control, table)? {
            let of = &table.name;
            match sets.filter(|_| audits) {
                None => out::tell(&format!("trigger {name} fires for each row that is loaded into {of}\n")),
                Some(column) => {
                    let what = format!(
                        "trigger {name} overwrites {of}.{column}, so rows would differ from their records"
                    );
                    return Err(anyhow!(what)).hint(
                        "drop it, take `skip = true` for that field, or load without comparing: --no-audit",
                    );
                }
            }
        }
    }
    Ok(())
}

/// Refuses a server that may forget what it has committed when it is killed, where files are put away: those do not come again.
pub fn check_keeps(session: &Session, target: &Target) -> Result<()> {
    let mut control = Control::connect_until(target, &session.stop)?;
    let flush = control.query_value("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")?;
    if flush.as_deref() != Some("0") {
        return Ok(());
    }
    Err(anyhow!(
        "a server crash can lose the last second of commits (innodb_flush_log_at_trx_commit = 0), and a file that --done has moved is not loaded again"
    ))
    .hint("SET GLOBAL innodb_flush_log_at_trx_commit = 1; or omit --done")
}

/// Adds what a load knows and the library's error does not say.
pub fn explained(error: HaulError) -> anyhow::Error {
    match hint(&error) {
        Some(text) => anyhow::Error::from(error).context(Hint(text)),
        None => error.into(),
    }
}

/// What to do about an error that ended work with records, where the error does not know.
fn hint(error: &HaulError) -> Option<String> {
    let text = match error {
        HaulError::Server(TargetError::Statement { code, .. }) => of_code(*code)?,
        HaulError::Server(
            TargetError::Lost { .. } | TargetError::Silent { .. } | TargetError::Refused { .. },
        ) => {
            "see in the server's error log whether it died or was restarted, and run the same again: what is loaded stays loaded, and the rest follows"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// What to do about an error of the server.
fn of_code(code: u16) -> Option<&'static str> {
    Some(match code {
        1044 | 1142 | 1143 | 1227 | 1370 => {
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, TRIGGER on the database to the account"
        }
        3 | 20 | 1021 | 1030 | 1114 | 1296 => {
            "look for free space at the server, in its datadir and its tmpdir, and run the same again: what is loaded stays loaded"
        }
        1878 => {
            "look for free space in the server's tmpdir, and run the same again: the rows are in, and it adds the indexes"
        }
        1205 | 1213 => {
            "another client holds rows of the table: SHOW PROCESSLIST names it; run the same again"
        }
        1062 | 1586 => {
            "two records have one key: see whether the layout's key names a record, and whether its fields are trimmed alike"
        }
        _ => return None,
    })
}

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
