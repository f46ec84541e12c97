//! Holds I/O back; what was flushed is on the disk. Virtual disks in front of storage that hosts have in common.
//!
//! A front takes I/Os from clients ([`Request`]), the engine holds them back until the host's window has room, a
//! [`Backing`] does them, and the engine answers. One thread owns all of that: no I/O takes a lock that another one holds
//! for longer than it takes to hand over. What sets the window gets figures of each period and knows nothing of the rest.
//!
//! ```text
//!   front (NBD socket, FUSE)  ->  engine: queue by shares, window  ->  backing (file, array)
//!                                   ^ window      | Measured
//!                                  control: law, and the bus to other hosts
//! ```
#![forbid(unsafe_code)]

pub mod backing;
pub mod control;
mod engine;
pub mod event;
mod front;
mod handle;
#[cfg(test)]
#[path = "../../../tests/left_out.rs"]
mod left_out;
mod plan;
mod request;
mod worker;

pub use backing::{Backing, Ended};
pub use engine::{Engine, Listening};
pub use evenkeel_os::address::{Address, NoAddress};
pub use evenkeel_os::tls::disk_tls as server_tls;
pub use evenkeel_os::{ALIGNMENT, Access, Buffer, Work, group_id, serve_file_systems};
pub use front::{FuseDisk, FuseError, FuseFront};
pub use handle::{Counts, Crowd, DiskCounts, Handle, Seen};
pub use plan::{DiskPlan, ListenAddress, NbdPlan, Plan, ShareError};
pub use request::{Answer, Errno, Failure, Reply, Request};
pub use rustls::ServerConfig;
