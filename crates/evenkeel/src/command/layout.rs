//! `evenkeel layout`: how the pages of tables and indexes lie in their files.

use super::Session;
use crate::failure::{FINDING, WithHint, line};
use crate::out;
use crate::pages::{FoundFile, data_of, json, of_directory, of_file, read_live, table};
use crate::server::place;
use anyhow::{Result, anyhow};
use evenkeel_sense::pages::read;
use evenkeel_site::sandbox::{self, SandboxInfo, State};
use evenkeel_site::server::Control;
use std::path::Path;
use std::process::ExitCode;

/// Flags of `evenkeel layout`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It reads .ibd files, the ibdata1 or the whole data directory of a stopped server, and the tables of a server that runs on \
this machine (all, or those of the database in its URL), which holds them one by one while they are read. Names of indexes come \
from the server, the dictionary in ibdata1, or since MySQL 8 the file itself; otherwise indexes have numbers. Nothing is written.

  in order   share of leaves whose successor in key order is the next page of the file; 1 after a
             bulk load
  mean jump  mean distance from a leaf to its successor, in pages
  extents    extents of 1 MiB that a range of keys (--range) touches on average, and the least
             possible number

Below the columns: values kept outside their rows, and the room that a rebuild would give back (8 MiB and 30 % of the file at \
least). Rows that are deleted but not cleared away yet count as deleted.

Memory: 11 bytes for each page, 740 MB for a file of 1 TB. Compressed, encrypted and damaged files are refused.

Examples:
  evenkeel layout /var/lib/mysql/shop/item.ibd
  evenkeel layout sandbox:demo --table item
  evenkeel layout /var/lib/mysql --json
  evenkeel layout mysql://root@localhost/shop

Tables of a server that cannot be read (compressed, encrypted, held by a transaction) are left out and named on stderr.

Exit codes: 0 done; 1 a chain of pages is broken, or tables were left out; 2 wrong use, or a file that cannot be read; 130, 143 stopped by \
Ctrl-C, SIGTERM.")]
pub struct Args {
    /// An .ibd file, ibdata1, a data directory, sandbox:NAME[/DATABASE], or a server on this machine as mysql://user@host:port/database
    #[arg(value_name = "FILE|DATADIR|URL")]
    pub place: String,
    /// Only this table, as item or shop.item
    #[arg(long, value_name = "TABLE")]
    pub table: Option<String>,
    /// Length of the range of keys, percent of an index
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = range)]
    pub range: f64,
    /// Also indexes of the server's own tables
    #[arg(long)]
    pub all: bool,
    /// As JSON, for programs
    #[arg(long)]
    pub json: bool,
}

fn range(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match number {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err("write it as 5%, above 0% and up to 100%".to_owned()),
    }
}

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let mut left_out = 0_usize;
    let found = found(session, args, &mut |name, error| {
        left_out += 1;
        out::tell(&format!("left out: {name}: {}\n", line(&error)));
    })?;
    let table_wanted = args.table.as_deref();
    if let Some(name) = table_wanted
        && found.iter().all(|file| file.indexes(Some(name), true).is_empty())
    {
        return Err(anyhow!("no table {name} in {}", args.place))
            .hint("without --table all tables are listed; a server without a dictionary in ibdata1 names no indexes");
    }
    let shown = || table(&found, table_wanted, args.all, args.range, super::look());
    out::answer(args.json, &json(&found, table_wanted, args.range), || out::painted(&shown()))?;
    let is_whole = found.iter().all(|file| file.space.broken.is_empty());
    Ok(if is_whole && left_out == 0 { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

type Left<'a> = &'a mut dyn FnMut(&str, anyhow::Error);

fn found(session: &Session, args: &Args, left: Left<'_>) -> Result<Vec<FoundFile>> {
    let table = args.table.as_deref();
    let is_database = args.place.starts_with("sandbox:") && args.place.contains('/');
    if is_database || args.place.contains("://") {
        return of_server(session, args, left);
    }
    let Some(name) = args.place.strip_prefix("sandbox:") else {
        return stopped(Path::new(&args.place), table, args.range, session, left);
    };
    let info = sandbox_of(session, name)?;
    let data = info.dir.join("data");
    match info.state {
        State::Running { .. } => {
            let server = sandbox::find(&session.home, name)?;
            read_live(&server.target(), &data, table, args.range, &session.stop, left)
        }
        _ => stopped(&data, table, args.range, session, left),
    }
}

/// The tables of a server that runs on this machine.
fn of_server(session: &Session, args: &Args, left: Left<'_>) -> Result<Vec<FoundFile>> {
    let target = place::target(session, &args.place, "")?;
    let data = data_of(&mut Control::connect_until(&target, &session.stop)?)?;
    let data = data.ok_or_else(|| {
        anyhow!("{target} does not run on this machine, or its files may not be read, and layout reads files")
    });
    let data = data.hint("run it on the server's machine, as root or as the user of the server")?;
    read_live(&target, &data, args.table.as_deref(), args.range, &session.stop, left)
}

fn sandbox_of(session: &Session, name: &str) -> Result<SandboxInfo> {
    sandbox::list(&session.home)?
        .into_iter()
        .find(|info| info.name == name)
        .ok_or_else(|| anyhow!("there is no sandbox {name}"))
        .hint("`evenkeel sandbox list` names all; `evenkeel sandbox up NAME --ebs 10` makes one with data")
}

fn stopped(
    path: &Path,
    table: Option<&str>,
    range: f64,
    session: &Session,
    left: Left<'_>,
) -> Result<Vec<FoundFile>> {
    let files = if path.is_dir() { of_directory(path, table)? } else { of_file(path)? };
    let mut found = Vec::new();
    for file in &files.paths {
        match read(file, range, &session.stop) {
            Ok(space) => found.push(FoundFile::new(file, space, &files.names)),
            Err(error) if table.is_some() || files.paths.len() == 1 || session.stop.is_set() => {
                return Err(error.into());
            }
            Err(error) => left(&file.display().to_string(), error.into()),
        }
    }
    Ok(found)
}
