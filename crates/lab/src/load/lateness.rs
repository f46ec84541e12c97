//! Which part of a wait for a session is our own lateness.
//!
//! A request that finds no free session waits for an answer. A thread that is late (it was not woken in time, or had
//! other things to do) reads that answer late, and what it sent late before holds its session for longer: neither is
//! the pool's or the server's doing. What an on-time thread would have waited is session wait, the rest is dispatch lag.

use evenkeel_core::Nanos;

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
