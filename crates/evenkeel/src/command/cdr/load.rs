//! `evenkeel cdr load`.

use super::convert::{DUPLICATES, Shown, Words, counted, one_of};
use super::layout::Audited;
use super::server;
use crate::command::Session;
use crate::config::units;
use crate::failure::{FINDING, Stopped, WithHint};
use crate::format::count;
use crate::out;
use anyhow::{Result, anyhow, bail};
use evenkeel_haul::HaulError;
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::layout;
use evenkeel_haul::load::{Check, Indexes, Job, Loaded, MaxRejects, Options, Warnings};
use evenkeel_haul::table::{Engine, Table};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr load mysql://app@db1/billing incoming/ --layout calls.toml --table calls
  evenkeel cdr load sandbox:demo calls-0801.cdr.gz --layout calls.toml --engine myisam --index calling,start
  evenkeel cdr load sandbox:demo calls.cdr --layout calls.toml --index calling --indexes after
  evenkeel cdr load sandbox:demo calls.cdr --layout calls.toml --connections 2 --warnings reject --json
  evenkeel cdr load sandbox:demo calls.cdr --layout calls.toml --corrected calls.rejects
  evenkeel cdr load sandbox:demo/calls --export /backup/calls
  evenkeel cdr load --layout calls.toml --print-table

Every record becomes a row or a reject, once. The table evenkeel_loads of the same database has the files that were loaded,
evenkeel_load_parts their parts, each written in the transaction of its rows. After a kill, a lost server or a full disk run the same
command again: it loads what is missing. MyISAM and Aria have no transactions: after a load that was cut the table is emptied and all
files are loaded again, unless it may hold rows of somebody else. Let nobody else write to it until then.

A missing table is made: its columns are as wide as the fields, the layout's key is the primary key (--print-table). Several types of
record go to tables of their own, named by the type; with `--table NAME` NAME_type.

To load rejected records later, correct the RECORD in the rejects file, or fix the layout, and pass that file with --corrected and the
original files as FILE. Each record is stored once, however often this runs; what is still wrong stays a reject. The rejects file
itself is left as it is; a load that takes lines out of it keeps the old one as calls.rejects.before.

With --export the tables of `evenkeel cdr export` are made and loaded again (--table: one of them). All files are checked first. A table
gets its name once its rows are compared with the export; one that is there already must be as it was exported.

At the end what is new is compared with the tables and the rejects, as `evenkeel cdr audit` does. That reads both once more; --no-audit
skips it.

Exit codes: 0 done; 1 a file has more rejects than --max-rejects, nothing is stored while rejects remain, or the audit found something; 2
wrong use, a server that refuses, or a file that cannot be read; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database, sandbox:NAME or sandbox:NAME/DATABASE (default there: cdr)
    #[arg(value_name = "URL", required_unless_present = "print_table")]
    pub target: Option<String>,
    /// Files, folders or patterns; .gz and .zst are unpacked
    #[arg(value_name = "FILE", required_unless_present_any = ["print_table", "export"])]
    pub inputs: Vec<String>,
    /// Layout of the records, as in `cdr convert --help`
    #[arg(long, short, value_name = "FILE", required_unless_present = "export")]
    pub layout: Option<PathBuf>,
    /// Load the tables that `evenkeel cdr export` wrote to this folder, and compare their checksums
    #[arg(long, value_name = "DIR", conflicts_with_all = ["inputs", "layout", "engine", "index", "when", "connections",
        "transaction", "warnings", "rejects", "corrected", "duplicates", "again", "max_rejects", "print_table"])]
    pub export: Option<PathBuf>,
    #[command(flatten)]
    pub table: server::Flags,
    /// Engine of a table that is made
    #[arg(long, value_name = "ENGINE", default_value = "innodb", value_parser = one_of(ENGINES))]
    pub engine: Engine,
    /// When further indexes are made: before or after the rows
    #[arg(long = "indexes", value_name = "WHEN", default_value = "before", value_parser = one_of(INDEXES))]
    pub when: Indexes,
    /// Connections that send rows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub connections: u8,
    /// Bytes of a file in one transaction, at least 1M; memory holds a few times as many
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = part_bytes)]
    pub transaction: u64,
    /// What happens to a record that the server changes or refuses
    #[arg(long, value_name = "WHAT", default_value = "end", value_parser = one_of(WARNINGS))]
    pub warnings: Warnings,
    /// File for the rejects [default: TABLE.rejects]
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Rejects file of FILEs already loaded: load the records that were corrected in it or that --layout now accepts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["again", "max_rejects"])]
    pub corrected: Option<PathBuf>,
    /// What happens to a record whose key occurred earlier in this run
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = one_of(DUPLICATES))]
    pub duplicates: Duplicates,
    /// Do not compare the files with the tables at the end
    #[arg(long)]
    pub no_audit: bool,
    /// Load files again whose tables are empty or gone since
    #[arg(long)]
    pub again: bool,
    /// Rejects of a file, as a count or a share: with more of them nothing of it is stored; 100% counts none
    #[arg(long, value_name = "N|P%", default_value = "5%", value_parser = max_rejects)]
    pub max_rejects: MaxRejects,
    /// Print the CREATE TABLE statement and load nothing
    #[arg(long)]
    pub print_table: bool,
    /// Print what became of the records as JSON
    #[arg(long)]
    pub json: bool,
}

const ENGINES: &Words<Engine> = &[
    ("innodb", Engine::InnoDb, "With transactions: a load that was cut continues"),
    ("myisam", Engine::MyIsam, "Without; not safe in a crash, and not for `cdr dispatch`"),
    ("aria", Engine::Aria, "Without, as TRANSACTIONAL=0"),
];
const INDEXES: &Words<Indexes> =
    &[("before", Indexes::Before, "With the table"), ("after", Indexes::After, "Once the rows are in")];
pub(super) const WARNINGS: &Words<Warnings> = &[
    ("end", Warnings::End, "The load stops; nothing of its transaction is stored"),
    ("reject", Warnings::Reject, "It becomes a reject; a record that a CHECK refuses ends the load"),
];

/// Loads what is not in yet, and prints what became of the records.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match (&args.export, &args.target) {
        (Some(folder), Some(target)) => {
            let options = (args.table.table.as_ref(), !args.no_audit, args.json);
            super::export::load(session, target, folder, options)
        }
        _ => records(session, args),
    }
}

/// Loads files of records.
fn records(session: &Session, args: &Args) -> Result<ExitCode> {
    let path = args.layout.as_deref().unwrap_or(Path::new(""));
    let file = layout::read(path).hint("evenkeel cdr convert --help shows a layout")?;
    let tables = args.table.tables(&file, args.engine)?;
    let Some(text) = args.target.as_ref().filter(|_| !args.print_table) else {
        return print(&tables, args);
    };
    let inputs = super::convert::files(&args.inputs)?;
    let target = server::target(session, text)?;
    server::check_load(session, &target, &tables, !args.no_audit)?;
    let rejects =
        args.rejects.clone().unwrap_or_else(|| PathBuf::from(format!("{}.rejects", tables[0].name)));
    expect_folder(&rejects)?;
    let shown = Shown::new(super::convert::view(session, args.json));
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    let sent = AtomicU64::new(0);
    let first = inputs.first().cloned();
    let job = Job {
        file: &file,
        inputs,
        target: &target,
        tables,
        rejects: &rejects,
        corrected: args.corrected.as_deref(),
        duplicates: args.duplicates,
        options: options(args),
        sent: &sent,
        stop: &session.stop,
    };
    let mut rows = 0;
    let loaded = job.run(&mut |progress| {
        rows = progress.rows.max(rows);
        shown.tell(progress);
    });
    if let Err(HaulError::Rejects(refused)) = &loaded {
        drop(shown);
        let fixed = first.as_deref().filter(|_| file.layout.dialect().is_none());
        let delimited = fixed.and_then(super::layout::delimited).unwrap_or_default();
        out::tell(&format!("{refused}\n  hint: {}\n{delimited}", refused.hint));
        return Ok(ExitCode::from(FINDING));
    }
    let loaded = loaded.map_err(|error| match error.is_stop() {
        true => {
            Stopped(format!("after {}; run the same command again to go on", counted(rows, "row"))).into()
        }
        false => server::explained(error),
    })?;
    if !args.json {
        out::write(&text_of(&loaded, &rejects, args.corrected.as_deref()))?;
    }
    let check = Check {
        file: &file,
        target: &target,
        tables: &names,
        rejects: &rejects,
        duplicates: args.duplicates,
        scratch: &std::env::temp_dir(),
        names: super::audit::names(args.json),
        stop: &session.stop,
    };
    ended(args, &loaded, &check, shown)
}

/// Audits what was loaded, unless it is not wanted, and says how both ended.
fn ended(args: &Args, loaded: &Loaded, check: &Check<'_>, shown: Shown) -> Result<ExitCode> {
    let is_wanted = !args.no_audit && loaded.wants_audit();
    let audited = is_wanted.then(|| Audited::of(check, loaded, shown)).transpose()?;
    let value = json(loaded, audited.as_ref())?;
    let text = audited.as_ref().map_or_else(String::new, Audited::text);
    out::answer(args.json, &value, || out::write(&text))?;
    if audited.is_some() {
        check.note(loaded)?;
    }
    let found = audited.is_some_and(|audited| audited.total() > 0);
    // By the server: what does not fit its layout was refused before. A file that comes again has duplicates alone.
    let tally = &loaded.tally;
    let refused = tally.lines.iter().all(|rows| *rows == 0) && tally.rejects > tally.duplicates;
    Ok(if found || refused { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

/// Before the server is asked for anything: the folder of the rejects is there.
fn expect_folder(rejects: &Path) -> Result<()> {
    let folder = rejects.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.filter(|folder| !folder.is_dir()).map_or(Ok(()), |folder| {
        Err(anyhow!("there is no folder {}", folder.display()))
            .hint("make it, or name another file by --rejects")
    })
}

fn print(tables: &[Table], args: &Args) -> Result<ExitCode> {
    for table in tables {
        let (create, later) = match args.when {
            Indexes::Before => (table.create_sql(), None),
            Indexes::After => (table.create_bare_sql(), table.add_indexes_sql()),
        };
        out::line(format!("{create};"))?;
        later.map_or(Ok(()), |sql| out::line(format!("-- once the rows are in:\n{sql};")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A count, or a share as 5%.
pub(super) fn max_rejects(text: &str) -> Result<MaxRejects> {
    match text.parse() {
        Ok(count) => Ok(MaxRejects::Count(count)),
        Err(_) if text.trim() == "0%" => Ok(MaxRejects::Count(0)),
        Err(_) => Ok(MaxRejects::Share(units::share(text)?)),
    }
}

/// Bytes of one transaction; a file is read by the mebibyte.
pub(super) fn part_bytes(text: &str) -> Result<u64> {
    match units::bytes(text)? {
        bytes if (1 << 20..=1 << 30).contains(&bytes) => Ok(bytes),
        _ => bail!("not between 1M and 1G; write it as 32M"),
    }
}

fn options(args: &Args) -> Options {
    Options {
        connections: args.connections.into(),
        indexes: args.when,
        part_bytes: args.transaction,
        warnings: args.warnings,
        again: args.again,
        max_rejects: args.max_rejects,
        audited: !args.no_audit,
    }
}

/// What became of the records, and what the audit found.
fn json(loaded: &Loaded, audited: Option<&Audited>) -> Result<Value> {
    let mut value = serde_json::to_value(loaded)?;
    value["audit"] = audited.map(Audited::json).into();
    Ok(value)
}

/// What became of the records, in words.
fn text_of(loaded: &Loaded, rejects: &Path, corrected: Option<&Path>) -> String {
    let mut text: String = loaded.notes.iter().map(|note| format!("{note}\n")).collect();
    let before: u64 = loaded.files.iter().map(|file| file.records_before).sum();
    if before > 0 {
        let rows: u64 = loaded.files.iter().map(|file| file.rows_before).sum();
        text.push_str(&format!("already loaded: {}, {}", counted(before, "record"), counted(rows, "row")));
        text.push_str(match loaded.files.iter().any(|file| file.rejects_before > 0) {
            true => "; the others are rejects\n",
            false => "\n",
        });
    }
    for file in loaded.files.iter().filter(|file| file.identity.size == 0) {
        text.push_str(&format!("{} is empty\n", file.path.display()));
    }
    let tally = &loaded.tally;
    let rows: u64 = tally.lines.iter().sum();
    if let Some(corrected) = corrected {
        let (rejects, now, still) = (counted(tally.records, "reject"), count(rows), count(tally.rejects));
        text.push_str(&format!(
            "{} of {}: {now} stored now, {still} still rejected\n",
            rejects,
            corrected.display()
        ));
        return text + &super::convert::reasons(tally);
    }
    text.push_str(&format!(
        "{}: {}, {}\n",
        counted(tally.records, "record"),
        counted(rows, "row"),
        counted(tally.rejects, "reject")
    ));
    text.push_str(&super::convert::reasons(tally));
    if tally.rejects > 0 {
        text.push_str(&format!("each with file, byte offset, reason and record in {}\n", rejects.display()));
    }
    text
}
