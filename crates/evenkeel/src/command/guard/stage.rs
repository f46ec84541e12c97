//! The private server of `evenkeel guard demo`, with its tables and, where that is at hand, the guard inside it.

use crate::command::{Session, mode};
use crate::config::units;
use crate::config::workload as workload_file;
use crate::failure::Stopped;
use crate::guard::inside::{install_sql, known_file};
use crate::progress::{ProgressEvent, View};
use crate::server::place as server;
use anyhow::{Context, Result, bail};
use evenkeel_lab::workload::Workload;
use evenkeel_lab::workload::user::{NoColumns, UserWorkload};
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Control, Target, TargetError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags of `evenkeel guard demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A private MariaDB is started and filled. 8 clients buy, straight at the server; then 256 do, straight, with the guard
inside the server, and through the guard as a proxy, twice in turns. Without the plugin's file (`make plugin`) they buy once
straight and once through the proxy. Server and proxy listen at free ports of 127.0.0.1, and all is removed at the end, also
after Ctrl-C.

Examples:
  evenkeel guard demo
  evenkeel guard demo --clients 400 --duration 30s")]
pub struct DemoArgs {
    /// Number of clients in the flash sale
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=450))]
    pub clients: u32,
    /// Length of a load, whole seconds; one in turns takes a half of it, or three quarters with a guard
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = seconds)]
    pub duration: u32,
    /// A mariadbd or mysqld other than the system's
    #[arg(long, value_name = "PATH")]
    pub server_binary: Option<PathBuf>,
    /// The plugin, evenkeel_guard.so [default: where `make plugin` or the package leaves it]
    #[arg(long, value_name = "PATH")]
    pub plugin: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<u32> {
    let seconds = units::duration(text)?.as_secs_f64();
    match (3.0..=600.0).contains(&seconds) && seconds.fract() == 0.0 {
        true => Ok(seconds as u32),
        false => bail!("between 3s and 600s is needed, in whole seconds"),
    }
}

/// The private server's name; two demos in one home would be in each other's way.
const NAME: &str = "guard-demo";

const SCHEMA: &str = include_str!("../../../../../examples/workloads/collapse/schema.sql");
const FLASH_SALE: &str = include_str!("../../../../../examples/workloads/collapse/flash_sale.toml");
const DATABASE: &str = "flash_sale";

/// The log is written out once a second, so that the disk of the machine is not what is seen.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_buffer_pool_size", "128M"),
    ("innodb_log_file_size", "64M"),
    ("innodb_flush_log_at_trx_commit", "2"),
];

/// The account of the clients, which the guard holds back as any other.
const CLIENT: &str = "shop";

/// A running server with data, and what its clients do. Dropping it ends the server.
pub struct Stage {
    /// Name and version of the server, as `MariaDB 10.11.19`.
    pub version: String,
    pub workload: Arc<dyn Workload>,
    /// The file of the guard inside it, or why there is none.
    pub plugin: Result<PathBuf, String>,
    sandbox: Sandbox,
}

impl Stage {
    pub fn build(session: &Session, args: &DemoArgs) -> Result<Self> {
        let mut view = View::new(mode(session, false));
        let file = match &args.plugin {
            Some(file) => Some(file.canonicalize().with_context(|| format!("finding {}", file.display()))?),
            None => known_file(),
        };
        let mut spec = SandboxSpec::new(&session.home, NAME);
        spec.server_binary.clone_from(&args.server_binary);
        spec.settings.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        spec.plugin_dir = file.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let sandbox = Sandbox::up(&spec, &session.stop, &mut |event| server::tell(&mut view, &event))?;
        view.show(&ProgressEvent::Step { text: "filling the tables of the flash sale".to_owned() });
        let mut control =
            Control::connect(&sandbox.tcp_target()).context("connecting to the private server")?;
        let version = control.version().to_string();
        fill(session, &mut control).context("filling the private server")?;
        let plugin = file.ok_or_else(|| "there is no evenkeel_guard.so; `make plugin` makes it".to_owned());
        let plugin = plugin.and_then(|file| match load(&mut control) {
            Ok(()) => Ok(file),
            Err(error) => Err(format!("{version} does not take {}: {error}", file.display())),
        });
        Ok(Self { version, workload: flash_sale()?, plugin, sandbox })
    }

    /// The server as its clients reach it.
    pub fn target(&self) -> Target {
        let database = Some(DATABASE.to_owned());
        Target { database, user: CLIENT.to_owned(), password: None, ..self.control_target() }
    }

    /// As an administrator does, whom the guard lets pass.
    pub fn control_target(&self) -> Target {
        self.sandbox.tcp_target()
    }
}

/// Loads the guard, which holds nobody back until its mode says so.
fn load(control: &mut Control) -> Result<(), TargetError> {
    let administrator = control.target().user.clone();
    control.exec(&install_sql(control.version().flavor))?;
    control.exec(&format!(
        "SET GLOBAL evenkeel_administrators = '{administrator}', GLOBAL evenkeel_mode = 'off'"
    ))?;
    Ok(())
}

pub fn remove(session: &Session) -> Result<()> {
    match sandbox::clean(&session.home, &[NAME.to_owned()]) {
        Ok(_) | Err(SandboxError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn fill(session: &Session, control: &mut Control) -> Result<()> {
    control.exec(&format!("CREATE DATABASE {DATABASE}"))?;
    control.exec(&format!("CREATE USER {CLIENT}@'%' IDENTIFIED BY ''"))?;
    control.exec(&format!("GRANT ALL ON {DATABASE}.* TO {CLIENT}@'%'"))?;
    control.exec(&format!("USE {DATABASE}"))?;
    for statement in statements() {
        if session.stop.is_set() {
            return Err(Stopped("before the server was filled".into()).into());
        }
        control.exec(&statement)?;
    }
    Ok(())
}

/// Those of the schema that make and fill the tables that the flash sale asks.
fn statements() -> Vec<String> {
    let code: Vec<&str> = SCHEMA.lines().filter(|line| !line.starts_with("--")).collect();
    let code = code.join("\n");
    let all = code.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    // CREATE TABLE x, INSERT INTO x
    let table = |statement: &str| statement.split_whitespace().nth(2).map(|name| format!(" {name} "));
    let asked = |statement: &&str| table(statement).is_some_and(|table| FLASH_SALE.contains(&table));
    all.filter(asked).map(str::to_owned).collect()
}

fn flash_sale() -> Result<Arc<dyn Workload>> {
    let definition = workload_file::parse("flash_sale.toml", FLASH_SALE)?;
    Ok(Arc::new(UserWorkload::new(&definition, &mut NoColumns)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tables_of_the_flash_sale_are_made() {
        let begins: Vec<String> = statements()
            .iter()
            .map(|statement| statement.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "CREATE TABLE customer",
            "INSERT INTO customer",
            "CREATE TABLE item",
            "INSERT INTO item",
            "CREATE TABLE sale",
        ];
        assert_eq!(begins, expected);
        assert_eq!(flash_sale().unwrap().name(), "flash_sale");
    }
}
