//! Where to: a URL, or a sandbox by name.

use crate::config::workload as user_workload;
use crate::console::Session;
use crate::failure::WithHint;
use crate::progress::{ProgressEvent, View};
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_lab::data::{DataError, DataSpec, Stamp, State, dvdstore};
use evenkeel_lab::workload::user::ColumnReader;
use evenkeel_lab::workload::{self, Database, Workload, sql};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{self, Domain, SandboxEvent, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The database in a sandbox where nobody names one, for a workload or a data set of this name.
pub fn default_database(workload: &str) -> &'static str {
    if workload == dvdstore::NAME { dvdstore::NAME } else { DataSpec::DATABASE }
}

/// A sandbox and the database in it, of `sandbox:NAME` or `sandbox:NAME/DATABASE`, for this workload.
pub fn named<'a>(text: &'a str, workload: &str) -> Option<(&'a str, &'a str)> {
    let name = text.strip_prefix("sandbox:")?;
    Some(name.split_once('/').unwrap_or((name, default_database(workload))))
}

/// A server by `mysql://...`, `sandbox:NAME` or `sandbox:NAME/DATABASE`, for this workload.
pub fn target(session: &Session, text: &str, workload: &str) -> Result<Target> {
    let Some((name, database)) = named(text, workload) else {
        return Ok(Target::parse(text)?);
    };
    if is_file(workload) && !text.contains('/') {
        return Err(anyhow!("{workload} needs a database, and {text} names none"))
            .hint(format!("name it: {text}/DATABASE"));
    }
    let sandbox =
        sandbox::find(&session.home, name).with_context(|| format!("looking for sandbox {name}"))?;
    Ok(Target { database: Some(database.to_owned()), ..sandbox.target() })
}

/// Whether this names a file of the user's.
pub fn is_file(workload: &str) -> bool {
    Path::new(workload).extension().is_some_and(|extension| extension == "toml" || extension == "sql")
}

pub fn workload(name: &str, database: impl Into<Database>) -> Result<Arc<dyn Workload>> {
    workload::find(name, database).hint(WORKLOAD_HINT)
}

/// Whether there is a workload of this name.
pub fn check_workload(name: &str) -> Result<()> {
    workload::check_name(name).hint(WORKLOAD_HINT)
}

const WORKLOAD_HINT: &str = "`evenkeel explain --list` names all; a file of your own ends in .toml or .sql";

/// The database that a server is named with.
pub fn named_database(target: &Target) -> Result<&str> {
    let name = target.database.as_deref().ok_or_else(|| anyhow!("{target} names no database"));
    name.hint(format!("name the database: {target}/shop"))
}

/// The data set on a server, with what write runs have added.
pub fn database(target: &Target, workload: &str, stop: &Stop) -> Result<Database> {
    let mut control = Control::connect_until(target, stop)?;
    let name = named_database(target)?;
    let flag = if workload == dvdstore::NAME { " --workload dvdstore" } else { "" };
    let Some(stamp) = Stamp::read(&mut control)? else {
        let tables = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() LIMIT 1";
        let hint = match control.query_value(tables)? {
            // `data fill` would refuse a database with tables of somebody else.
            Some(_) => format!(
                "its tables are your own: `evenkeel workload from {target} > shop.toml` makes a workload for them, then name it by --workload shop.toml"
            ),
            None => format!("fill it by `evenkeel data fill {target}{flag}`"),
        };
        return Err(anyhow!("database {name:?} at {target} holds no data set of Evenkeel")).hint(hint);
    };
    if stamp.state == State::Building {
        return Err(DataError::HalfFinished { database: name.to_owned() }.into());
    }
    Ok(Database::read(stamp.set, &mut control)?)
}

/// Whether this names a server that others may use too: by its URL.
pub fn is_of_others(text: &str) -> bool {
    !text.starts_with("sandbox:")
}

/// Refuses statements that write or lock on a server that others use, unless that is allowed. None of them was sent by then.
/// Errors: names the first such statement and what it does; the server does not answer.
pub fn check_writes(
    session: &Session,
    (text, asked, allowed): (&str, &str, bool),
    target: &Target,
    workload: &dyn Workload,
) -> Result<()> {
    // Workloads by name ask the data set of `evenkeel data fill` alone.
    if allowed || !is_of_others(text) || !is_file(asked) {
        return Ok(());
    }
    let mut control = Control::connect_until(target, &session.stop)?;
    let stored = control.stored_functions().map_err(|error| anyhow!("{error}"))?;
    let harmful = workload
        .statements()
        .iter()
        .find_map(|statement| sql::harm(&statement.sql, &stored).map(|harm| (&statement.name, harm)));
    let Some((name, harm)) = harmful else { return Ok(()) };
    Err(anyhow!(
        "statement {name:?} of {asked} {harm}, and {target} may have other users; the statement was not run"
    ))
    .hint("where it may do so, add --allow-writes (allow-writes = true in [profile] of a study file, allow-writes=yes for `study variation`); otherwise measure a copy: a private server by `evenkeel sandbox up NAME`, filled from a dump")
}

pub fn remote_workload(session: &Session, asked: &str, target: &Target) -> Result<Arc<dyn Workload>> {
    if is_file(asked) {
        let mut control = Control::connect_until(target, &session.stop)?;
        let loaded = user_workload::load(asked.as_ref(), &mut control);
        let is_nowhere = |error: &anyhow::Error| error.to_string().contains("error 1046 ");
        return match loaded {
            Err(error) if is_nowhere(&error) => Err(error).hint(format!("name the database: {target}/shop")),
            loaded => Ok(Arc::new(loaded?)),
        };
    }
    // An unknown name is told before the server is asked what it holds.
    check_workload(asked)?;
    workload(asked, database(target, asked, &session.stop)?)
}

/// What a private server is like.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Private server")]
pub struct ServerArgs {
    /// Path of another mariadbd or mysqld than the system's; it may be inside the root of another system
    #[arg(long, value_name = "PATH")]
    pub server_binary: Option<PathBuf>,
    /// A setting of the server, for example innodb_buffer_pool_size=64M
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Where the server runs: `host`, or any of cpus=0-1, quota=50% (of one CPU), weight=400, memory=256M, disk-iops=300, disk-rate=20M,
    /// file-disk=20G (its data on ext4 in a file; 20G:xfs, 20G:btrfs), net (a network and address of its own) or net=20M (bytes per
    /// second), as cpus=0,quota=50%,memory=256M. Limits are tried first, those of the disk by reads, and refused if without effect [default: host; of a profile, all
    /// CPUs but the last]
    #[arg(long, value_name = "DOMAIN", default_value = "host", hide_default_value = true)]
    pub at: Domain,
}

/// A sandbox as the flags describe it.
pub fn spec(session: &Session, args: &ServerArgs, name: String) -> Result<SandboxSpec> {
    let mut spec = SandboxSpec::new(&session.home, name);
    spec.server_binary.clone_from(&args.server_binary);
    for setting in &args.set {
        let Some((name, value)) = setting.split_once('=') else {
            bail!("--set {setting:?} is not a setting; write it as innodb_buffer_pool_size=64M");
        };
        spec.settings.insert(name.trim().replace('-', "_"), value.trim().to_owned());
    }
    spec.domain = args.at.clone();
    Ok(spec)
}

/// Shows what happens to a sandbox.
pub fn tell(view: &mut View, event: &SandboxEvent) {
    let text = match event {
        SandboxEvent::Bootstrapping { server } => format!("making a data directory for {server}"),
        SandboxEvent::Starting { pid } => format!("starting the server (process {pid})"),
        SandboxEvent::Stopping { pid } => format!("stopping the server (process {pid})"),
        SandboxEvent::Note(text) => text.clone(),
        _ => return,
    };
    view.show(&ProgressEvent::Step { text });
}
