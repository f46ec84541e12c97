//! The thread that holds I/Os back and lets them go.

use super::front::Front;
use super::front::nbd::Nbd;
use super::handle::{Addition, Handle, Inbox};
use super::handover::{Busy, Handed};
use super::worker::Worker;
use super::{Backing, Errno};
use evenkeel_core::share::Costs;
use evenkeel_os::address::Address;
use evenkeel_os::{self, Access, Listener};
use evenkeel_wire::nbd::{Export, NAME_MAX};
use rustls::ServerConfig;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A virtual disk.
pub struct DiskPlan {
    /// Its name in figures and at fronts.
    pub name: String,
    /// Shares of the disk, above zero.
    pub shares: f64,
    /// The backing, which does its I/Os.
    pub backing: Box<dyn Backing>,
}

/// The disks that an engine serves, and how.
pub struct Plan {
    /// The disks in their order.
    pub disks: Vec<DiskPlan>,
    /// The initial window; an infinite one holds nothing back.
    pub window: f64,
    /// What I/Os cost.
    pub costs: Costs,
    /// Bytes of buffers that requests of sockets may hold. One request at a time is taken beyond that.
    pub memory: usize,
}

/// How disks are served over the NBD protocol.
pub struct NbdPlan {
    /// Where clients arrive; whoever can connect may write.
    pub listen: Vec<ListenAddress>,
    /// TLS for those who come over TCP; unix sockets do without.
    pub tls: Option<Arc<ServerConfig>>,
}

/// An address or a unix socket at which clients arrive.
#[derive(Clone, Debug)]
pub struct ListenAddress {
    /// The address or the path of the socket.
    pub address: Address,
    /// Number of the only disk that is served there; `None` for all of them, each under its name.
    pub disk: Option<usize>,
    /// Mode and group of the file of a unix socket.
    pub access: Access,
}

impl From<Address> for ListenAddress {
    fn from(address: Address) -> Self {
        Self { address, disk: None, access: Access::default() }
    }
}

/// Sockets at which clients may connect already, or are connected; they are answered once an engine serves them.
pub struct Listening(Nbd);

impl Listening {
    /// Listens for clients of these disks, whose requests may hold so many bytes of buffers.
    ///
    /// # Errors
    /// As [`Engine::start_nbd`].
    pub fn bind(nbd: &NbdPlan, disks: &[DiskPlan], memory: usize) -> Result<Self, ShareError> {
        Ok(Self(Nbd::bind(nbd, exports(disks)?, memory)?))
    }

    /// As [`Listening::bind`], with the sockets of a predecessor and its clients. Dropped, it takes nothing down.
    ///
    /// # Errors
    /// As [`Engine::start_nbd`].
    pub fn adopt(
        nbd: &NbdPlan,
        disks: &[DiskPlan],
        memory: usize,
        handed: Handed,
    ) -> Result<Self, ShareError> {
        Ok(Self(Nbd::adopt(nbd, exports(disks)?, memory, handed)?))
    }
}

/// Where clients of a disk may connect that is served later: they wait until it is. Dropped, it takes nothing down but itself.
pub struct Doors(Vec<(Address, Listener)>);

impl Doors {
    /// Listens at all of these addresses.
    ///
    /// # Errors
    /// One of them is taken, or may not be made.
    pub fn bind(places: &[(Address, Access)]) -> Result<Self, ShareError> {
        let bind = |(address, access): &(Address, Access)| match Listener::bind_for(address, *access) {
            Ok(listener) => Ok((address.clone(), listener)),
            Err(source) => Err(ShareError::Listen { address: address.clone(), source }),
        };
        places.iter().map(bind).collect::<Result<_, _>>().map(Self)
    }

    /// Ports, where the system chose them too.
    pub fn ports(&self) -> Vec<u16> {
        self.0.iter().filter_map(|(_, listener)| listener.port()).collect()
    }
}

/// Why an engine does not start, or how it ended.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The system gives no thread, or no descriptors for it.
    #[error("cannot start the thread of the disks: {0}")]
    Start(io::Error),
    /// The port or the path is taken, say.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: Address,
        /// The error of the system.
        source: io::Error,
    },
    /// Clients could not distinguish it from another one, or not ask for it.
    #[error("disk {name:?}: the name is taken, empty or above {NAME_MAX} bytes")]
    Name {
        /// The name of the disk.
        name: String,
    },
    /// The engine ended by itself.
    #[error("the thread of the disks ended: {0}")]
    Ended(io::Error),
    /// What was written may not be on the disk.
    #[error("disk {name}: the last flush failed: {errno}")]
    Flush {
        /// The name of the disk.
        name: String,
        /// The error of the storage.
        errno: Errno,
    },
}

/// An engine that runs.
pub struct Engine {
    handle: Handle,
    ports: Vec<u16>,
    thread: Option<JoinHandle<Result<(), ShareError>>>,
}

impl Engine {
    /// Begins to serve, the requests of other threads alone.
    pub fn start(plan: Plan) -> Result<Self, ShareError> {
        Self::start_with(plan, None)
    }

    /// As [`Engine::start`], and serves the disks to clients of sockets.
    pub fn start_nbd(plan: Plan, nbd: &NbdPlan) -> Result<Self, ShareError> {
        let listening = Listening::bind(nbd, &plan.disks, plan.memory)?;
        Self::start_listening(plan, listening)
    }

    /// As [`Engine::start_nbd`], at sockets that listen already.
    pub fn start_listening(plan: Plan, Listening(mut front): Listening) -> Result<Self, ShareError> {
        front.own();
        let ports = front.ports();
        let mut engine = Self::start_with(plan, Some(Box::new(front)))?;
        engine.ports = ports;
        Ok(engine)
    }

    /// As [`Engine::start`], with a front of its own.
    pub(crate) fn start_with(plan: Plan, front: Option<Box<dyn Front>>) -> Result<Self, ShareError> {
        evenkeel_os::allow_descriptors();
        let inbox = Arc::new(Inbox::new().map_err(ShareError::Start)?);
        let worker = Worker::new(plan, front, inbox.clone()).map_err(ShareError::Start)?;
        let builder = std::thread::Builder::new().name("disks".to_owned());
        let thread = builder.spawn(|| worker.run()).map_err(ShareError::Start)?;
        Ok(Self { handle: Handle(inbox), ports: Vec::new(), thread: Some(thread) })
    }

    /// A way to it for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves one more disk from now on, to other threads, at the places of all disks, and at places of its own; its place among
    /// the disks, which is behind all others.
    ///
    /// # Errors
    /// The name is taken, or the engine has ended.
    pub fn add(&self, disk: DiskPlan, doors: Doors) -> Result<usize, ShareError> {
        self.handle.add(Addition { disk, listeners: doors.0 })
    }

    /// Ports it listens at, where the system chose them too.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Whether its thread has ended, which it does not before [`Engine::stop`] unless the system fails it.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Takes no more requests, lets those it has end, flushes and closes every disk, and gives away all that its clients have.
    ///
    /// # Errors
    /// What was asked had not ended within `drain`, or a disk may have lost what was written, and the engine goes on; or it has
    /// ended without having flushed all.
    pub fn hand_over(&mut self, drain: Duration) -> Result<Handed, Busy> {
        let handed = self.handle.hand_over(drain);
        if matches!(handed, Ok(_) | Err(Busy::Ended)) {
            // The disks are closed when the thread is over.
            self.join().map_err(|_| Busy::Ended)?;
        }
        handed
    }

    /// Takes no more requests, lets those it has end, and flushes every disk.
    pub fn stop(mut self) -> Result<(), ShareError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), ShareError> {
        self.handle.stop();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(ShareError::Ended(io::Error::other("it panicked"))))
    }
}

/// The disks as clients see them.
fn exports(disks: &[DiskPlan]) -> Result<Vec<Export>, ShareError> {
    let mut exports: Vec<Export> = Vec::new();
    for disk in disks {
        let export = export(disk, |name| exports.iter().any(|export| export.name == name))?;
        exports.push(export);
    }
    Ok(exports)
}

/// One disk as clients see it.
pub(super) fn export(disk: &DiskPlan, is_taken: impl Fn(&str) -> bool) -> Result<Export, ShareError> {
    let DiskPlan { name, backing, .. } = disk;
    if !(1..=NAME_MAX).contains(&name.len()) || is_taken(name) {
        return Err(ShareError::Name { name: name.clone() });
    }
    Ok(Export { name: name.clone(), bytes: backing.bytes(), read_only: backing.is_read_only() })
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Whoever drops an engine without asking does not want to know.
        let _ = self.join();
    }
}
