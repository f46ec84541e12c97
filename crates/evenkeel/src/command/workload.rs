//! `evenkeel workload`: a workload file, made of what a server was asked.

use super::Session;
use crate::config::workload::to_toml;
use crate::failure::{Stopped, WithHint};
use crate::server::place;
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use evenkeel_lab::workload::capture::{Group, captured, read_digests, read_slow_log};
use evenkeel_site::server::Control;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

/// Flags of `evenkeel workload`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with workloads.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print a workload file with the statements that took most of a server's time
    From(FromArgs),
}

/// Flags of `evenkeel workload from`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Executions that differ only in their literals are one statement. Its weight is the number of executions.

From a slow log (MariaDB, MySQL) parameters take values of the log, at most 200 rows. Set long_query_time to 0 for a while, so \
that the log has all statements and not only the slow ones. The log may have any size; it is read once.

From a URL the statements are those of performance_schema for that database. Digests hold no values: parameters \
are drawn from the columns that they are compared with. New keys continue after the highest one.

A comment at the top names what was left out, why, and its share of the load. Statements that write are marked.

Examples:
  evenkeel workload from /var/lib/mysql/db1-slow.log --top 10 > shop.toml
  zcat db1-slow.log.gz | evenkeel workload from - > shop.toml
  evenkeel workload from mysql://app@db1/shop > shop.toml
  evenkeel explain mysql://app@db1/shop --workload shop.toml

Exit codes: 0 done; 2 wrong use, no server, or nothing found; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct FromArgs {
    /// Slow log, - for standard input, or a server as mysql://user@host:port/database or sandbox:NAME/DATABASE
    #[arg(value_name = "LOG|URL")]
    pub source: String,
    /// Maximum number of statements in the file
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub top: u16,
}

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Action::From(args) = &args.action;
    let is_server = args.source.contains("://") || args.source.starts_with("sandbox:");
    let (source, name, groups) =
        if is_server { of_server(session, &args.source)? } else { of_log(session, &args.source)? };
    if session.stop.is_set() {
        return Err(Stopped("before all was read".to_owned()).into());
    }
    let captured = captured(&name, groups, args.top.into());
    let text = to_toml(&captured, &source);
    if captured.definition.statements.is_empty() {
        let left: String =
            text.lines().filter(|line| line.starts_with("# ")).map(|line| format!("\n{line}")).collect();
        return Err(anyhow!("{source} has no statement for a workload{left}"))
            .hint("let the application work for a while, with long_query_time = 0, and try again");
    }
    // As it is: its values are the log's.
    out::raw(&text)?;
    if !captured.left_out.is_empty() {
        let count = format::counted(captured.left_out.len(), "statement");
        out::tell(&format!("left out: {count}; the file names the largest, and why\n"));
    }
    Ok(ExitCode::SUCCESS)
}

type Found = (String, String, Vec<Group>);

fn of_log(session: &Session, path: &str) -> Result<Found> {
    let mut input: Box<dyn BufRead> = match path {
        "-" => Box::new(std::io::stdin().lock()),
        _ => {
            let file = File::open(path).with_context(|| format!("cannot read slow log {path}"));
            let file = file.hint("name a file that you may read, or - for standard input")?;
            Box::new(BufReader::with_capacity(1 << 20, file))
        }
    };
    check_plain(path, input.fill_buf().with_context(|| format!("reading slow log {path}"))?)?;
    let read =
        read_slow_log(&mut input, &session.stop).with_context(|| format!("reading slow log {path}"))?;
    let (database, groups) = read.ok_or_else(|| anyhow!("{path} has no entry of a slow log")).hint(
        "name a log that slow_query_log writes; `evenkeel workload from mysql://user@host/database` says where it is",
    )?;
    let name = if database.is_empty() { "slow-log".to_owned() } else { database };
    Ok((format!("slow log {path}"), name, groups))
}

fn check_plain(path: &str, start: &[u8]) -> Result<()> {
    if !start.starts_with(&[0x1f, 0x8b]) {
        return Ok(());
    }
    Err(anyhow!("{path} is compressed by gzip"))
        .hint(format!("decompress it first: `zcat {path} | evenkeel workload from - > shop.toml`"))
}

fn of_server(session: &Session, url: &str) -> Result<Found> {
    let target = place::target(session, url, "")?;
    let name = place::named_database(&target)?.to_owned();
    let mut control = Control::connect_until(&target, &session.stop)?;
    if control.query_value("SELECT @@performance_schema")?.as_deref() != Some("1") {
        return Err(anyhow!("performance_schema is off at {target}, so that there are no digests"))
            .hint(slow_log_hint(&mut control)?);
    }
    let groups = read_digests(&mut control)
        .hint("the account needs SELECT on performance_schema.* and on the tables of the workload")?;
    if groups.is_empty() {
        return Err(anyhow!("performance_schema has no statement for database {name} at {target}"))
            .hint(slow_log_hint(&mut control)?);
    }
    Ok((format!("the statement digests of {target}"), name, groups))
}

/// How to have a slow log made, where it is, and how to end it.
fn slow_log_hint(control: &mut Control) -> Result<String> {
    let mut value = |name: &str| -> Result<String> {
        Ok(control.query_value(&format!("SELECT @@GLOBAL.{name}"))?.unwrap_or_default())
    };
    let (is_on, time) = (value("slow_query_log")?, value("long_query_time")?);
    let (folder, file, output) = (value("datadir")?, value("slow_query_log_file")?, value("log_output")?);
    let path = Path::new(&folder).join(file);
    if is_on == "1" && time.parse() == Ok(0.0) && output.contains("FILE") {
        let path = path.display();
        return Ok(format!(
            "its slow log has all statements, on its machine: evenkeel workload from {path} > shop.toml"
        ));
    }
    let output = if output.contains("FILE") { "" } else { "\n    SET GLOBAL log_output = 'FILE';" };
    Ok(format!(
        "have the server write a slow log; only connections opened after that are logged:\n    \
         SET GLOBAL slow_query_log = 1;\n    SET GLOBAL long_query_time = 0;{output}\n  \
         after some minutes set them back, and read the log on the server's machine:\n    \
         SET GLOBAL slow_query_log = {is_on};\n    SET GLOBAL long_query_time = {time};\n    \
         evenkeel workload from {} > shop.toml",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::hint;

    #[test]
    fn a_compressed_log_is_refused_with_the_command_that_reads_it() {
        let told = hint(&check_plain("x.log.gz", b"\x1f\x8b\x08").unwrap_err()).unwrap();
        assert!(told.contains("`zcat x.log.gz | evenkeel workload from - > "), "{told}");
        assert!(check_plain("x.log", b"# Time").is_ok());
    }
}
