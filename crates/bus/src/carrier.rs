//! A carrier takes messages from member to member; this is what a bus asks of any of them. A host that is alone has one on which its own
//! messages come back, and one that may hang, as storage does, stands behind a thread, so that nobody waits for it without a bound.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

/// Most slots that a slot file may have.
pub const SLOTS_MAX: usize = 1_024;

/// A message as bytes that came, or that stand in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// The name under which it came ([`token`](crate::message::token)), where the carrier knows one.
    pub sender: Option<String>,
}

/// What carries messages between members.
pub trait Carrier: Send {
    /// Takes the place from which this member sends from now on; `hello` is its first message. May wait.
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError>;

    /// Sends a message in place of the one before.
    fn send(&mut self, report: &[u8]) -> Result<(), BusError>;

    /// The messages that came since the last call, or all that stand there. Where there are none, waits for one, but no
    /// longer than `patience`.
    fn hear(&mut self, patience: Duration) -> Result<Vec<Piece>, BusError>;

    /// Whether a message stays readable, also after its sender has ended.
    fn keeps(&self) -> bool;

    /// What an operator should know of how it carries.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Why a bus does not open or does not carry, and what an operator can do about it.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    #[error(
        "\"{0}\" is not a name of a member or an array: letters, digits, - and _, a member's also with dots, at most 64"
    )]
    Name(String),
    #[error("another live member has the name {0}")]
    Twin(String),
    #[error("slot file {path}: {error}")]
    File { path: PathBuf, error: std::io::Error },
    #[error("{path} is not a slot file: {why}")]
    NotSlots { path: PathBuf, why: &'static str },
    #[error("block device {0} is not a slot file")]
    Device(PathBuf),
    #[error("a slot file has 1 to {max} slots, not {0}", max = SLOTS_MAX)]
    Slots(usize),
    #[error("all {slots} slots of {path} are taken by live members")]
    Full { path: PathBuf, slots: usize },
    #[error("another process holds the lock of slot file {0} for too long")]
    Locked(PathBuf),
    #[error("the slot of this member in {0} was taken by another one, and none is free")]
    Lost(PathBuf),
    #[error("\"{0}\" is not an address of NATS")]
    Address(String),
    #[error("cannot read the login for NATS from {path}: {error}")]
    Login { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Down(String),
    #[error("the bus does not answer")]
    Slow,
    #[error("this host does not receive its own reports")]
    Unheard,
}

impl BusError {
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Twin(_) => "give this host a name of its own (--name), or end the other one".into(),
            Self::Full { .. } => {
                "stop a member, or stop all of them and create a file with more slots".into()
            }
            Self::NotSlots { .. } => {
                "name a new file, which is created; an existing file stays as it is".into()
            }
            Self::Device(device) => {
                let device = device.display();
                format!(
                    "`evenkeel share slots {device}` turns an empty device into one; wipefs and \
                         blkdiscard -z empty it"
                )
                .into()
            }
            Self::Locked(path) => {
                format!("find out who holds it (`lslocks | grep {}`), or name another file", path.display())
                    .into()
            }
            Self::Address(address) if !address.is_ascii() => {
                "write the host's name in ASCII, as DNS has it: it begins with xn--".into()
            }
            Self::Address(_) => {
                "nats://HOST:PORT or tls://HOST:PORT; the login goes into a file (`login` under [bus])".into()
            }
            Self::Down(_) | Self::Slow => {
                "is it running, and are `login` and `authorities` under [bus] right?".into()
            }
            _ => return None,
        })
    }
}

/// The carrier of one member.
#[derive(Clone, Debug, Default)]
pub struct Alone(Vec<u8>);

impl Carrier for Alone {
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError> {
        self.send(hello)
    }

    fn send(&mut self, report: &[u8]) -> Result<(), BusError> {
        self.0 = report.to_vec();
        Ok(())
    }

    fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
        let message = (!self.0.is_empty()).then(|| Piece { bytes: self.0.clone(), sender: None });
        Ok(message.into_iter().collect())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn note(&self) -> Option<String> {
        Some("no bus: this host is alone with its storage".to_owned())
    }
}

/// Longest wait to join: for a slot whose member is dead.
const JOIN: Duration = Duration::from_secs(660);

type Ask = Box<dyn FnOnce(&mut dyn Carrier) + Send>;

/// Asks in a thread of its own. A call that does not answer in time is given up, and those behind it too.
pub struct Bounded {
    asks: SyncSender<Ask>,
    patience: Duration,
    keeps: bool,
}

impl Bounded {
    /// Around a carrier.
    pub fn start(mut carrier: Box<dyn Carrier>, patience: Duration) -> Result<Self, BusError> {
        let (asks, inbox) = sync_channel::<Ask>(1);
        let keeps = carrier.keeps();
        // It ends with the last sender. Nobody waits for it: it may hang for as long as its storage does.
        let thread = std::thread::Builder::new().name("bus".to_owned());
        let thread = thread.spawn(move || inbox.iter().for_each(|ask| ask(carrier.as_mut())));
        thread.map_err(|error| BusError::Down(format!("no thread for the bus: {error}")))?;
        Ok(Self { asks, patience, keeps })
    }

    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        call: impl FnOnce(&mut dyn Carrier) -> Result<T, BusError> + Send + 'static,
    ) -> Result<T, BusError> {
        let (reply, answer) = channel();
        // Whoever asked may wait no more.
        match self.asks.try_send(Box::new(move |carrier: &mut dyn Carrier| drop(reply.send(call(carrier))))) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(BusError::Slow),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        }
        answer.recv_timeout(patience).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(BusError::Slow),
            RecvTimeoutError::Disconnected => Err(ended()),
        })
    }
}

fn ended() -> BusError {
    BusError::Down("the thread of the bus has ended".to_owned())
}

impl Carrier for Bounded {
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError> {
        let hello = hello.to_vec();
        self.ask(JOIN, move |carrier| carrier.join(&hello))
    }

    fn send(&mut self, report: &[u8]) -> Result<(), BusError> {
        let report = report.to_vec();
        self.ask(self.patience, move |carrier| carrier.send(&report))
    }

    fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
        self.ask(self.patience, |carrier| carrier.hear(Duration::ZERO))
    }

    fn keeps(&self) -> bool {
        self.keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex, PoisonError};

    /// Hangs for as long as somebody holds the lock.
    struct Hangs(Arc<Mutex<()>>);

    impl Carrier for Hangs {
        fn join(&mut self, _: &[u8]) -> Result<(), BusError> {
            Ok(())
        }

        fn send(&mut self, _: &[u8]) -> Result<(), BusError> {
            drop(self.0.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(())
        }

        fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
            Ok(Vec::new())
        }

        fn keeps(&self) -> bool {
            true
        }
    }

    #[test]
    fn storage_that_hangs_is_an_error_until_it_answers_again() {
        let lock = Arc::new(Mutex::new(()));
        let long = Duration::from_secs(60);
        let mut bus = Bounded::start(Box::new(Hangs(Arc::clone(&lock))), long).unwrap();
        assert!(bus.send(b"a").is_ok());
        let held = lock.lock().unwrap();
        bus.patience = Duration::from_millis(50);
        for _ in 0..4 {
            assert!(matches!(bus.send(b"b"), Err(BusError::Slow)));
        }
        bus.patience = long;
        drop(held);
        // One that was given up may still be in its way.
        while bus.send(b"c").is_err() {}
        assert!(bus.hear(Duration::ZERO).is_ok());
    }
}
