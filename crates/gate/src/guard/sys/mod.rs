//! The system calls of the data plane: sockets without waiting, epoll, and a way to wake a thread.
#![allow(unsafe_code)]

mod listener;
mod poller;
mod socket;
mod wake;

pub(super) use listener::Listener;
pub(super) use poller::{Interest, Poller, Ready};
pub(super) use socket::{Endpoint, Socket};
pub(super) use wake::Wake;

use std::io;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
