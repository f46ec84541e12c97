//! System calls: sockets without waiting, epoll, a way to wake a thread, files by io_uring, memory that processes share.
#![allow(unsafe_code)]

pub mod file;
mod listener;
mod lock;
mod mount;
mod poller;
mod shared;
mod socket;
mod uring;
mod wake;

pub use listener::Listener;
pub use lock::{try_lock, unlock};
pub use mount::unmount;
pub use poller::{Interest, Poller, Ready};
pub use shared::{SharedWords, monotonic};
pub use socket::{Endpoint, PARTS, Socket};
pub use uring::{Completed, Ring};
pub use wake::Wake;

use std::io;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// How often this thread has stopped by itself to wait for something; not counted is when others took its CPU.
pub fn waits() -> i64 {
    // SAFETY: all zeroes are a valid rusage; the call writes it and nothing else.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_nvcsw
    }
}

/// Asks for as many descriptors as the system allows: every session has two. Where it refuses, sessions
/// beyond its limit wait to be accepted.
pub fn allow_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is a variable of this function, read and written through the calls alone.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// User and group that this process acts as.
pub fn user() -> (u32, u32) {
    // SAFETY: system calls without arguments that cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
