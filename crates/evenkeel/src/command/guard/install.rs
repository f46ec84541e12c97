//! `evenkeel guard install`: the guard as a plugin of the server.

use super::Session;
use crate::failure::WithHint;
use crate::guard::inside::{LIBRARY, PLUGIN, Status, install_sql, known_file};
use crate::out;
use crate::server::place;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::gate::Mode;
use evenkeel_site::server::{Control, Flavor, Local, Target, TargetError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Flags of `evenkeel guard install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The plugin does what the proxy does, without one: transactions wait in their own sessions at the server. It starts in \
mode watch, in which nothing is held back; SET GLOBAL evenkeel_mode changes it at any time.

Its file, evenkeel_guard.so, has to be in the server's plugin folder: by the Debian package evenkeel-guard-plugin, by \
hand, or by --file for a server on this machine. It is in target/plugin after `make plugin`.

The account needs INSERT on mysql.plugin (--uninstall: DELETE), and SUPER to set the mode (MySQL: \
SYSTEM_VARIABLES_ADMIN).

Examples:
  evenkeel guard install mysql://root@db1
  evenkeel guard install 'mysql://root@/?socket=/run/mysqld/mysqld.sock' --mode auto
  evenkeel guard install mysql://root@127.0.0.1 --file target/plugin/evenkeel_guard.so
  evenkeel guard install mysql://root@db1 --mode 16
  evenkeel guard install mysql://root@db1 --uninstall

Upgrade: --file NEW, or a new package; then uninstall and install it, or restart the server: until then it runs the former file.")]
pub struct InstallArgs {
    /// Server, as mysql://user@host:port or sandbox:NAME
    #[arg(value_name = "URL")]
    url: String,
    /// watch (count what it would hold back), auto (limit, and find the limit), off, or a limit [default: as it is; watch
    /// after the installation]
    #[arg(long, value_name = "watch|auto|off|N", value_parser = mode)]
    mode: Option<String>,
    /// Put this file into the plugin folder first; the server runs on this machine
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Remove the plugin; waiting statements continue
    #[arg(long, conflicts_with_all = ["mode", "file", "untried"])]
    uninstall: bool,
    /// Install it also in a version that it was not tried in
    #[arg(long)]
    untried: bool,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
}

fn mode(text: &str) -> Result<String, String> {
    let known = Mode::parse(text).map(|_| text.trim().to_ascii_lowercase());
    known.ok_or_else(|| "write watch, auto, off, or a limit from 1 to 100000".to_owned())
}

/// Versions in which the plugin was tried.
const TRIED: [(Flavor, (u16, u16)); 3] =
    [(Flavor::MariaDb, (10, 11)), (Flavor::MariaDb, (11, 8)), (Flavor::MySql, (9, 7))];
/// What takes no plugin still takes a proxy.
const PROXY: &str = "use the proxy: evenkeel guard --listen ADDRESS --backend ADDRESS";
/// Error codes of the server.
const NO_LIBRARY: u16 = 1126;
const NO_SYMBOL: u16 = 1127;
const NO_TABLE_GRANT: u16 = 1142;
const NO_GRANT: u16 = 1227;
/// What the plugin, and no other one, has in its file.
const OURS: &[u8] = b"waiting for a place (evenkeel)";
/// The plugin shows what it does this much later at most.
const SETTLED: Duration = Duration::from_millis(400);
/// How often, and how many times, it is seen whether the plugin has gone.
const NAP: Duration = Duration::from_millis(50);
const NAPS: usize = 40;

/// What was found and done.
#[derive(Debug, Serialize)]
struct Told {
    server: String,
    address: String,
    /// `installed`, `was installed`, `uninstalled`, `was not installed`, `leaves`.
    plugin: &'static str,
    version: Option<String>,
    mode: Option<String>,
    /// Whether the server runs a former file.
    restart_needed: bool,
    status: BTreeMap<String, String>,
}

/// Installs the plugin, sets its mode, or removes it.
/// Errors: the server is not fit for it, lacks the file or denies it; each with what to do.
pub fn run(session: &Session, args: &InstallArgs) -> Result<ExitCode> {
    let target = Target { database: None, ..place::target(session, &args.url, "")? };
    let mut control = Control::connect_until(&target, &session.stop)?;
    let told = match args.uninstall {
        true => uninstall(&mut control)?,
        false => install(&mut control, args)?,
    };
    out::answer(args.json, &told, || out::write(&told.text(&target)))?;
    Ok(ExitCode::SUCCESS)
}

fn install(control: &mut Control, args: &InstallArgs) -> Result<Told> {
    if leaves(control)? {
        return Err(anyhow!("the plugin was uninstalled, but sessions that used it still have it"))
            .hint("let each of them run a statement or end, as by a restart of the application's pool, then try again");
    }
    let found = version(control)?;
    if found.is_none() || args.file.is_some() {
        let folder = check(control, args.untried || found.is_some())?;
        if let Some(file) = &args.file {
            put(control, file, &folder)?;
        }
        if found.is_none() {
            exec(control, &install_sql(control.version().flavor), &folder)?;
        }
    }
    if let Some(mode) = &args.mode {
        exec(control, &format!("SET GLOBAL evenkeel_mode = '{mode}'"), Path::new(""))
            .context("setting the mode; the plugin is installed")?;
    }
    std::thread::sleep(SETTLED);
    let plugin = if found.is_some() { "was installed" } else { "installed" };
    let mode = control.query_value("SELECT @@GLOBAL.evenkeel_mode")?;
    let status = Status::read(control)?.values().clone();
    let restart_needed = Local::of(control).is_some_and(|local| runs_old_file(&local));
    Ok(Told { version: version(control)?, mode, status, restart_needed, ..Told::new(control, plugin) })
}

/// Whether the server has a file in memory that was replaced since. It keeps one until the plugin is uninstalled.
fn runs_old_file(local: &Local) -> bool {
    let maps = fs::read_to_string(format!("/proc/{}/maps", local.pid)).unwrap_or_default();
    maps.contains(&format!("/{LIBRARY}.so (deleted)"))
}

fn uninstall(control: &mut Control) -> Result<Told> {
    if version(control)?.is_none() {
        return Ok(Told::new(control, "was not installed"));
    }
    exec(control, &format!("UNINSTALL PLUGIN {PLUGIN}"), Path::new(""))?;
    for _ in 0..NAPS {
        if version(control)?.is_none() {
            return Ok(Told::new(control, "uninstalled"));
        }
        std::thread::sleep(NAP);
    }
    Ok(Told::new(control, "leaves"))
}

/// The version of the plugin in the server; `None` where it has none.
fn version(control: &mut Control) -> Result<Option<String>, TargetError> {
    control.query_value(&format!(
        "SELECT PLUGIN_VERSION FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '{PLUGIN}'"
    ))
}

/// An uninstalled plugin stays as long as sessions have it, and meanwhile no other one can be installed.
fn leaves(control: &mut Control) -> Result<bool> {
    let status = control.query_value(&format!(
        "SELECT PLUGIN_STATUS FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '{PLUGIN}'"
    ))?;
    Ok(status.is_some_and(|status| status == "DELETED"))
}

/// Whether the server is fit for the plugin; its plugin folder.
fn check(control: &mut Control, untried: bool) -> Result<PathBuf> {
    let version = control.version().clone();
    let (major, minor, _) = version.numbers;
    if !untried && !TRIED.contains(&(version.flavor, (major, minor))) {
        return Err(anyhow!(
            "the plugin is for MariaDB 10.11 and 11.8 and MySQL 9.7, and the server is {version}"
        ))
        .hint(format!("{PROXY}; or try the plugin on a test server first, by --untried"));
    }
    let variables = control.variables()?;
    let value = |name: &str| variables.get(name).map_or("", String::as_str);
    let threads = value("thread_handling");
    if threads != "one-thread-per-connection" {
        return Err(anyhow!(
            "thread_handling is {threads}: a transaction that waits would hold a thread of the pool"
        ))
        .hint(format!("set thread_handling=one-thread-per-connection in my.cnf and restart; or {PROXY}"));
    }
    if value("plugin_maturity") == "stable" {
        return Err(anyhow!("plugin_maturity is stable, and the plugin is of maturity gamma"))
            .hint("set plugin_maturity=gamma in my.cnf, the server's own default, and restart");
    }
    Ok(value("plugin_dir").into())
}

/// Makes a statement; an error says what to do.
fn exec(control: &mut Control, sql: &str, folder: &Path) -> Result<()> {
    let Err(error) = control.exec(sql) else { return Ok(()) };
    let text = error.to_string();
    let hint = match error.code() {
        Some(NO_LIBRARY) if text.contains("No such file") => {
            let file = known_file();
            let (file, from) = match &file {
                Some(file) => (file.as_path(), ""),
                None => (
                    Path::new("evenkeel_guard.so"),
                    " (the file is in the Debian package evenkeel-guard-plugin, or made by `make plugin`)",
                ),
            };
            format!(
                "copy the file on the server's host, then try again:\n    {}\n  For a server on this machine \
                 --file does it{from}",
                copy(file, folder)
            )
        }
        Some(NO_LIBRARY) => {
            "the server's user must be able to read the file; its reason is in brackets".to_owned()
        }
        Some(NO_SYMBOL) => format!(
            "this file is not for {}: take the one of this version of evenkeel",
            control.version().flavor
        ),
        Some(NO_TABLE_GRANT) => {
            "log in as root, or: GRANT INSERT, DELETE ON mysql.plugin TO this account".to_owned()
        }
        Some(NO_GRANT) => {
            "log in as root, or grant this account the privilege that the server names, ON *.*".to_owned()
        }
        Some(_) => "the server's error log may say more".to_owned(),
        None => return Err(error.into()),
    };
    Err(error).hint(hint)
}

/// By rename: a server that has loaded the old file goes on with it.
fn copy(file: &Path, folder: &Path) -> String {
    let there = folder.join(format!("{LIBRARY}.so"));
    let (file, there) = (file.display(), there.display());
    format!("install -m 644 {file} {there}.new && mv {there}.new {there}")
}

/// Puts the file into the plugin folder of a server on this machine.
fn put(control: &mut Control, file: &Path, folder: &Path) -> Result<()> {
    let by_hand = format!("on the server's host, as root: {}", copy(file, folder));
    let Some(local) = Local::of(control) else {
        return Err(anyhow!(
            "the server at {} does not run on this machine, or its process cannot be seen",
            control.target().address
        ))
        .hint(by_hand);
    };
    let root = PathBuf::from(format!("/proc/{}/root", local.pid));
    let is_elsewhere = local.data_dir.starts_with(&root);
    let root = if is_elsewhere { root } else { "/".into() };
    let there = root.join(folder.strip_prefix("/").unwrap_or(folder)).join(format!("{LIBRARY}.so"));
    let bytes =
        fs::read(file).with_context(|| format!("reading {}", file.display())).hint(by_hand.clone())?;
    if !bytes.starts_with(b"\x7fELF") || !bytes.windows(OURS.len()).any(|name| name == OURS) {
        return Err(anyhow!("{} is not the evenkeel plugin", file.display()))
            .hint("name the evenkeel_guard.so of this version: `make plugin` builds it");
    }
    let new = there.with_extension("so.new");
    let put = fs::write(&new, &bytes)
        .and_then(|()| fs::set_permissions(&new, Permissions::from_mode(0o644)))
        .and_then(|()| fs::rename(&new, &there));
    put.inspect_err(|_| drop(fs::remove_file(&new)))
        .with_context(|| format!("copying {} to {}", file.display(), there.display()))
        .hint(by_hand)
}

impl Told {
    fn new(control: &Control, plugin: &'static str) -> Self {
        Self {
            server: control.version().to_string(),
            address: control.target().address.to_string(),
            plugin,
            version: None,
            mode: None,
            restart_needed: false,
            status: BTreeMap::new(),
        }
    }

    fn text(&self, target: &Target) -> String {
        let place = format!("{} at {}", self.server, self.address);
        let Some(mode) = &self.mode else {
            let is = match self.plugin {
                "leaves" => {
                    return format!(
                        "the plugin leaves {place} once each session that used it has run another statement or ended; check with SHOW PLUGINS\n"
                    );
                }
                "uninstalled" => "is uninstalled from",
                _ => "was not installed in",
            };
            return format!("the guard {is} {place}\n");
        };
        let value = |name: &str| self.status.get(name).map_or("", String::as_str);
        let is = if self.plugin == "installed" { "is installed" } else { "was installed already" };
        let old = match self.restart_needed {
            true => "The server still runs the old file: restart it to take the new one.\n",
            false => "",
        };
        let next = match mode.as_str() {
            "watch" => format!("Let it limit:   evenkeel guard install {target} --mode auto\n"),
            mode => format!(
                "The plugin stays over a restart, its mode does not. To keep it, write into my.cnf:\n\n  \
                 [mysqld]\n  loose_evenkeel_mode = {mode}\n\n"
            ),
        };
        format!(
            "the guard {is} in {place}, version {}\n\
             mode {mode}: {}; limit {}, {} run, {} wait\n{old}\n{next}\
             Watch it:       evenkeel guard top {target}\n\
             In SQL:         SET GLOBAL evenkeel_mode = 'auto'   (off, watch, auto, or a limit in quotes)\n",
            self.version.as_deref().unwrap_or("unknown"),
            value("state"),
            value("short_limit"),
            value("short_running"),
            value("short_waiting"),
        )
    }
}
