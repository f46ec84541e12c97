//! A control connection is opened with limits in time, and its errors are in plain words.

use super::session::{Session, SessionError};
use super::{Address, Target, TargetError, TlsMode};
use evenkeel_core::Nanos;
use evenkeel_os::Channel;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_os::tls::TlsError;
use evenkeel_wire::LoginError;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Covers a lost packet or two on a far network; a server that takes longer cannot be measured anyway.
const TIMEOUT: Duration = Duration::from_secs(10);
/// After this we go, whatever the login waits for. Its own limit is one for each read, which begins anew when the process was
/// stopped, and with each byte.
const DEADLINE: Duration = Duration::from_secs(15);
/// Whoever stops is heard within this time.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A login that is nearly done may end by itself after somebody asked to stop.
const GRACE: Nanos = Nanos::from_millis(500);

pub(super) struct Patience {
    pub(super) limit: Duration,
    /// Ends it within half a second.
    pub(super) stop: Stop,
}

impl Default for Patience {
    fn default() -> Self {
        Self { limit: DEADLINE, stop: Stop::default() }
    }
}

pub(super) type Greeted = (Session, Option<String>);

/// Connects; tries each address of the host in turn, since a name may have one that refuses (::1 of localhost, say).
pub(super) fn connect(target: &Target, patience: &Patience) -> Result<Greeted, TargetError> {
    let mut last = None;
    for endpoint in endpoints(target)? {
        match connect_at(target, endpoint, patience) {
            Ok(greeted) => return Ok(greeted),
            Err(error @ (TargetError::Refused { .. } | TargetError::Unreachable { .. })) => {
                last = Some(error)
            }
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| unreachable_because(target, "the name has no address")))
}

fn connect_at(target: &Target, endpoint: Endpoint, patience: &Patience) -> Result<Greeted, TargetError> {
    let target_too = target.clone();
    in_time(target, patience, move || log_in(&target_too, &endpoint))?
}

fn log_in(target: &Target, endpoint: &Endpoint) -> Result<Greeted, TargetError> {
    let channel = endpoint.dial().map_err(|error| explain_dial(target, &error))?;
    greet(channel, target).map_err(|error| explain(target, error))
}

/// Each wait has a limit up to the end of the login. Afterwards it has none: a statement (an index over millions of rows) may
/// take its time, and a dead peer is found by keep-alive.
fn greet(channel: Channel, target: &Target) -> Result<Greeted, SessionError> {
    channel.limit_waits(Some(TIMEOUT))?;
    let mut session = Session::open(channel, target)?;
    let version = session.value("SELECT VERSION()")?;
    session.limit_waits(None)?;
    Ok((session, version))
}

/// What this comes to, if that is before the deadline. What comes later is closed.
fn in_time<T: Send + 'static>(
    target: &Target,
    patience: &Patience,
    open: impl FnOnce() -> T + Send + 'static,
) -> Result<T, TargetError> {
    let (sender, receiver) = mpsc::channel();
    let login = move || drop(sender.send(open()));
    let begun = thread::Builder::new().name("login".into()).spawn(login);
    begun.map_err(|error| explain_io(target, &error))?;
    await_login(target, patience, &receiver)
}

fn await_login<T>(target: &Target, patience: &Patience, login: &Receiver<T>) -> Result<T, TargetError> {
    let clock = Clock::start();
    let mut stops_at = None;
    loop {
        let left = patience.limit.saturating_sub(clock.now().into());
        if patience.stop.is_set() {
            stops_at.get_or_insert(clock.now() + GRACE);
        }
        match login.recv_timeout(left.min(LOOK_EVERY)) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) if stops_at.is_some_and(|at| clock.now() >= at) => {
                return Err(TargetError::Stopped);
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(given_up(target, patience.limit)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let reason = "the login failed within this program".into();
                return Err(TargetError::Protocol { address: target.address.to_string(), reason });
            }
        }
    }
}

fn given_up(target: &Target, after: Duration) -> TargetError {
    TargetError::Timeout {
        address: target.address.to_string(),
        seconds: after.as_secs(),
        doing: "logging in",
    }
}

enum Endpoint {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Endpoint {
    fn dial(&self) -> io::Result<Channel> {
        match self {
            Self::Tcp(address) => Channel::connect(address, TIMEOUT),
            Self::Unix(path) => Channel::connect_unix(path),
        }
    }
}

fn endpoints(target: &Target) -> Result<Vec<Endpoint>, TargetError> {
    match &target.address {
        Address::Unix(path) => Ok(vec![Endpoint::Unix(path.clone())]),
        Address::Tcp { host, port } => {
            let found = (host.as_str(), *port)
                .to_socket_addrs()
                .map_err(|error| unreachable_because(target, &format!("cannot resolve the name: {error}")))?;
            Ok(found.map(Endpoint::Tcp).collect())
        }
    }
}

fn unreachable_because(target: &Target, reason: &str) -> TargetError {
    TargetError::Unreachable { address: target.address.to_string(), reason: reason.into() }
}

fn explain_dial(target: &Target, error: &io::Error) -> TargetError {
    let address = target.address.to_string();
    match error.kind() {
        ErrorKind::ConnectionRefused => TargetError::Refused { address },
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            TargetError::Timeout { address, seconds: TIMEOUT.as_secs(), doing: "connecting" }
        }
        _ => unreachable_because(target, &error.to_string()),
    }
}

fn explain(target: &Target, error: SessionError) -> TargetError {
    let address = target.address.to_string();
    match error {
        SessionError::Server(error) => explain_refusal(target, error.code, error.text),
        SessionError::Login(LoginError::NoTls) => {
            TargetError::Tls { address, reason: "the server offers none".into() }
        }
        SessionError::Login(LoginError::TooOld(version)) => TargetError::TooOld { address, version },
        SessionError::Login(error @ LoginError::UnknownPlugin(_)) => {
            TargetError::Plugin { address, reason: error.to_string() }
        }
        SessionError::Tls(error) => TargetError::Tls { address, reason: tls_reason(&error) },
        SessionError::Io(error) => explain_io(target, &error),
        other => TargetError::Protocol { address, reason: other.to_string() },
    }
}

fn explain_io(target: &Target, error: &io::Error) -> TargetError {
    let address = target.address.to_string();
    let tls = target.tls != TlsMode::Disabled;
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => given_up(target, TIMEOUT),
        // The TLS library reports a certificate it does not trust as invalid data.
        ErrorKind::InvalidData if tls => TargetError::Tls { address, reason: error.to_string() },
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
            TargetError::Protocol { address, reason: error.to_string() }
        }
        _ => TargetError::Lost { address, reason: error.to_string() },
    }
}

fn tls_reason(error: &TlsError) -> String {
    match error {
        TlsError::File { path, source } => format!("cannot read {path:?}: {source}"),
        TlsError::Name(host) => format!("no certificate can be for the name {host:?}"),
        other => other.to_string(),
    }
}

/// Server error codes at login: 1040/1203 too many connections, 1044 database denied, 1045/1698 login
/// denied, 1049 no such database, 1129/1130 host blocked or not allowed, 1226 resource limit of the account.
fn explain_refusal(target: &Target, code: u16, message: String) -> TargetError {
    let address = target.address.to_string();
    let user = target.user.clone();
    let database = target.database.clone().unwrap_or_default();
    match code {
        1040 | 1203 | 1226 => TargetError::Full { address, code, message },
        1044 => TargetError::DatabaseDenied { address, user, database },
        1049 => TargetError::NoDatabase { address, database },
        1045 | 1129 | 1130 | 1698 | 1862 => {
            let with_password = match target.password.as_deref() {
                None | Some("") => "without a password",
                Some(_) => "with a password",
            };
            TargetError::Login { address, user, with_password, message }
        }
        _ => TargetError::Statement { code, message, sql: "login".into() },
    }
}
