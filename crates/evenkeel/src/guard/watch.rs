//! What connections do, as counts that only grow, and the events that follow from them.

use evenkeel_guard::event::Event;
use evenkeel_guard::proxy::{Count, Stats};

/// A count whose growth is an event.
struct Told {
    level: &'static str,
    name: &'static str,
    hint: &'static str,
    of: fn(&Stats) -> &Count,
}

const TOLD: [Told; 6] = [
    Told { level: "warn", name: "refused", hint: "", of: |stats| &stats.refused },
    Told { level: "warn", name: "malformed", hint: "", of: |stats| &stats.malformed },
    Told {
        level: "warn",
        name: "login_timeouts",
        hint: "clients that did not log in within `login_max`, or a server that answers too late: see its back_log",
        of: |stats| &stats.login_timeouts,
    },
    Told {
        level: "error",
        name: "clients_refused",
        hint: "more clients than may be connected: raise `clients_max`, or, without it, open files (LimitNOFILE= in the \
               unit, or ulimit -n)",
        of: |stats| &stats.clients_refused,
    },
    Told {
        level: "error",
        name: "panics",
        hint: "a defect of the guard ended these sessions and no others: report it with the lines above",
        of: |stats| &stats.panics,
    },
    Told {
        level: "warn",
        name: "failover",
        hint: "logins now reach another server; what still runs at the old one no longer counts",
        of: |stats| &stats.failovers,
    },
];

/// Turns counts into events, at most one of each kind for each look.
#[derive(Debug, Default)]
pub struct Watch {
    told: [u64; TOLD.len()],
    unreachable: u64,
    logins: u64,
    down: bool,
    warned: bool,
}

impl Watch {
    pub fn look(&mut self, stats: &Stats) -> Vec<Event> {
        let mut events = Vec::new();
        for (&Told { level, name, hint, of }, last) in TOLD.iter().zip(&mut self.told) {
            let count = growth(last, of(stats));
            if count > 0 {
                events.push(Event::Counted { level, name, count, hint });
            }
        }
        let failed = growth(&mut self.unreachable, &stats.unreachable);
        let logins = growth(&mut self.logins, &stats.logins);
        if failed > 0 && !self.down {
            events.push(Event::BackendDown { failed });
        } else if self.down && failed == 0 && logins > 0 {
            events.push(Event::BackendUp);
            self.down = false;
        }
        self.down |= failed > 0;
        if stats.without_tls.get() > 0 && !std::mem::replace(&mut self.warned, true) {
            events.push(without_tls());
        }
        events
    }
}

fn without_tls() -> Event {
    Event::Warned {
        about: "tls",
        text: "the server offers TLS and this guard offers none: clients that prefer it (`--ssl`) reach the \
               guard unencrypted, those that require it cannot connect, and accounts with REQUIRE SSL cannot log in"
            .into(),
        hint: "give the guard a certificate: `certificate` and `key`, or `self_signed`, under [client_tls]".into(),
    }
}

/// How much a count has grown since the last look.
fn growth(last: &mut u64, count: &Count) -> u64 {
    let now = count.get();
    now - std::mem::replace(last, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(count: &Count, times: u64) {
        (0..times).for_each(|_| count.add());
    }

    #[test]
    fn a_server_that_is_down_is_told_once_and_again_when_it_is_back() {
        let (mut watch, stats) = (Watch::default(), Stats::default());
        let mut after = |failed, logins| {
            add(&stats.unreachable, failed);
            add(&stats.logins, logins);
            watch.look(&stats)
        };
        assert_eq!(after(0, 5), []);
        assert_eq!(after(3, 0), [Event::BackendDown { failed: 3 }]);
        assert_eq!(after(6, 0), []);
        assert_eq!(after(0, 0), []);
        assert_eq!(after(0, 1), [Event::BackendUp]);
        assert_eq!(after(0, 1), []);
    }

    #[test]
    fn refusals_are_told_as_a_number_not_each() {
        let (mut watch, stats) = (Watch::default(), Stats::default());
        let mut told = || {
            let counted = |event| match event {
                Event::Counted { name, count, .. } => (name, count),
                other => panic!("{other:?}"),
            };
            watch.look(&stats).into_iter().map(counted).collect::<Vec<_>>()
        };
        add(&stats.refused, 1_000);
        add(&stats.malformed, 2);
        assert_eq!(told(), [("refused", 1_000), ("malformed", 2)]);
        assert!(told().is_empty());
        add(&stats.clients_refused, 40);
        add(&stats.panics, 1);
        assert_eq!(told(), [("clients_refused", 40), ("panics", 1)]);
    }
}
