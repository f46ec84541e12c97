//! A poller waits for sockets by epoll, edge-triggered, so that nothing is changed between requests.
//!
//! Time comes from a timer that is one more descriptor and stays armed while sockets wake the thread: a
//! time-out of the wait itself would start and cancel a timer for every request.

use super::{check, direct};
use evenkeel_core::Nanos;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Events taken at a time.
const BATCH: usize = 256;
/// No other set of blocked signals while it waits.
const NO_SIGNALS: *const libc::sigset_t = ptr::null();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes, or the end.
    Read,
    /// Those, and room to write: only while something waits for room, since on a unix socket every read of
    /// the other side makes some.
    ReadWrite,
    /// A connection to accept, for one of the threads that wait for it.
    Accept,
}

impl Interest {
    fn events(self) -> u32 {
        let read = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
        let events = match self {
            Self::Read => read,
            Self::ReadWrite => read | libc::EPOLLOUT,
            Self::Accept => libc::EPOLLIN | libc::EPOLLEXCLUSIVE,
        };
        events as u32
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub token: u64,
    pub read: bool,
    pub write: bool,
    pub ended: bool,
    pub gone: bool,
}

/// One epoll instance with room for its events.
pub struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    events: Box<[libc::epoll_event; BATCH]>,
    ready: usize,
}

impl Poller {
    /// One whose timer, under the token `timer`, fires that often; for zero it waits for [`Poller::fire_in`] or [`Poller::fire_at`].
    pub fn new(every: Nanos, timer: u64) -> io::Result<Self> {
        // SAFETY: system calls without pointers; the descriptors they give are owned by nobody else.
        let (epoll, clock) = unsafe {
            let epoll = OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
            let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
            (epoll, OwnedFd::from_raw_fd(check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?))
        };
        let events = Box::new([libc::epoll_event { events: 0, u64: 0 }; BATCH]);
        let poller = Self { epoll, timer: clock, events, ready: 0 };
        poller.set(0, every, every)?;
        poller.add(&poller.timer, timer, Interest::Read)?;
        Ok(poller)
    }

    /// Lets the timer fire once, so long from now, and not when it would have fired before; never for [`Nanos::MAX`].
    pub fn fire_in(&self, after: Nanos) -> io::Result<()> {
        let off = after == Nanos::MAX;
        self.set(0, if off { Nanos::ZERO } else { after.max(Nanos(1)) }, Nanos::ZERO)
    }

    /// Lets the timer fire once, at this instant on the monotonic clock, and not when it would have fired before. It need not be read
    /// afterwards: setting it again clears it.
    pub fn fire_at(&self, due: Nanos) -> io::Result<()> {
        self.set(libc::TFD_TIMER_ABSTIME, due, Nanos::ZERO)
    }

    /// Zero as the first instant stops it.
    fn set(&self, flags: libc::c_int, first: Nanos, every: Nanos) -> io::Result<()> {
        let time = |time: Nanos| libc::timespec {
            tv_sec: (time.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (time.0 % 1_000_000_000) as libc::c_long,
        };
        let time = libc::itimerspec { it_interval: time(every), it_value: time(first) };
        // SAFETY: the time lives through the call; the old one is not asked for.
        check(unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), flags, &raw const time, ptr::null_mut())
        })?;
        Ok(())
    }

    /// The timer has fired: lets it fire again.
    pub fn rearm(&self) {
        let mut fired = [0_u8; 8];
        // SAFETY: the pointer and the length are those of the array.
        unsafe { libc::read(self.timer.as_raw_fd(), fired.as_mut_ptr().cast(), fired.len()) };
    }

    pub fn add(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, token, interest)
    }

    /// Changes what a socket waits for; what is ready already is told again.
    pub fn change(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, socket, token, interest)
    }

    pub fn remove(&self, socket: &impl AsRawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, socket, 0, Interest::Read)
    }

    fn control(&self, what: i32, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.events(), u64: token };
        // SAFETY: the event lives through the call.
        let result =
            unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, socket.as_raw_fd(), &raw mut event) };
        check(result).map(|_| ())
    }

    /// Looks what is ready, and waits until something is unless told not to; says how many are.
    pub fn wait(&mut self, block: bool) -> io::Result<usize> {
        let timeout = if block { -1 } else { 0 };
        let (epoll, events) = (self.epoll.as_raw_fd(), self.events.as_mut_ptr());
        // SAFETY: the events have room for BATCH; the signals that are blocked stay as they are.
        let ready = unsafe { direct!(SYS_epoll_pwait, epoll, events, BATCH, timeout, NO_SIGNALS, 0_usize) };
        self.ready = match check(ready as libc::c_int) {
            Ok(ready) => ready as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(self.ready)
    }

    pub fn ready(&self, index: usize) -> Ready {
        let event = self.events[..self.ready][index];
        let has = |bits: i32| event.events & bits as u32 != 0;
        let failed = has(libc::EPOLLERR | libc::EPOLLHUP);
        Ready {
            token: event.u64,
            read: failed || has(libc::EPOLLIN | libc::EPOLLRDHUP),
            write: failed || has(libc::EPOLLOUT),
            ended: failed || has(libc::EPOLLRDHUP),
            gone: has(libc::EPOLLHUP),
        }
    }
}
