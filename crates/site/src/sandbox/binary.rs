//! The server's program is looked for, and tried whether it can serve.

use super::SandboxError;
use crate::server::{Flavor, ServerVersion};
use evenkeel_os::clock::Clock;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where Linux distributions put servers, after PATH.
const USUAL_PLACES: [&str; 6] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/bin", "/usr/local/bin"];

/// The first version that is started: MariaDB's keeps accounts in mysql.global_priv, MySQL's has innodb_redo_log_capacity.
fn oldest(flavor: Flavor) -> (u16, u16, u16) {
    match flavor {
        Flavor::MariaDb => (10, 4, 0),
        Flavor::MySql => (8, 0, 30),
    }
}

/// How long `--version` may take; a program that waits for input is no server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Folders below an installation with libraries of its own, the loader of programs among them.
const LIBRARIES: [&str; 2] = ["lib", "lib64"];

/// Where MariaDB keeps the SQL of its system tables.
const SYSTEM_TABLES: [&str; 3] = ["share/mariadb", "share/mysql", "share"];

/// In the order in which they are run.
const SYSTEM_SQL: [&str; 5] =
    ["system_tables", "performance_tables", "system_tables_data", "maria_add_gis_sp_bootstrap", "sys_schema"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerBinary {
    pub path: PathBuf,
    pub version: ServerVersion,
}

/// How a program is started: by itself, or by the loader of the other system that it belongs to.
pub(super) fn program(path: &Path) -> Command {
    let Some(loader) = loader(path) else { return Command::new(path) };
    let mut command = Command::new(&loader);
    command.arg("--library-path").args(loader.parent()).arg(path);
    command
}

/// The loader of a system that was unpacked elsewhere, for example in a container's root: its programs need its own libc.
fn loader(path: &Path) -> Option<PathBuf> {
    let base =
        path.parent()?.parent().filter(|base| *base != Path::new("/usr") && *base != Path::new("/"))?;
    let folders = LIBRARIES.iter().flat_map(|name| {
        let below = base.join(name).read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        below.chain([base.join(name)])
    });
    let mut files = folders.flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    files.find(|file| file.file_name().to_string_lossy().starts_with("ld-linux")).map(|file| file.path())
}

impl ServerBinary {
    /// The named program, or the first mariadbd there is.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, SandboxError> {
        match named {
            Some(path) => Self::check(path),
            None => Self::check(&search("mariadbd")?),
        }
    }

    fn check(path: &Path) -> Result<Self, SandboxError> {
        let unfit = |reason: String| SandboxError::UnfitBinary { path: path.into(), reason };
        let path = path.canonicalize().map_err(|error| unfit(error.to_string()))?;
        let text = version_text(&path).map_err(unfit)?;
        let version = parse(&text)
            .ok_or_else(|| unfit(format!("it is neither mariadbd nor mysqld: --version says {text:?}")))?;
        match version.flavor {
            flavor if version.numbers >= oldest(flavor) => Ok(Self { path, version }),
            _ => Err(unfit(format!("{version} is too old"))),
        }
    }

    /// The installation it belongs to: `/usr` for `/usr/sbin/mariadbd`.
    pub(super) fn base_dir(&self) -> Option<&Path> {
        let base = self.path.parent()?.parent()?;
        base.join("share").is_dir().then_some(base)
    }

    /// The SQL by which MariaDB makes its system tables; MySQL has it built in.
    pub(super) fn system_tables(&self) -> Result<Vec<PathBuf>, SandboxError> {
        let folders = || SYSTEM_TABLES.iter().filter_map(|folder| Some(self.base_dir()?.join(folder)));
        let found = |name: &str| {
            let names = [format!("mariadb_{name}.sql"), format!("mysql_{name}.sql"), format!("{name}.sql")];
            let mut files = folders().flat_map(|folder| names.clone().map(|name| folder.join(name)));
            files.find(|file| file.is_file()).ok_or_else(|| SandboxError::UnfitBinary {
                path: self.path.clone(),
                reason: format!("its installation has no mariadb_{name}.sql"),
            })
        };
        match self.version.flavor {
            Flavor::MariaDb => SYSTEM_SQL.iter().map(|name| found(name)).collect(),
            Flavor::MySql => Ok(Vec::new()),
        }
    }
}

/// Whether there is a server to start, by name or in the usual places; says which, as "MariaDB 10.11.19".
pub fn check_server(named: Option<&Path>) -> Result<String, SandboxError> {
    let binary = ServerBinary::find(named)?;
    binary.system_tables()?;
    Ok(binary.version.to_string())
}

fn search(name: &str) -> Result<PathBuf, SandboxError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).chain(USUAL_PLACES.map(PathBuf::from)).collect();
    let found = dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| SandboxError::NoServer {
        searched: dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(":"),
    })
}

/// The program of the server's own client.
pub(super) fn client() -> Result<PathBuf, SandboxError> {
    search("mariadb").or_else(|_| search("mysql"))
}

/// What `--version` prints.
fn version_text(path: &Path) -> Result<String, String> {
    let mut child = program(path)
        .args(["--no-defaults", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => "it is not executable".into(),
            // ENOEXEC: neither a program for this machine nor a script with an interpreter.
            _ if error.raw_os_error() == Some(libc::ENOEXEC) => "it is not a program for this machine".into(),
            _ => error.to_string(),
        })?;
    let clock = Clock::start();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Duration::from(clock.now()) > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("--version has not ended after {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // A megabyte of output is no version either.
        stdout.take(4096).read_to_end(&mut text).map_err(|error| error.to_string())?;
    }
    Ok(String::from_utf8_lossy(&text).trim().into())
}

fn parse(text: &str) -> Option<ServerVersion> {
    let (name, rest) = text.split_once(" Ver ")?;
    let known = ["mariadbd", "mysqld"].iter().any(|known| name.trim().ends_with(known));
    known.then(|| ServerVersion::parse(rest.split_whitespace().next()?))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mariadbd");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        (dir, path)
    }

    fn reason(text: &str, mode: u32) -> String {
        let (_dir, path) = script(text, mode);
        for _ in 0..500 {
            let reason = ServerBinary::find(Some(&path)).unwrap_err().to_string();
            // A process that another test is just starting may still hold the file as we wrote it.
            if !reason.contains("Text file busy") {
                return reason;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the file is held for ever");
    }

    #[test]
    fn versions_are_read_from_what_servers_print() {
        let parsed = |text| parse(text).map(|version| version.to_string());
        let debian = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(parsed(debian).as_deref(), Some("MariaDB 10.11.19"));
        let oracle = "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)";
        assert_eq!(parsed(oracle).as_deref(), Some("MySQL 8.0.36"));
        assert_eq!(parsed("mysql  Ver 15.1 Distrib 10.3"), None);
        assert_eq!(parsed("bash, version 5"), None);
    }

    #[test]
    fn a_program_in_another_root_is_started_by_the_loader_of_that_root() {
        let root = tempfile::tempdir().unwrap();
        let (libraries, server) =
            (root.path().join("usr/lib/x86_64-linux-gnu"), root.path().join("usr/sbin/mysqld"));
        assert_eq!(program(&server).get_program(), server.as_os_str());
        std::fs::create_dir_all(&libraries).unwrap();
        std::fs::write(libraries.join("ld-linux-x86-64.so.2"), "").unwrap();
        let command = program(&server);
        assert_eq!(command.get_program(), libraries.join("ld-linux-x86-64.so.2").as_os_str());
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["--library-path".as_ref(), libraries.as_os_str(), server.as_os_str()]);
        assert_eq!(program(Path::new("/usr/sbin/mariadbd")).get_program(), "/usr/sbin/mariadbd");
    }

    #[test]
    fn an_unfit_program_is_refused_with_the_reason() {
        let says = |version: &str| format!("#!/bin/sh\necho 'mariadbd  Ver {version} for Linux'\n");
        assert!(reason("#!/bin/sh\n", 0o600).contains("not executable"));
        assert!(reason("\u{1}\u{2}\u{3}\u{4}", 0o700).contains("not a program for this machine"));
        assert!(
            reason("#!/bin/sh\necho hello\n", 0o700)
                .contains("neither mariadbd nor mysqld: --version says \"hello\"")
        );
        assert!(reason(&says("10.3.39-MariaDB"), 0o700).contains("MariaDB 10.3.39 is too old"));
        assert!(reason(&says("8.0.29"), 0o700).contains("MySQL 8.0.29 is too old"));
        let missing = ServerBinary::find(Some(Path::new("/nonexistent"))).unwrap_err().to_string();
        assert!(missing.contains("No such file"), "{missing}");
    }
}
