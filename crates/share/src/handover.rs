//! From one process that serves disks to its successor, while clients are connected.
//!
//! Whoever serves has a [`Bell`], the file of a unix socket. A successor that [`ask`]s there is given all sockets: those at which
//! clients arrive, and those of the clients, with what of them was read and not done, and answered and not sent. No request
//! is under way then, everything answered is on the disks, and the disks are closed: at no moment two processes have one
//! open. The successor opens them, and [takes](Predecessor::take) it all. Where it ends before, the predecessor still has
//! every socket, and goes on.
//!
//! ```text
//!   successor                 predecessor
//!     ask            ->       takes nothing more from clients, answers, flushes, closes the disks
//!                    <-       sockets, clients, its next report to the other hosts
//!     opens the disks
//!     take           ->       lets go of all sockets
//!     serves         <-       and ends
//! ```

mod frame;
mod handed;

pub use handed::Handed;
pub(super) use handed::HandedDoor;

use evenkeel_os::address::Address;
use evenkeel_os::{Access, Endpoint, Listener, Socket, user};
use frame::{Frame, receive, send};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the other side does nothing for so long, it is given up. A predecessor first waits for its storage.
const PATIENCE: Duration = Duration::from_secs(300);
/// Its successor, for as long as it takes to open disks.
const SUCCESSOR_PATIENCE: Duration = Duration::from_secs(60);

/// Why an engine does not hand over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Flushes of a disk have to fail, and a successor would not know.
    #[error("disk {disk} may have lost what was written, and only a restart may forget that")]
    Lost {
        /// The name of the disk.
        disk: String,
    },
    /// A kernel has it open, and would lose it.
    #[error("a disk is {disk}, which ends with the process that shows it")]
    Fuse {
        /// How it is shown.
        disk: String,
    },
    /// The storage has not done in time what was asked.
    #[error("the storage takes too long for what clients have asked")]
    Slow,
    /// The engine no longer serves.
    #[error("the disks are not served any more")]
    Ended,
}

/// Why a successor has got nothing.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// The predecessor goes on, and says why.
    #[error("the process that serves at {path} does not hand over: {why}")]
    Refused {
        /// Where it was asked.
        path: PathBuf,
        /// The reason that it gave.
        why: String,
    },
    /// The connection to the predecessor broke.
    #[error("handover at {path}: {source}")]
    Broken {
        /// Where it was asked.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// What a successor goes on with.
pub struct Inheritance {
    /// Sockets and clients.
    pub handed: Handed,
    /// The message that the predecessor would have sent to the other hosts next: it makes the successor the same member.
    pub report: Vec<u8>,
}

/// Where a successor asks.
pub struct Bell(Listener);

impl Bell {
    /// Makes the file; its owner alone may ask there.
    ///
    /// # Errors
    /// Somebody listens there, or the file cannot be made.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let access = Access { mode: Some(0o600), group: None };
        Listener::bind_for(&Address::Unix(path.to_owned()), access).map(Self)
    }

    /// A successor, if one asks. Does not wait, but for the words of one that is there.
    pub fn ring(&self) -> Option<Successor> {
        let socket = self.0.accept().ok()?;
        let may_ask = socket.peer_user().is_ok_and(|peer| peer == 0 || peer == user().0);
        let mut stream = socket.into_waiting().ok().filter(|_| may_ask)?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        stream.set_write_timeout(Some(SUCCESSOR_PATIENCE)).ok()?;
        matches!(receive(&mut stream), Ok(Frame::Asks)).then_some(Successor(stream))
    }
}

/// One that wants to go on in this process's place.
pub struct Successor(UnixStream);

impl Successor {
    /// Refuses the successor, with the reason.
    pub fn refuse(mut self, why: &str) {
        // One that is gone needs no answer.
        let _ = send(&mut self.0, &Frame::Refused(why.to_owned()));
    }

    /// Gives it all; when this is done, it has it and nothing may be done with the sockets here any more.
    ///
    /// # Errors
    /// It has ended, or does nothing: the sockets are this process's as before, and so are the disks.
    pub fn give(mut self, inheritance: &Inheritance) -> io::Result<()> {
        let given = self.try_give(inheritance);
        if given.is_err() {
            self.wait_for_end();
        }
        given
    }

    /// It hears that it gets nothing, and closes the disks before it closes this.
    fn wait_for_end(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
        let _ = io::copy(&mut self.0, &mut io::sink());
    }

    fn try_give(&mut self, inheritance: &Inheritance) -> io::Result<()> {
        let stream = &mut self.0;
        stream.set_read_timeout(Some(SUCCESSOR_PATIENCE))?;
        send(stream, &Frame::Report(inheritance.report.clone()))?;
        inheritance.handed.doors.iter().try_for_each(|door| frame::send_door(stream, door))?;
        inheritance.handed.clients.iter().try_for_each(|guest| frame::send_guest(stream, guest))?;
        send(stream, &Frame::All)?;
        match receive(stream)? {
            // If this does not arrive, the successor has ended between two words, and with it its clients.
            Frame::Takes => drop(send(stream, &Frame::Given)),
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        Ok(())
    }
}

/// The process that served, until its successor takes over. Where it does not, this has to be dropped after the disks are closed:
/// the predecessor opens them then.
pub struct Predecessor {
    stream: UnixStream,
    path: PathBuf,
}

/// Asks who serves at this bell for all that it has; `None` where nobody does.
///
/// # Errors
/// It refuses, or the way to it breaks.
pub fn ask(path: &Path) -> Result<Option<(Predecessor, Inheritance)>, HandoverError> {
    let broken = |source| HandoverError::Broken { path: path.to_owned(), source };
    let endpoint = Endpoint::resolve(&Address::Unix(path.to_owned())).map_err(broken)?;
    let connected = endpoint.first().map_or(Err(ErrorKind::NotFound.into()), Socket::connect);
    let mut stream = match connected.and_then(Socket::into_waiting) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(broken(error)),
    };
    let inheritance = receive_all(&mut stream, path)?;
    Ok(Some((Predecessor { stream, path: path.to_owned() }, inheritance)))
}

fn receive_all(stream: &mut UnixStream, path: &Path) -> Result<Inheritance, HandoverError> {
    let broken = |source| HandoverError::Broken { path: path.to_owned(), source };
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    send(stream, &Frame::Asks).map_err(broken)?;
    let mut inheritance = Inheritance { handed: Handed::default(), report: Vec::new() };
    loop {
        match receive(stream).map_err(broken)? {
            Frame::Report(report) => inheritance.report = report,
            Frame::Door(door) => inheritance.handed.doors.push(*door),
            Frame::Guest(guest) => inheritance.handed.clients.push(*guest),
            Frame::All => return Ok(inheritance),
            Frame::Refused(why) => return Err(HandoverError::Refused { path: path.to_owned(), why }),
            Frame::Asks | Frame::Takes | Frame::Given => return Err(broken(ErrorKind::InvalidData.into())),
        }
    }
}

impl Predecessor {
    /// Takes everything for good: from here on this process serves.
    ///
    /// # Errors
    /// The predecessor has given up waiting and goes on itself, or has ended: nothing may be done with its sockets.
    pub fn take(&mut self) -> Result<(), HandoverError> {
        let broken = |source| HandoverError::Broken { path: self.path.clone(), source };
        send(&mut self.stream, &Frame::Takes).map_err(broken)?;
        match receive(&mut self.stream).map_err(broken)? {
            Frame::Given => Ok(()),
            _ => Err(broken(ErrorKind::InvalidData.into())),
        }
    }
}
