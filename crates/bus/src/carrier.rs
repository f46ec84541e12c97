//! A carrier takes messages from member to member; this is what a bus asks of any of them.

use super::slot::SLOTS_MAX;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

/// A message as bytes that came, or that stand in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// The name under which it came ([`message::token`]), where the carrier knows one.
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

// An error says why a bus does not open or does not carry, and what an operator can do about it.

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
