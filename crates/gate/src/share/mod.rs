//! Virtual disks in front of storage that hosts have in common.
//!
//! A front takes I/Os from clients ([`Request`]), the engine holds them back until the host's window has room, a
//! [`Backing`] does them, and the engine answers. One thread owns all of that: no I/O takes a lock that another one holds
//! for longer than it takes to hand over. What sets the window is told what happened, period by period, and knows nothing
//! of the rest.
//!
//! ```text
//!   front (NBD socket, FUSE)  ->  engine: queue by shares, window  ->  backing (file, array)
//!                                   ^ window      | Measured
//!                                  control: law, and the bus to other hosts
//! ```

pub mod backing;
mod buffer;
pub mod bus;
mod check;
pub mod control;
mod engine;
pub mod event;
pub(crate) mod front;
mod handle;
pub mod handover;
mod holes;
mod request;
mod tls;
mod worker;

pub use crate::address::{Address, NoAddress};
pub use crate::sys::{Access, group_id, serve_file_systems};
pub use backing::{Backing, Ended};
pub use buffer::{ALIGNMENT, Buffer};
pub use engine::{DiskPlan, Doors, Engine, Listening, NbdPlan, Place, Plan, ShareError};
pub use front::{FuseDisk, FuseError, FuseFront};
pub use handle::{Counts, Crowd, DiskCounts, Handle, Seen};
pub use request::{Answer, Errno, Failure, Reply, Request, Work};
pub use rustls::ServerConfig;
pub use tls::server_tls;
