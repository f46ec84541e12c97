//! By NATS each member publishes on a subject of its own, `evenkeel.share.ARRAY.NAME`, and hears all of its array.
//!
//! This is core publish and subscribe, by which nothing is stored: a report is of no use after a period. The client has a thread of its own
//! with a runtime; it reconnects by itself and then subscribes again. While it is not connected nothing is handed to it,
//! so that no old reports are carried when it comes back.

use super::message::{self, BYTES_MAX};
use super::{BusError, Carrier, Piece};
use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, ServerAddr, Subscriber};
use futures_util::StreamExt;
use std::fmt;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Messages that wait to be heard; more than these are lost, as any message may be.
const INBOX: usize = 4_096;
/// Reports that wait to be sent.
const OUTBOX: usize = 4;
/// Longest time that one try to connect takes.
const CONNECT: Duration = Duration::from_secs(5);
/// A connection that does not answer is given up after three of these.
const PING: Duration = Duration::from_secs(2);
/// Longest pause between two tries to connect.
const PAUSE_MAX_MS: u64 = 1_000;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Servers of one cluster: `nats://HOST:PORT` or `tls://HOST:PORT`, in ASCII: an internationalised name by its form that begins
    /// with `xn--`.
    pub servers: Vec<String>,
    pub array: String,
    pub member: String,
    pub login: Login,
    /// Authorities that must have signed the server's certificate, in place of the system's (PEM).
    pub authorities: Option<PathBuf>,
    /// Where it cannot be reached at the start: wait for it, in place of an error.
    pub waits: bool,
}

/// A member logs in by a file, so that no secret stands in a command line, a log or an error.
#[derive(Clone, Default)]
pub enum Login {
    /// No login is needed.
    #[default]
    Open,
    /// The text of a credentials file: a token signed by the operator, and a key.
    Credentials(String),
    /// The seed of a key.
    Key(String),
    User(String, String),
    Token(String),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Credentials(_) => "Credentials(..)",
            Self::Key(_) => "Key(..)",
            Self::User(..) => "User(..)",
            Self::Token(_) => "Token(..)",
        })
    }
}

impl Login {
    /// From a file, which says by its form what it is: a credentials file as `nsc` writes it, the seed of a user's key
    /// (`SU...`), `user:password`, or a token.
    pub fn read(path: &Path) -> Result<Self, BusError> {
        let failed = |error| BusError::Login { path: path.to_owned(), error };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text).ok_or_else(|| failed(Error::new(ErrorKind::InvalidData, "it is empty")))
    }

    fn parse(text: &str) -> Option<Self> {
        if text.contains("-----BEGIN NATS USER JWT-----") {
            return Some(Self::Credentials(text.to_owned()));
        }
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        let is_key = line.len() == 58 && line.starts_with("SU");
        Some(match line.split_once(':') {
            _ if is_key => Self::Key(line.to_owned()),
            Some((user, password)) => Self::User(user.to_owned(), password.to_owned()),
            None => Self::Token(line.to_owned()),
        })
    }

    fn apply(&self, options: ConnectOptions) -> Result<ConnectOptions, BusError> {
        let wrong = |_| BusError::Down("the credentials of NATS have an unknown form".to_owned());
        Ok(match self.clone() {
            Self::Open => options,
            Self::Credentials(text) => options.credentials(&text).map_err(wrong)?,
            Self::Key(seed) => options.nkey(seed),
            Self::User(user, password) => options.user_and_password(user, password),
            Self::Token(token) => options.token(token),
        })
    }
}

/// The carrier over a NATS server.
pub struct Nats {
    outbox: Option<mpsc::Sender<Vec<u8>>>,
    inbox: Receiver<Piece>,
    client: Client,
    /// What the client said last of why it is not connected.
    trouble: Arc<Mutex<Option<String>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Nats {
    pub fn open(plan: &Plan) -> Result<Self, BusError> {
        if !message::is_name(&plan.array) || plan.array.contains('.') {
            return Err(BusError::Name(plan.array.clone()));
        }
        let addresses: Vec<ServerAddr> =
            plan.servers.iter().map(|text| address(text)).collect::<Result<_, _>>()?;
        let trouble = Arc::new(Mutex::new(None));
        let options = options(plan, Arc::clone(&trouble))?;
        let subject = format!("evenkeel.share.{}", plan.array);
        let own = format!("{subject}.{}", message::token(&plan.member));
        let (pieces, inbox) = sync_channel(INBOX);
        let (outbox, reports) = mpsc::channel(OUTBOX);
        let (ready, readiness) = channel();
        let serve = move || {
            let down = |error: Error| BusError::Down(format!("no runtime for NATS: {error}"));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(down);
            // Who waits for the client gets it, or why there is none.
            let answer = |outcome| drop(ready.send(outcome));
            match runtime {
                Ok(runtime) => {
                    runtime.block_on(async {
                        match connect(options, addresses, &subject).await {
                            Ok((client, subscriber)) => {
                                answer(Ok(client.clone()));
                                tokio::spawn(hear(subscriber, pieces));
                                publish(client, own, reports).await;
                            }
                            Err(error) => answer(Err(error)),
                        }
                    });
                    // A name that is being looked up holds nobody up.
                    runtime.shutdown_background();
                }
                Err(error) => answer(Err(error)),
            }
        };
        let thread = std::thread::Builder::new().name("bus".to_owned()).spawn(serve);
        let thread = thread.map_err(|error| BusError::Down(format!("no thread for NATS: {error}")))?;
        let client = readiness.recv_timeout(2 * CONNECT).map_err(|_| BusError::Slow)??;
        Ok(Self { outbox: Some(outbox), inbox, client, trouble, thread: Some(thread) })
    }

    fn check(&self) -> Result<(), BusError> {
        if self.client.connection_state() == State::Connected {
            return Ok(());
        }
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let why = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
        Err(BusError::Down(format!("NATS is not connected{why}")))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // The thread sends what it has and ends, within the time that a flush may take.
        self.outbox = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Carrier for Nats {
    fn join(&mut self, _: &[u8]) -> Result<(), BusError> {
        Ok(())
    }

    fn send(&mut self, report: &[u8]) -> Result<(), BusError> {
        self.check()?;
        let Some(outbox) = &self.outbox else { return Err(BusError::Slow) };
        outbox.try_send(report.to_vec()).map_err(|_| BusError::Slow)
    }

    fn hear(&mut self, patience: Duration) -> Result<Vec<Piece>, BusError> {
        let mut pieces = match self.inbox.recv_timeout(patience) {
            Ok(piece) => vec![piece],
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(BusError::Down("the client of NATS has ended".to_owned()));
            }
        };
        pieces.extend(self.inbox.try_iter().take(INBOX));
        Ok(pieces)
    }

    fn keeps(&self) -> bool {
        false
    }
}

/// An address without a secret in it: those of command lines are seen by everybody on the host.
fn address(text: &str) -> Result<ServerAddr, BusError> {
    // What is wrong may be a password, so it is not repeated.
    let shown = || text.rsplit('@').next().unwrap_or_default().to_owned();
    let address: ServerAddr = text.parse().map_err(|_| BusError::Address(shown()))?;
    let is_known = matches!(address.scheme(), "nats" | "tls");
    // Of other letters the client makes escapes, which no resolver knows.
    if !text.is_ascii()
        || !is_known
        || address.has_user_pass()
        || text.contains('@')
        || address.host().is_empty()
    {
        return Err(BusError::Address(shown()));
    }
    Ok(address)
}

fn options(plan: &Plan, trouble: Arc<Mutex<Option<String>>>) -> Result<ConnectOptions, BusError> {
    let spread = u64::from(crc32fast::hash(plan.member.as_bytes()) % 512);
    // Members that lost a server do not all come back at one instant.
    let pause = move |tries: usize| {
        let most = (50_u64 << tries.min(8)).min(PAUSE_MAX_MS);
        Duration::from_millis(most * (512 + spread) / 1_024)
    };
    let heed = move |event: Event| {
        let trouble = Arc::clone(&trouble);
        async move {
            let mut trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                Event::Connected => *trouble = None,
                Event::ServerError(error) => *trouble = Some(error.to_string()),
                Event::ClientError(error) => *trouble = Some(error.to_string()),
                _ => {}
            }
        }
    };
    let mut options = plan
        .login
        .apply(ConnectOptions::new())?
        .name(format!("evenkeel share {}", plan.member))
        .connection_timeout(CONNECT)
        .ping_interval(PING)
        .subscription_capacity(INBOX)
        .reconnect_delay_callback(pause)
        .event_callback(heed);
    if let Some(authorities) = &plan.authorities {
        options = options.add_root_certificates(authorities.clone());
    }
    Ok(if plan.waits { options.retry_on_initial_connect() } else { options })
}

async fn connect(
    options: ConnectOptions,
    addresses: Vec<ServerAddr>,
    subject: &str,
) -> Result<(Client, Subscriber), BusError> {
    let down = |error: String| BusError::Down(format!("cannot connect to NATS: {error}"));
    let client = options.connect(addresses).await.map_err(|error| down(error.to_string()))?;
    let subscriber =
        client.subscribe(format!("{subject}.*")).await.map_err(|error| down(error.to_string()))?;
    Ok((client, subscriber))
}

/// Puts what comes where it is found; what has no room is lost.
async fn hear(mut subscriber: Subscriber, pieces: SyncSender<Piece>) {
    while let Some(message) = subscriber.next().await {
        let sender = message.subject.rsplit('.').next().map(str::to_owned);
        // Too long to be a report: as good as none.
        let bytes = if message.payload.len() > BYTES_MAX { Vec::new() } else { message.payload.to_vec() };
        let _ = pieces.try_send(Piece { bytes, sender });
    }
}

/// Sends until nobody has anything to send any more.
async fn publish(client: Client, subject: String, mut reports: mpsc::Receiver<Vec<u8>>) {
    while let Some(report) = reports.recv().await {
        // A connection that breaks now is noticed by the next message.
        let _ = client.publish(subject.clone(), report.into()).await;
    }
    let _ = tokio::time::timeout(Duration::from_millis(500), client.flush()).await;
}

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
#[cfg(test)]
mod tests;
