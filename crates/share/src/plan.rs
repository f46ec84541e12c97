//! The disks that are served, how, and how clients see them.

use super::{Backing, Errno};
use evenkeel_core::share::Costs;
use evenkeel_os::Access;
use evenkeel_os::address::Address;
use evenkeel_wire::nbd::{Export, NAME_MAX};
use rustls::ServerConfig;
use std::io;
use std::sync::Arc;

pub struct DiskPlan {
    pub name: String,
    /// Shares of the disk, above zero.
    pub shares: f64,
    pub backing: Box<dyn Backing>,
}

pub struct Plan {
    pub disks: Vec<DiskPlan>,
    /// The initial window; an infinite one holds nothing back.
    pub window: f64,
    pub costs: Costs,
    /// Bytes of buffers that requests of sockets may hold. One request at a time is taken beyond that.
    pub memory: usize,
}

pub struct NbdPlan {
    /// Where clients arrive; whoever can connect may write.
    pub listen: Vec<ListenAddress>,
    /// TLS for those who come over TCP; unix sockets do without.
    pub tls: Option<Arc<ServerConfig>>,
}

/// An address or a unix socket at which clients arrive.
#[derive(Clone, Debug)]
pub struct ListenAddress {
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

pub(super) fn exports(disks: &[DiskPlan]) -> Result<Vec<Export>, ShareError> {
    let mut exports: Vec<Export> = Vec::new();
    for DiskPlan { name, backing, .. } in disks {
        if !(1..=NAME_MAX).contains(&name.len()) || exports.iter().any(|export| export.name == *name) {
            return Err(ShareError::Name { name: name.clone() });
        }
        exports.push(Export {
            name: name.clone(),
            bytes: backing.bytes(),
            read_only: backing.is_read_only(),
        });
    }
    Ok(exports)
}

#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    #[error("cannot start the thread of the disks: {0}")]
    Start(io::Error),
    #[error("cannot listen at {address}: {source}")]
    Listen { address: Address, source: io::Error },
    #[error("disk {name:?}: the name is taken, empty or above {NAME_MAX} bytes")]
    Name { name: String },
    #[error("the thread of the disks ended: {0}")]
    Ended(io::Error),
    #[error("disk {name}: the last flush failed: {errno}")]
    Flush { name: String, errno: Errno },
}
