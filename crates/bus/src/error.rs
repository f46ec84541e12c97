//! An error says why a bus does not open or does not carry, and what an operator can do about it.

use super::slot::SLOTS_MAX;
use std::borrow::Cow;
use std::path::PathBuf;

/// Why a bus does not open, or does not carry.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// This is not a name that a member or an array may have.
    #[error(
        "\"{0}\" is not a name of a member or an array: letters, digits, - and _, a member's also with dots, at most 64"
    )]
    Name(String),
    /// Another live member has this name.
    #[error("another live member has the name {0}")]
    Twin(String),
    /// The file cannot be used.
    #[error("slot file {path}: {error}")]
    File {
        /// The slot file as the command line named it.
        path: PathBuf,
        /// What the system answered.
        error: std::io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a slot file: {why}")]
    NotSlots {
        /// The file or device that was taken for a slot file.
        path: PathBuf,
        /// What in it shows that it is something else.
        why: &'static str,
    },
    /// The block device is not a slot file yet.
    #[error("block device {0} is not a slot file")]
    Device(PathBuf),
    /// A slot file cannot have so many slots.
    #[error("a slot file has 1 to {max} slots, not {0}", max = SLOTS_MAX)]
    Slots(usize),
    /// Every slot belongs to a live member.
    #[error("all {slots} slots of {path} are taken by live members")]
    Full {
        /// The slot file.
        path: PathBuf,
        /// How many slots it has.
        slots: usize,
    },
    /// Somebody else holds the lock on the claims of slots.
    #[error("another process holds the lock of slot file {0} for too long")]
    Locked(PathBuf),
    /// Another member writes to this member's slot, and no other slot is free.
    #[error("the slot of this member in {0} was taken by another one, and none is free")]
    Lost(PathBuf),
    /// This is not an address of a NATS server.
    #[error("\"{0}\" is not an address of NATS")]
    Address(String),
    /// What to log in with cannot be read.
    #[error("cannot read the login for NATS from {path}: {error}")]
    Login {
        /// The file that was to hold the account, the token or the key.
        path: PathBuf,
        /// What the system answered.
        error: std::io::Error,
    },
    /// The carrier does not work, for this reason.
    #[error("{0}")]
    Down(String),
    /// The carrier did not answer within its bound.
    #[error("the bus does not answer")]
    Slow,
    /// This member's own report did not come back.
    #[error("this host does not receive its own reports")]
    Unheard,
}

impl BusError {
    /// What an operator can do about it.
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
