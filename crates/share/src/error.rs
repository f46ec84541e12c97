//! What keeps an engine from starting, and what ends it.

use super::Errno;
use evenkeel_os::address::Address;
use evenkeel_wire::nbd::NAME_MAX;
use std::io;

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
