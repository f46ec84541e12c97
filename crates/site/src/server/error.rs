//! An error says what is wrong with a target, and what to do about it.

use evenkeel_core::Nanos;
use evenkeel_os::clock::unix_time;
use std::io;
use std::path::PathBuf;

/// Why a target cannot be used, or what it answered.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The text is no target URL. The password is not in `url`.
    #[error("invalid target {url:?}: {reason}")]
    Url {
        /// The text, its password left out.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An option file cannot be used.
    #[error("cannot use option file {}: {reason}", path.display())]
    OptionFile {
        /// The option file that was named.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No way to the address.
    #[error("cannot reach {address}: {reason}")]
    Unreachable {
        /// Host and port, or socket.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// Nobody listens at the address.
    #[error("cannot connect to {address}: connection refused")]
    Refused {
        /// Host and port, or socket.
        address: String,
    },
    /// The network or the server is silent.
    #[error("no answer from {address} within {seconds} s while {doing}")]
    Timeout {
        /// Host and port, or socket.
        address: String,
        /// How long we waited.
        seconds: u64,
        /// Connecting, or the handshake.
        doing: &'static str,
    },
    /// The server answers neither a statement nor a login.
    #[error(
        "the server at {address} has not answered since {} UTC ({seconds} s), neither requests nor new connections",
        time_of_day(*since_unix_s)
    )]
    Silent {
        /// Host and port, or socket.
        address: String,
        /// How long it has been silent.
        seconds: u64,
        /// When that began, seconds since 1970.
        since_unix_s: u64,
    },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
    /// The account does not exist there, or the password is wrong.
    #[error("{address} denies user {user:?} ({with_password}): {message}")]
    Login {
        /// Host and port, or socket.
        address: String,
        /// Name of the account, without a host.
        user: String,
        /// Whether a password was sent.
        with_password: &'static str,
        /// The server's words.
        message: String,
    },
    /// The account may not use the database.
    #[error(
        "user {user:?} has no access to database {database:?} at {address}, or there is no such database"
    )]
    DatabaseDenied {
        /// Host and port, or socket.
        address: String,
        /// Name of the account, without a host.
        user: String,
        /// Database of the target.
        database: String,
    },
    /// There is no such database.
    #[error("there is no database {database:?} at {address}")]
    NoDatabase {
        /// Host and port, or socket.
        address: String,
        /// Database of the target.
        database: String,
    },
    /// The server lets nobody more in.
    #[error("{address} takes no more connections: {message}")]
    Full {
        /// Host and port, or socket.
        address: String,
        /// The server's words.
        message: String,
    },
    /// Older than what Evenkeel supports.
    #[error("the server at {address} is {version}, which is too old: need MariaDB 10.3 or MySQL 5.7")]
    TooOld {
        /// Host and port, or socket.
        address: String,
        /// As the server says it.
        version: String,
    },
    /// Encryption was asked for and cannot be had.
    #[error("no TLS with {address}: {reason}")]
    Tls {
        /// Host and port, or socket.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The answer is not the MySQL protocol.
    #[error("{address} does not speak the MySQL protocol: {reason}")]
    Protocol {
        /// Host and port, or socket.
        address: String,
        /// What came instead.
        reason: String,
    },
    /// The server answered a statement by an error.
    #[error("error {code} ({message}) at: {sql}")]
    Statement {
        /// The server's code of the error.
        code: u16,
        /// The server's words.
        message: String,
        /// The statement's first characters.
        sql: String,
    },
    /// The connection broke.
    #[error("lost the connection to {address}: {reason}")]
    Lost {
        /// Host and port, or socket.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// The server does not take LOAD DATA LOCAL.
    #[error("{address} refuses LOAD DATA LOCAL: {message}")]
    LocalInfile {
        /// Host and port, or socket.
        address: String,
        /// The server's words.
        message: String,
    },
    /// What was to be loaded could not be read; the statement was rolled back.
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

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Url { .. } => "write it as mysql://user:password@host:port/database?tls=required",
            Self::Unreachable { .. } => "check host, port, network and firewall, and that the server is up",
            Self::Timeout { .. } | Self::Silent { .. } => SILENT_HINT,
            Self::Refused { .. } => "start the server, or correct host, port or socket in the target",
            Self::Login { .. } => {
                "check user and password (URL, EVENKEEL_PASSWORD or ?defaults-file=) and the account's host"
            }
            Self::DatabaseDenied { .. } => "GRANT the account its privileges on the database",
            Self::NoDatabase { .. } => "create the database, or correct its name in the target",
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
            Self::Statement { code, .. } => Some(*code),
            _ => None,
        }
    }
}
