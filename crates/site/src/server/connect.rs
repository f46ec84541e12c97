//! Opening a control connection, with limits in time and errors in plain words.

use super::{Address, Target, TargetError, TlsMode};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use mysql::error::tls::TlsError;
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, OptsBuilder, SslOpts};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Covers a lost packet or two on a far network; a server that takes longer cannot be measured anyway.
const TIMEOUT: Duration = Duration::from_secs(10);
/// After this we go, whatever the driver waits for. Its own limit is one for each read, which begins anew when the process was
/// stopped, and with each byte.
const DEADLINE: Duration = Duration::from_secs(15);
/// Logins under way at a time in this process: one that was given up goes on for as long as its server feeds it.
const LOGINS_MAX: usize = 256;
static LOGINS: AtomicUsize = AtomicUsize::new(0);

/// Whoever stops is heard within this time.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A login that is nearly done may end by itself after somebody asked to stop.
const GRACE: Nanos = Nanos::from_millis(500);

/// How long a login may take.
pub(super) struct Patience {
    /// At most, for each address.
    pub(super) limit: Duration,
    /// Ends it within half a second.
    pub(super) stop: Stop,
}

impl Default for Patience {
    fn default() -> Self {
        Self { limit: DEADLINE, stop: Stop::default() }
    }
}

/// A connection, and what its server says of its version.
pub(super) type Greeted = (Conn, Option<String>);

/// Connects; tries each address of the host in turn, and plain text after TLS where TLS is only preferred.
pub(super) fn connect(target: &Target, patience: &Patience) -> Result<Greeted, TargetError> {
    let mut last = None;
    for way in ways(target)? {
        match connect_by(target, way, patience) {
            Ok(greeted) => return Ok(greeted),
            Err(error @ (TargetError::Refused { .. } | TargetError::Unreachable { .. })) => {
                last = Some(error)
            }
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| unreachable_because(target, "the name has no address")))
}

fn connect_by(target: &Target, way: Way, patience: &Patience) -> Result<Greeted, TargetError> {
    let options = options(target, way);
    let secure = options.clone().ssl_opts(tls_options(target));
    let falls_back = target.tls == TlsMode::Preferred;
    let open = move || {
        let mut conn = match Conn::new(secure) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) if falls_back => Conn::new(options),
            outcome => outcome,
        }?;
        let version = conn.query_first("SELECT VERSION()")?;
        Ok((conn, version))
    };
    let greeted = in_time(target, patience, open)?.map_err(|error| explain(target, error))?;
    limit_waits(&greeted.0, None);
    Ok(greeted)
}

/// What this comes to, if that is before the deadline. What comes later is closed.
fn in_time<T: Send + 'static>(
    target: &Target,
    patience: &Patience,
    open: impl FnOnce() -> T + Send + 'static,
) -> Result<T, TargetError> {
    if LOGINS.fetch_add(1, Ordering::Relaxed) >= LOGINS_MAX {
        LOGINS.fetch_sub(1, Ordering::Relaxed);
        return Err(unreachable_because(target, "too many logins are under way that do not end"));
    }
    let (sender, receiver) = mpsc::channel();
    let login = move || {
        let outcome = open();
        LOGINS.fetch_sub(1, Ordering::Relaxed);
        drop(sender.send(outcome));
    };
    if let Err(error) = thread::Builder::new().name("login".into()).spawn(login) {
        LOGINS.fetch_sub(1, Ordering::Relaxed);
        return Err(explain_io(target, &error));
    }
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
                let reason = "the driver failed at the login".into();
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

/// One attempt to connect.
#[derive(Default)]
struct Way {
    /// Name or address, `None` for a socket.
    host: Option<String>,
    /// Whether to begin with the name's IPv4 addresses.
    v4_first: bool,
}

/// The attempts: the driver itself stops at the first of a name's addresses that refuses (::1 of localhost,
/// say), so that it gets one address at a time. Where the certificate's name is checked it needs the name,
/// and by a local address it can be led to the IPv4 ones.
fn ways(target: &Target) -> Result<Vec<Way>, TargetError> {
    let Address::Tcp { host, port } = &target.address else { return Ok(vec![Way::default()]) };
    if target.tls == TlsMode::VerifyIdentity {
        return Ok([false, true].map(|v4_first| Way { host: Some(host.clone()), v4_first }).into());
    }
    let addresses = (host.as_str(), *port)
        .to_socket_addrs()
        .map_err(|error| unreachable_because(target, &format!("cannot resolve the name: {error}")))?;
    Ok(addresses.map(|address| Way { host: Some(bracketed(address.ip())), v4_first: false }).collect())
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

fn options(target: &Target, way: Way) -> OptsBuilder {
    let any_v4 = SocketAddr::from(([0, 0, 0, 0], 0));
    let options = OptsBuilder::new()
        .user(Some(&target.user))
        .pass(target.password.clone())
        .db_name(target.database.clone())
        .prefer_socket(false)
        .tcp_connect_timeout(Some(TIMEOUT))
        .read_timeout(Some(TIMEOUT))
        .write_timeout(Some(TIMEOUT))
        .tcp_keepalive_time_ms(Some(30_000));
    match &target.address {
        Address::Tcp { port, .. } => {
            options.ip_or_hostname(way.host).tcp_port(*port).bind_address(way.v4_first.then_some(any_v4))
        }
        Address::Unix(path) => options.socket(Some(path.to_string_lossy())),
    }
}

fn tls_options(target: &Target) -> Option<SslOpts> {
    if target.tls == TlsMode::Disabled || matches!(target.address, Address::Unix(_)) {
        return None;
    }
    let checked = target.tls == TlsMode::VerifyIdentity;
    // Who names a certificate authority wants at least its signature checked.
    let accept_any = !checked && target.tls_ca.is_none();
    let options = SslOpts::default()
        .with_danger_accept_invalid_certs(accept_any)
        .with_danger_skip_domain_validation(!checked);
    Some(match &target.tls_ca {
        Some(path) => options.with_root_cert_path(Some(path.clone())),
        None => options,
    })
}

/// How long each read and each write may wait; `None`, as it is after the login, for as long as it takes: a statement (an index
/// over millions of rows) may, and a dead peer is found by keep-alive.
pub(super) fn limit_waits(conn: &Conn, limit: Option<Duration>) {
    let limit = limit.unwrap_or_default();
    let time = libc::timeval {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: limit.subsec_micros().into(),
    };
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        // SAFETY: the descriptor is open while `conn` is borrowed, and the pointer and length are those of `time`. A failure
        // leaves the limit as it was, which is safe.
        unsafe {
            libc::setsockopt(
                conn.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const time).cast(),
                size_of_val(&time) as libc::socklen_t,
            );
        }
    }
}

fn unreachable_because(target: &Target, reason: &str) -> TargetError {
    TargetError::Unreachable { address: target.address.to_string(), reason: reason.into() }
}

/// Turns the driver's error while connecting into one that says what is wrong.
fn explain(target: &Target, error: Error) -> TargetError {
    let address = target.address.to_string();
    let timeout =
        |doing| TargetError::Timeout { address: address.clone(), seconds: TIMEOUT.as_secs(), doing };
    match error {
        Error::MySqlError(error) => explain_refusal(target, error.code, error.message),
        Error::DriverError(DriverError::ConnectTimeout) => timeout("connecting"),
        Error::DriverError(DriverError::CouldNotConnect(Some((_, reason, kind)))) => match kind {
            ErrorKind::ConnectionRefused => TargetError::Refused { address },
            ErrorKind::TimedOut | ErrorKind::WouldBlock => timeout("connecting"),
            _ => TargetError::Unreachable { address, reason },
        },
        Error::DriverError(DriverError::TlsNotSupported) => {
            TargetError::Tls { address, reason: "the server offers none".into() }
        }
        Error::TlsError(error) => TargetError::Tls { address, reason: tls_reason(&error) },
        Error::IoError(error) => explain_io(target, &error),
        Error::CodecError(error) => match io_inside(&error) {
            Some(error) => explain_io(target, error),
            None => TargetError::Protocol { address, reason: error.to_string() },
        },
        other => TargetError::Protocol { address, reason: other.to_string() },
    }
}

fn explain_io(target: &Target, error: &io::Error) -> TargetError {
    let address = target.address.to_string();
    let tls = target.tls != TlsMode::Disabled;
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => given_up(target, TIMEOUT),
        ErrorKind::NotFound if tls => TargetError::Tls {
            address,
            reason: format!("cannot read {:?}: {error}", target.tls_ca.clone().unwrap_or_default()),
        },
        // The TLS library reports a certificate it does not trust as invalid data.
        ErrorKind::InvalidData if tls => TargetError::Tls { address, reason: error.to_string() },
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
            TargetError::Protocol { address, reason: error.to_string() }
        }
        _ => TargetError::Lost { address, reason: error.to_string() },
    }
}

/// The system's error below one of the packet reader's.
pub(super) fn io_inside<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    error.source()?.downcast_ref()
}

fn tls_reason(error: &TlsError) -> String {
    error.to_string().trim_start_matches("TlsError { ").trim_end_matches(" }").into()
}

/// Server error codes at login: 1040/1203 too many connections, 1044 database denied, 1045/1698 login
/// denied, 1049 no such database, 1129/1130 host blocked or not allowed, 1226 resource limit of the account.
fn explain_refusal(target: &Target, code: u16, message: String) -> TargetError {
    let address = target.address.to_string();
    let user = target.user.clone();
    let database = target.database.clone().unwrap_or_default();
    match code {
        1040 | 1203 | 1226 => TargetError::Full { address, message },
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
