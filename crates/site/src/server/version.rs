//! A server is of a line, MariaDB or MySQL, and of a version.

use evenkeel_core::Nanos;
use evenkeel_os::clock::unix_time;
use std::path::PathBuf;
use std::{fmt, io};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavor {
    MariaDb,
    /// Oracle's MySQL, Percona Server and others of that line.
    MySql,
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    pub flavor: Flavor,
    pub numbers: (u16, u16, u16),
    /// As the server says it.
    pub text: String,
}

impl ServerVersion {
    /// Reads what `SELECT VERSION()` answers; `None` where no number leads it.
    pub fn parse(text: &str) -> Option<Self> {
        let flavor = match text.to_ascii_lowercase().contains("mariadb") {
            true => Flavor::MariaDb,
            false => Flavor::MySql,
        };
        // MariaDB's handshake may carry "5.5.5-" in front for the sake of old replicas.
        let bare = match flavor {
            Flavor::MariaDb => text.strip_prefix("5.5.5-").unwrap_or(text),
            Flavor::MySql => text,
        };
        let mut numbers = bare.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u16>);
        let major = numbers.next()?.ok()?;
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
        Some(Self { flavor, numbers: (major, next(), next()), text: text.into() })
    }

    /// Refuses what is older than MariaDB 10.3 or MySQL 5.7; `address` is for the error.
    pub(super) fn check(&self, address: &str) -> Result<(), TargetError> {
        let oldest = match self.flavor {
            Flavor::MariaDb => (10, 3, 0),
            Flavor::MySql => (5, 7, 0),
        };
        match self.numbers >= oldest {
            true => Ok(()),
            false => Err(TargetError::TooOld { address: address.to_owned(), version: self.text.clone() }),
        }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.numbers;
        write!(f, "{} {major}.{minor}.{patch}", self.flavor)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("invalid target {url:?}: {reason}")]
    Url { url: String, reason: String },
    #[error("cannot use option file {}: {reason}", path.display())]
    OptionFile { path: PathBuf, reason: String },
    #[error("cannot reach {address}: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("cannot connect to {address}: connection refused")]
    Refused { address: String },
    #[error("no answer from {address} within {seconds} s while {doing}")]
    Timeout {
        address: String,
        /// How long we waited.
        seconds: u64,
        /// Connecting, or the handshake.
        doing: &'static str,
    },
    #[error(
        "the server at {address} has not answered since {} UTC ({seconds} s), neither requests nor new connections",
        time_of_day(*since_unix_s)
    )]
    Silent {
        address: String,
        /// How long it has been silent.
        seconds: u64,
        /// When that began, seconds since 1970.
        since_unix_s: u64,
    },
    #[error("stopped")]
    Stopped,
    #[error("{address} denies user {user:?} ({with_password}): {message}")]
    Login {
        address: String,
        user: String,
        /// Whether a password was sent.
        with_password: &'static str,
        message: String,
    },
    #[error("cannot log in to {address}: {reason}")]
    Plugin { address: String, reason: String },
    #[error(
        "user {user:?} has no access to database {database:?} at {address}, or there is no such database"
    )]
    DatabaseDenied { address: String, user: String, database: String },
    #[error("there is no database {database:?} at {address}")]
    NoDatabase { address: String, database: String },
    #[error("{address} takes no more connections: {message}")]
    Full { address: String, code: u16, message: String },
    #[error("the server at {address} is {version}, which is too old: need MariaDB 10.3 or MySQL 5.7")]
    TooOld {
        address: String,
        /// As the server says it.
        version: String,
    },
    #[error("no TLS with {address}: {reason}")]
    Tls { address: String, reason: String },
    #[error("{address} does not speak the MySQL protocol: {reason}")]
    Protocol { address: String, reason: String },
    #[error("error {code} ({message}) at: {sql}")]
    Statement { code: u16, message: String, sql: String },
    #[error("lost the connection to {address}: {reason}")]
    Lost { address: String, reason: String },
    #[error("{address} refuses LOAD DATA LOCAL: {message}")]
    LocalInfile { address: String, message: String },
    #[error("reading the rows to load failed: {0}")]
    Reader(#[source] io::Error),
}

/// The error ER_NO_DB_ERROR: no database is selected.
const NO_DATABASE: u16 = 1046;

/// Where to look when a server is silent.
const SILENT_HINT: &str = "check host, port, network and firewall. See in `ps -C mariadbd,mysqld -o \
                           pid,stat,wchan` whether the server is stopped (T) or waits for a disk (D), and \
                           in its error log whether disk space or memory ran out";

/// Where to look when a connection is gone that should have stayed.
const LOST_HINT: &str = "see in the server's error log whether it was restarted, crashed or closed the \
                         connection (KILL, wait_timeout), and whether a proxy or firewall closes connections";

/// Hours, minutes and seconds of the day, UTC.
fn time_of_day(unix_s: u64) -> String {
    let second = unix_s % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

impl TargetError {
    /// [`Self::Silent`] for so long until now.
    pub fn silent(address: String, silent: Nanos) -> Self {
        let seconds = silent.0 / 1_000_000_000;
        Self::Silent { address, seconds, since_unix_s: unix_time().as_secs().saturating_sub(seconds) }
    }

    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Url { .. } => "write it as mysql://user:password@host:port/database?tls=required",
            Self::Unreachable { .. } => "check host, port, network and firewall, and that the server is up",
            Self::Timeout { .. } | Self::Silent { .. } => SILENT_HINT,
            Self::Refused { .. } => "start the server, or correct host, port or socket in the target",
            Self::Login { .. } => {
                "check user and password (URL, EVENKEEL_PASSWORD or ?defaults-file=) and the account's host"
            }
            Self::Plugin { .. } => "use an account with another authentication plugin",
            Self::DatabaseDenied { .. } => {
                "check the name of the database (SHOW DATABASES), or GRANT the account its privileges on it"
            }
            Self::NoDatabase { .. } => {
                "create the database, or correct its name in the target; SHOW DATABASES lists what this account sees"
            }
            Self::Full { .. } => "raise max_connections or close other connections",
            Self::TooOld { .. } => "measure a newer server",
            Self::Tls { .. } => "use tls=preferred or tls=disabled, or set up certificates at the server",
            Self::Protocol { .. } => "check that the port is the server's MySQL port",
            Self::LocalInfile { .. } => "SET GLOBAL local_infile = ON",
            Self::Lost { .. } => LOST_HINT,
            Self::Statement { code: NO_DATABASE, .. } => "name the database: URL/shop",
            Self::OptionFile { .. } | Self::Statement { .. } | Self::Reader(_) | Self::Stopped => {
                return None;
            }
        })
    }

    /// The server's error code, where it answered by one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Statement { code, .. } | Self::Full { code, .. } => Some(*code),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_both_lines_are_read() {
        for (text, printed, supported) in [
            ("10.11.19-MariaDB-0+deb12u1", "MariaDB 10.11.19", true),
            ("5.5.5-10.3.39-MariaDB-log", "MariaDB 10.3.39", true),
            ("10.2.44-MariaDB", "MariaDB 10.2.44", false),
            ("11.4.2-MariaDB-ubu2404", "MariaDB 11.4.2", true),
            ("5.7.44", "MySQL 5.7.44", true),
            ("8.0.35-27", "MySQL 8.0.35", true),
            ("5.6.51-log", "MySQL 5.6.51", false),
            ("9.1", "MySQL 9.1.0", true),
        ] {
            let version = ServerVersion::parse(text).unwrap();
            let words = "the server at db is 5.6.51-log, which is too old: need MariaDB 10.3 or MySQL 5.7";
            let refused = version.check("db").err().map(|error| error.to_string());
            assert_eq!(refused, (!supported).then(|| words.replace("5.6.51-log", text)));
            assert_eq!((version.to_string().as_str(), version.text.as_str()), (printed, text));
        }
    }
}
