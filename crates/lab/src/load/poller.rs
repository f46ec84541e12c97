//! Waiting for sockets until a precise instant: epoll with nanoseconds.

use super::socket::check;
use evenkeel_core::Nanos;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Events taken at a time.
const BATCH: usize = 128;

/// What a socket waits for; always edge-triggered, so that nothing is changed between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Bytes or the end.
    Read,
    /// Those, and room to write or the end of connecting.
    ReadWrite,
}

impl Interest {
    fn events(self) -> u32 {
        let events = match self {
            Self::Read => libc::EPOLLIN | libc::EPOLLET,
            Self::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET,
        };
        events as u32
    }
}

/// One epoll instance with room for its events.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Box<[libc::epoll_event; BATCH]>,
    ready: usize,
    /// Whether the kernel has `epoll_pwait2` (Linux 5.11).
    precise: bool,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        // SAFETY: a system call without pointers; the descriptor it gives is owned by nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let events = Box::new([libc::epoll_event { events: 0, u64: 0 }; BATCH]);
        Ok(Self { epoll, events, ready: 0, precise: true })
    }

    /// Watches a socket under a token.
    pub fn add(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, token, interest)
    }

    /// Changes what a socket waits for.
    pub fn change(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, socket, token, interest)
    }

    fn control(&self, what: i32, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.events(), u64: token };
        // SAFETY: the event lives through the call.
        let result =
            unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, socket.as_raw_fd(), &raw mut event) };
        check(result).map(|_| ())
    }

    /// Waits until something is ready or the time is over. An interruption counts as nothing ready.
    pub fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        self.ready = 0;
        let result = if self.precise { self.wait_precise(timeout) } else { self.wait_twice(timeout) };
        self.ready = match result {
            Ok(ready) => usize::try_from(ready).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) if self.precise && error.raw_os_error() == Some(libc::ENOSYS) => {
                self.precise = false;
                return self.wait(timeout);
            }
            Err(error) => return Err(error),
        };
        Ok(())
    }

    fn wait_precise(&mut self, timeout: Nanos) -> io::Result<i32> {
        let time = timespec(timeout);
        // SAFETY: the events have room for BATCH; the time lives through the call; no signal mask is given.
        // Called by number, because the C library has the function only since 2.35.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                BATCH as libc::c_int,
                &raw const time,
                ptr::null::<libc::sigset_t>(),
                mem::size_of::<u64>(),
            )
        };
        check(ready as i32)
    }

    /// Before Linux 5.11: ppoll waits with nanoseconds for the epoll instance itself.
    fn wait_twice(&mut self, timeout: Nanos) -> io::Result<i32> {
        let time = timespec(timeout);
        let mut watched = libc::pollfd { fd: self.epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd and the time live through the call; no signal mask is given.
        check(unsafe { libc::ppoll(&raw mut watched, 1, &raw const time, ptr::null()) })?;
        // SAFETY: the events have room for BATCH.
        check(unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), BATCH as i32, 0) })
    }

    /// How many events the last wait found.
    pub fn ready(&self) -> usize {
        self.ready
    }

    /// Token of one of them.
    pub fn token(&self, index: usize) -> u64 {
        self.events[index].u64
    }
}

fn timespec(duration: Nanos) -> libc::timespec {
    libc::timespec {
        tv_sec: (duration.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (duration.0 % 1_000_000_000) as libc::c_long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn both_ways_of_waiting_see_a_byte_and_end_on_time() {
        for precise in [true, false] {
            let mut poller = Poller::new().unwrap();
            poller.precise = precise;
            let (mut writer, reader) = UnixStream::pair().unwrap();
            poller.add(&reader, 7, Interest::Read).unwrap();
            let start = monotonic();
            poller.wait(Nanos::from_millis(3)).unwrap();
            assert_eq!(poller.ready(), 0);
            assert!(monotonic() - start >= Nanos::from_millis(3));
            writer.write_all(b"x").unwrap();
            poller.wait(Nanos::from_secs(5)).unwrap();
            assert_eq!((poller.ready(), poller.token(0)), (1, 7));
        }
    }
}
