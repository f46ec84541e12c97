//! What keeps an engine from starting, and what ends it.

use super::Errno;
use evenkeel_os::address::Address;
use evenkeel_wire::nbd::NAME_MAX;
use std::io;

/// Why an engine does not start, or how it ended.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The system gives no thread, or no descriptors for it.
    #[error("cannot start the thread of the disks: {0}")]
    Start(io::Error),
    /// The port or the path is taken, say.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address that was to be listened at.
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
