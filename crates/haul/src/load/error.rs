//! What ends a load.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("another load into {0} is under way")]
    Busy(String),
    #[error(
        "{} was loaded into {tables} before with {known_bytes} bytes, now it has {now_bytes}: {}",
        path.display(), replaced(*is_cut)
    )]
    Replaced { path: PathBuf, tables: String, known_bytes: u64, now_bytes: u64, is_cut: bool },
    #[error("{} was begun with another layout, up to byte {end}", path.display())]
    Layout { path: PathBuf, end: u64 },
    #[error("{} and {} are the same, byte by byte", first.display(), second.display())]
    Same { first: PathBuf, second: PathBuf },
    #[error("{rows} rows were loaded into {table} (table evenkeel_loads), but it has none{}", went(*moved))]
    Gone { table: String, rows: u64, moved: u64 },
    #[error(
        "{rows} rows that were loaded into {table} are in day tables, and --again would load them once more"
    )]
    Moved { table: String, rows: u64 },
    #[error(
        "a load into {tables} was interrupted; its rows cannot be distinguished from others, and the tables cannot be emptied: {why}"
    )]
    NotOurs { tables: String, why: String },
    #[error("{}{}: {what} ({count} in bytes {begin}..{end}, which are not stored)", path.display(), offset.map(|at| format!(":{at}")).unwrap_or_default())]
    Warned { path: PathBuf, offset: Option<u64>, what: String, count: u64, begin: u64, end: u64 },
    #[error("{}{}: {what}; {tables} cannot take that back, so that the next load empties it and begins again", path.display(), offset.map(|at| format!(":{at}")).unwrap_or_default())]
    Stuck { path: PathBuf, offset: Option<u64>, what: String, tables: String },
    #[error("{}, bytes {begin}..{end}: {sent} rows were sent and {stored} stored, and the server does not say why", path.display())]
    Count { path: PathBuf, begin: u64, end: u64, sent: u64, stored: u64 },
    #[error("evenkeel_load_parts has invalid entries for {tables}, file {}: {what}", path.display())]
    Manifest { tables: String, path: PathBuf, what: String },
    #[error("every record was refused: nothing was stored")]
    AllRefused,
    #[error("{0}")]
    Cannot(String),
}

impl LoadError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Moved { .. } => {
                "leave --again out; drop the day tables first where all is to be loaded anew"
            }
            Self::Busy(_) => "wait until it is done; SHOW PROCESSLIST names the connections",
            Self::Replaced { is_cut: true, .. } => {
                "load complete files only; `evenkeel cdr audit` names the records that are missing: write them into a new file and load that"
            }
            Self::Replaced { .. } => {
                "give the new file another name, or put the former one back to go on with it"
            }
            Self::Layout { .. } => {
                "go on with the layout that it was begun with, or empty the table and take --again"
            }
            Self::Same { .. } => "name it once",
            Self::Gone { .. } => {
                "where the rows were removed on purpose, --again forgets what evenkeel_loads says and loads all"
            }
            Self::NotOurs { .. } => {
                "name all files that were loaded into it, or remove by hand what the cut load brought, and take --again on an empty table"
            }
            Self::Warned { what, .. } if what.contains("key is in the table") => {
                "--warnings reject makes rejects of such records; or see whether the layout's key names a record"
            }
            Self::Warned { .. } => {
                "alter the column, drop the CHECK, correct the layout, or take --warnings reject where no CHECK refuses it"
            }
            Self::Stuck { .. } => {
                "alter the column or correct the layout, and load again; InnoDB can refuse single records"
            }
            Self::Count { .. } => "see whether a trigger or another client removes rows of the table",
            Self::Manifest { .. } => {
                "see who else writes to the tables evenkeel_loads and evenkeel_load_parts"
            }
            Self::AllRefused => {
                "its file in the folder of rejects has the reasons; correct the layout and begin again, or move the file away"
            }
            Self::Cannot(_) => "leave one of them out",
        }
    }
}

fn replaced(is_cut: bool) -> &'static str {
    match is_cut {
        true => "before, its last record was cut or had no line end, and was taken as it was",
        false => "its content has changed",
    }
}

fn went(moved: u64) -> String {
    if moved == 0 { String::new() } else { format!(", and {moved} of them are in day tables") }
}
