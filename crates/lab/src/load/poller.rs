//! Waiting for sockets until a precise instant: epoll, and a timer that is one more descriptor in it.
//!
//! The timer stays armed while sockets wake the thread, so that a wait costs no timer of its own: starting
//! and cancelling one for every wait is what a virtual machine pays most for, because each reprograms the
//! hardware. The timer has no slack, and its clock is that of the arrivals.

use super::lateness::Looks;
use evenkeel_core::Nanos;
pub(super) use evenkeel_os::Interest;
use evenkeel_os::clock::monotonic;
use std::io;
use std::os::fd::AsRawFd;

/// Token of the timer; no socket has it.
pub(super) const TIMER: u64 = u64::MAX;

pub(super) struct Poller {
    poller: evenkeel_os::Poller,
    /// When the timer will fire; what has passed has fired.
    armed: Nanos,
    ready: usize,
    busy: bool,
}

impl Poller {
    /// One that sleeps while it waits, or looks again and again.
    pub fn new(busy: bool) -> io::Result<Self> {
        let poller = evenkeel_os::Poller::new(Nanos::ZERO, TIMER)?;
        Ok(Self { poller, armed: Nanos::ZERO, ready: 0, busy })
    }

    pub fn add(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.poller.add(socket, token, interest)
    }

    pub fn change(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.poller.change(socket, token, interest)
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
            self.look(false)?;
        }
        if sleeps && (!asks || self.ready == 0) {
            if due < self.armed || self.armed <= now {
                self.arm(due)?;
            }
            self.look(true)?;
            return Ok(true);
        }
        while self.busy && self.ready == 0 {
            let now = monotonic();
            if now >= due {
                break;
            }
            looks.nothing(now);
            self.look(false)?;
        }
        Ok(false)
    }

    fn look(&mut self, block: bool) -> io::Result<()> {
        self.ready = 0;
        self.ready = self.poller.wait(block)?;
        Ok(())
    }

    fn arm(&mut self, due: Nanos) -> io::Result<()> {
        self.poller.fire_at(due)?;
        self.armed = due;
        Ok(())
    }

    pub fn ready(&self) -> usize {
        self.ready
    }

    pub fn token(&self, index: usize) -> u64 {
        self.poller.ready(index).token
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
