//! Waiting for sockets until a precise instant: epoll, and a timer that is one more descriptor in it.
//!
//! The timer stays armed while sockets wake the thread, so that a wait costs no timer of its own: starting
//! and cancelling one for every wait is what a virtual machine pays most for, because each reprograms the
//! hardware. The timer has no slack, and its clock is that of the arrivals.

use super::lateness::Looks;
use super::socket::check;
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Events taken at a time.
const BATCH: usize = 128;
/// Token of the timer; no socket has it.
pub(super) const TIMER: u64 = u64::MAX;

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

/// One epoll instance with its timer and room for its events.
pub(super) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer will fire; what has passed has fired.
    armed: Nanos,
    events: Box<[libc::epoll_event; BATCH]>,
    ready: usize,
    busy: bool,
}

impl Poller {
    /// One that sleeps while it waits, or looks again and again.
    pub fn new(busy: bool) -> io::Result<Self> {
        // SAFETY: system calls without pointers; the descriptors they give are owned by nobody else.
        let (epoll, timer) = unsafe {
            let epoll = OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
            let timer = check(libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC))?;
            (epoll, OwnedFd::from_raw_fd(timer))
        };
        let events = Box::new([libc::epoll_event { events: 0, u64: 0 }; BATCH]);
        let poller = Self { epoll, timer, armed: Nanos::ZERO, events, ready: 0, busy };
        // Edge-triggered, the timer need not be read: setting it again clears it.
        poller.add(&poller.timer, TIMER, Interest::Read)?;
        Ok(poller)
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

    /// Waits until something is ready or `due` has come, on the monotonic clock; `now` is the instant the
    /// caller has. May come back early with nothing, after an interruption or an earlier `due`.
    pub fn wait(&mut self, now: Nanos, due: Nanos) -> io::Result<()> {
        self.wait_watched(now, due, false, &mut Looks::default()).map(|_| ())
    }

    /// The same; whether it slept before it found what it found. To know that for certain costs a look of its own
    /// (`asks`); otherwise whoever may sleep is taken to have slept.
    pub fn wait_watched(
        &mut self,
        now: Nanos,
        due: Nanos,
        asks: bool,
        looks: &mut Looks,
    ) -> io::Result<bool> {
        let sleeps = due > now && !self.busy;
        if !sleeps || asks {
            self.look(0)?;
        }
        if sleeps && (!asks || self.ready == 0) {
            if due < self.armed || self.armed <= now {
                self.arm(due)?;
            }
            self.look(-1)?;
            return Ok(true);
        }
        while self.busy && self.ready == 0 {
            let now = monotonic();
            if now >= due {
                break;
            }
            looks.nothing(now);
            self.look(0)?;
        }
        Ok(false)
    }

    fn look(&mut self, timeout: i32) -> io::Result<()> {
        self.ready = 0;
        // SAFETY: the events have room for BATCH.
        let ready = unsafe {
            libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), BATCH as i32, timeout)
        };
        match check(ready) {
            Ok(ready) => self.ready = ready as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn arm(&mut self, due: Nanos) -> io::Result<()> {
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let at = libc::timespec {
            tv_sec: (due.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (due.0 % 1_000_000_000) as libc::c_long,
        };
        let time = libc::itimerspec { it_interval: never, it_value: at };
        let (timer, flags) = (self.timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
        // SAFETY: the time lives through the call; the old one is not asked for.
        check(unsafe { libc::timerfd_settime(timer, flags, &raw const time, ptr::null_mut()) })?;
        self.armed = due;
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_wait_ends_with_a_byte_or_on_time_again_and_again() {
        for busy in [false, true] {
            waits_on_time(&mut Poller::new(busy).unwrap());
        }
    }

    fn waits_on_time(poller: &mut Poller) {
        let (mut writer, reader) = UnixStream::pair().unwrap();
        poller.add(&reader, 7, Interest::Read).unwrap();
        for _ in 0..3 {
            let start = monotonic();
            let due = start + Nanos::from_millis(3);
            while monotonic() < due {
                poller.wait(monotonic(), due).unwrap();
                assert!((0..poller.ready()).all(|index| poller.token(index) == TIMER));
            }
            writer.write_all(b"x").unwrap();
            let now = monotonic();
            poller.wait(now, now + Nanos::from_secs(600)).unwrap();
            assert_eq!((poller.ready(), poller.token(0)), (1, 7));
        }
    }

    #[test]
    fn an_earlier_instant_replaces_a_later_one_and_a_past_one_does_not_wait() {
        let mut poller = Poller::new(false).unwrap();
        let start = monotonic();
        poller.arm(start + Nanos::from_secs(3_600)).unwrap();
        poller.wait(start, start + Nanos::from_millis(2)).unwrap();
        poller.wait(monotonic(), Nanos::ZERO).unwrap();
        assert!(monotonic() - start < Nanos::from_secs(1_800));
    }
}
