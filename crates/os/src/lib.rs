//! All system calls stand here behind safe types, and all unsafe code with them.
//!
//! There are sockets that never wait and one that does (`Channel`), their TLS, ways to wait for them (`Poller`, `poll`) and to wake
//! who waits (`Wake`); files by io_uring (`Ring`), locks and memory that processes share; other processes (`process`) and what a child
//! does first (`Birth`); CPUs, accounts and counters of the kernel (`cpu`, `usage`, `open_event`); the terminal and the clocks. It knows
//! nothing of databases.

pub mod address;
mod channel;
pub mod clock;
pub mod cpu;
pub mod file;
#[cfg(test)]
#[path = "../../../tests/left_out.rs"]
mod left_out;
mod listener;
mod lock;
mod poller;
pub mod process;
mod socket;
mod stamp;
pub mod terminal;
pub mod thread;
pub mod tls;
pub mod tools;
mod uring;
pub mod usage;
mod whole;
mod work;

pub use channel::{Cable, Channel};
pub use file::{SharedWords, free_bytes, is_control_groups, unmount};
pub use listener::{Access, Listener, group_id};
pub use lock::{exclusive, open_busy, try_lock, unlock};
pub use poller::{Interest, Poller, Ready};
pub use process::{Birth, alone, change_arguments};
pub use socket::{Endpoint, PARTS, Socket};
pub use thread::{Background, Latest, Stop, Until, Wake, wake_promptly};
pub use uring::{Completed, Ring, try_ring};
pub use usage::open_event;
pub use whole::{open_own, read_whole, replace};
pub use work::{ALIGNMENT, Buffer, Work};

use std::io;

/// A system call past the C library, whose functions that may wait are points where a thread can be cancelled: two
/// atomic exchanges around each, five times a request, for what no thread here does. Arguments as the kernel has them.
macro_rules! direct {
    ($number:ident, $($argument:expr),+) => { libc::syscall(libc::$number, $($argument),+) };
}
use direct;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Asks for as many descriptors as the system allows: every session has two. Where it refuses, sessions
/// beyond its limit wait to be accepted.
pub fn allow_descriptors() {
    if let Some(most) = descriptors().map(|limit| limit.rlim_max) {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit lives through the call, which reads it.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}

/// How many descriptors this process may have.
pub fn open_files() -> u64 {
    // Where nobody says: the smallest that systems give.
    descriptors().map_or(256, |limit| limit.rlim_cur)
}

fn descriptors() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is a variable of this function, written through the call alone.
    (unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0).then_some(limit)
}

/// PR_SET_IO_FLUSHER and PR_GET_IO_FLUSHER of linux/prctl.h, which libc has for Android alone.
const SET_IO_FLUSHER: libc::c_int = 57;
#[cfg(test)]
const GET_IO_FLUSHER: libc::c_int = 58;

/// Tells the kernel that this thread, and those that it starts from now on, write what file systems hand to them: memory
/// that they ask for is found without waiting for those file systems, which would wait for them. It wants
/// CAP_SYS_RESOURCE and Linux 5.6.
pub fn serve_file_systems() -> io::Result<()> {
    // SAFETY: a call with numbers alone, which changes flags of this thread.
    check(unsafe { libc::prctl(SET_IO_FLUSHER, 1, 0, 0, 0) }).map(|_| ())
}

/// User and group that this process acts as.
pub fn user() -> (u32, u32) {
    // SAFETY: system calls without arguments that cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_started_later_serve_file_systems_too() {
        let started = std::thread::spawn(|| {
            let allowed = serve_file_systems().is_ok();
            // SAFETY: a call with numbers alone, which reads flags of this thread.
            let told = || unsafe { libc::prctl(GET_IO_FLUSHER, 0, 0, 0, 0) };
            (allowed, told(), std::thread::spawn(told).join().expect("no panic"))
        });
        let (allowed, own, later) = started.join().expect("no panic");
        // Who may not set it may not ask either.
        assert_eq!((own, later), if allowed { (1, 1) } else { (-1, -1) });
    }
}
