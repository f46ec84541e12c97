//! What connections do, as counts that only grow, and the events that follow from them.

use evenkeel_guard::event::Event;
use evenkeel_guard::proxy::Stats;

/// Counts since the start of the guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub logins: u64,
    /// Clients that were turned away, and commands that were refused.
    pub refused: u64,
    /// Connections ended because of bytes that are not the protocol.
    pub malformed: u64,
    pub unreachable: u64,
    pub login_timeouts: u64,
    pub clients_refused: u64,
    /// Sessions ended by a defect of the guard.
    pub panics: u64,
    /// Times when another server took the place of the one before.
    pub failovers: u64,
}

impl From<&Stats> for Counts {
    fn from(stats: &Stats) -> Self {
        Self {
            logins: stats.logins.get(),
            refused: stats.refused.get(),
            malformed: stats.malformed.get(),
            unreachable: stats.unreachable.get(),
            login_timeouts: stats.login_timeouts.get(),
            clients_refused: stats.clients_refused.get(),
            panics: stats.panics.get(),
            failovers: stats.failovers.get(),
        }
    }
}

/// Turns counts into events, at most one of each kind for each look.
#[derive(Debug, Default)]
pub struct Watch {
    last: Counts,
    down: bool,
}

impl Watch {
    pub fn look(&mut self, now: Counts) -> Vec<Event> {
        let last = std::mem::replace(&mut self.last, now);
        let mut events = Vec::new();
        let mut tell = |count: u64, event: fn(u64) -> Event| {
            if count > 0 {
                events.push(event(count));
            }
        };
        tell(now.refused.saturating_sub(last.refused), |count| Event::Refused { count });
        tell(now.malformed.saturating_sub(last.malformed), |count| Event::Malformed { count });
        let timeouts = now.login_timeouts.saturating_sub(last.login_timeouts);
        tell(timeouts, |count| Event::LoginTimeouts { count });
        let beyond = now.clients_refused.saturating_sub(last.clients_refused);
        tell(beyond, |count| Event::ClientsRefused { count });
        tell(now.panics.saturating_sub(last.panics), |count| Event::Panics { count });
        tell(now.failovers.saturating_sub(last.failovers), |count| Event::Failover { count });
        let failed = now.unreachable.saturating_sub(last.unreachable);
        if failed > 0 && !self.down {
            events.push(Event::BackendDown { failed });
        } else if self.down && failed == 0 && now.logins > last.logins {
            events.push(Event::BackendUp);
            self.down = false;
        }
        self.down |= failed > 0;
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_down_is_told_once_and_again_when_it_is_back() {
        let mut watch = Watch::default();
        let at = |unreachable, logins| Counts { unreachable, logins, ..Counts::default() };
        assert_eq!(watch.look(at(0, 5)), []);
        assert_eq!(watch.look(at(3, 5)), [Event::BackendDown { failed: 3 }]);
        assert_eq!(watch.look(at(9, 5)), []);
        assert_eq!(watch.look(at(9, 5)), []);
        assert_eq!(watch.look(at(9, 6)), [Event::BackendUp]);
        assert_eq!(watch.look(at(9, 7)), []);
    }

    #[test]
    fn refusals_are_told_as_a_number_not_each() {
        let mut watch = Watch::default();
        let now = Counts { refused: 1_000, malformed: 2, ..Counts::default() };
        assert_eq!(watch.look(now), [Event::Refused { count: 1_000 }, Event::Malformed { count: 2 }]);
        assert_eq!(watch.look(now), []);
        let now = Counts { login_timeouts: 7, clients_refused: 40, panics: 1, ..now };
        let told = [
            Event::LoginTimeouts { count: 7 },
            Event::ClientsRefused { count: 40 },
            Event::Panics { count: 1 },
        ];
        assert_eq!(watch.look(now), told);
        assert_eq!(watch.look(now), []);
    }
}
