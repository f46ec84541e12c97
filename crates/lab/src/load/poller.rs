//! Waiting for sockets until a precise instant: epoll, and a timer that is one more descriptor in it.
//!
//! The timer stays armed while sockets wake the thread, so that a wait costs no timer of its own: starting
//! and cancelling one for every wait is what a virtual machine pays most for, because each reprograms the
//! hardware. The timer has no slack, and its clock is that of the arrivals.

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

// Which part of a wait for a session is our own lateness.
//
// A request that finds no free session waits for an answer. A thread that is late (it was not woken in time, or had
// other things to do) reads that answer late, and what it sent late before holds its session for longer: neither is
// the pool's or the server's doing. What an on-time thread would have waited is session wait, the rest is dispatch lag.

/// When the thread looked for answers, and from when on those that it found may have been there.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: Nanos,
    since: Nanos,
}

impl Looks {
    /// A wait has ended that should have ended at `due` at the latest; `now` is the first instant read after it. Where
    /// the thread `slept`, nothing was there as it began, and what was there before `due` would have woken it. Where it
    /// did not, an answer may have been there since it last looked: own lateness is rather told too large.
    pub fn found(&mut self, now: Nanos, due: Nanos, slept: bool) {
        self.since = if slept { now.min(due).max(self.last) } else { self.last };
        self.last = now;
    }

    /// The thread looked, and nothing was there.
    pub fn nothing(&mut self, now: Nanos) {
        self.last = now;
    }

    /// What happens from here on is done by the thread itself and not found by a wait: it is known at once.
    pub fn now(&mut self, now: Nanos) {
        self.since = now;
    }

    /// From when on what was found may have been there.
    pub fn since(&self) -> Nanos {
        self.since
    }

    /// How an arrival that waited found its session, which is free from now on.
    pub fn start(&self, arrival: Nanos, carried: Nanos) -> Start {
        let free = self.since - carried;
        Start { waited: free - arrival, since: self.since, carried }
    }
}

/// How a request came to its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// What a thread that is never late would have waited for the session.
    pub waited: Nanos,
    /// From when on the session may have been free; zero where it was free at the arrival.
    since: Nanos,
    /// How much later it became so, because of how late its request before was.
    carried: Nanos,
}

impl Start {
    /// How much later the session will be free, because this request is sent at `send`. In a row of requests that wait
    /// for one another the largest lateness stands for all: that of each turn is not added up, since a server that is
    /// the limit would not have been done any sooner.
    pub fn carries(&self, arrival: Nanos, send: Nanos) -> Nanos {
        match self.waited {
            Nanos::ZERO => send - arrival,
            _ => self.carried.max(send - self.since),
        }
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

    fn us(micros: u64) -> Nanos {
        Nanos::from_micros(micros)
    }

    /// One session and requests that take `service`, at a thread that does nothing before `awake`: session waits and
    /// lags.
    fn drained(arrivals: &[Nanos], service: Nanos, awake: Nanos) -> (Vec<Nanos>, Vec<Nanos>) {
        let (mut looks, mut carried, mut free_at) = (Looks::default(), Nanos::ZERO, Nanos::ZERO);
        let (mut waits, mut lags) = (Vec::new(), Vec::new());
        for (index, &arrival) in arrivals.iter().enumerate() {
            let send = arrival.max(awake).max(free_at);
            // Whether the session was free when the arrival was handled.
            let start = match index > 0 && free_at >= arrival.max(awake) {
                true => looks.start(arrival, carried),
                false => Start::default(),
            };
            waits.push(start.waited);
            lags.push(send - arrival - start.waited);
            carried = start.carries(arrival, send);
            free_at = send + service;
            looks.found(free_at, Nanos::MAX, true);
        }
        (waits, lags)
    }

    #[test]
    fn requests_that_wait_because_the_thread_was_late_wait_for_no_session() {
        let arrivals: Vec<Nanos> = (0..20).map(|index| us(5_000 * index)).collect();
        let (waits, lags) = drained(&arrivals, us(200), us(100_000));
        assert_eq!(waits, vec![Nanos::ZERO; 20]);
        assert_eq!(lags[1], us(95_200));
        assert!(lags.is_sorted_by(|a, b| a >= b), "{lags:?}");
    }

    #[test]
    fn requests_that_wait_because_the_server_is_slow_wait_for_a_session_alone() {
        let arrivals: Vec<Nanos> = (0..20).map(|index| us(1_000 * index)).collect();
        let (waits, lags) = drained(&arrivals, us(3_000), Nanos::ZERO);
        assert_eq!(lags, vec![Nanos::ZERO; 20]);
        assert_eq!(waits[19], us(19 * 2_000));
    }

    #[test]
    fn a_slow_server_and_a_late_thread_each_get_their_part() {
        let arrivals: Vec<Nanos> = (0..20).map(|index| us(1_000 * index)).collect();
        let (waits, lags) = drained(&arrivals, us(3_000), us(500));
        assert_eq!((waits[0], lags[0]), (Nanos::ZERO, us(500)));
        assert_eq!(waits[19], us(19 * 2_000));
        assert!(lags.iter().all(|&lag| lag == us(500)), "{lags:?}");
    }

    #[test]
    fn an_answer_that_a_busy_thread_finds_may_have_been_there_since_its_last_look() {
        let mut looks = Looks::default();
        looks.nothing(us(100));
        looks.found(us(2_100), us(200), false);
        assert_eq!(looks.start(us(50), Nanos::ZERO).waited, us(50));
        assert_eq!(looks.start(us(150), Nanos::ZERO).waited, Nanos::ZERO);
    }

    #[test]
    fn a_thread_that_is_woken_late_was_late_from_its_own_due_time_on() {
        let mut looks = Looks::default();
        looks.nothing(us(100));
        looks.found(us(2_100), us(400), true);
        assert_eq!(looks.start(us(300), Nanos::ZERO).waited, us(100));
        looks.found(us(2_500), us(9_000), true);
        assert_eq!(looks.start(us(300), Nanos::ZERO).waited, us(2_200), "an answer woke it in time");
        looks.now(us(3_000));
        assert_eq!(looks.start(us(300), Nanos::ZERO).waited, us(2_700));
    }
}
