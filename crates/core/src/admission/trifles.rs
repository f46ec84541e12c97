//! Statements that are so short that a wait would cost more than they: they take no place.

use super::{Caller, Held, Keeper};
use crate::Nanos;
use crate::gate::Lane;

impl Held {
    /// Whether it runs without a place.
    pub fn is_free(&self) -> bool {
        self.free
    }
}

impl Keeper {
    /// A trifle takes no place.
    pub(super) fn admit_free(&mut self, now: Nanos, caller: Caller, digest: u64) -> Held {
        self.gate.tenants.get(caller.tenant).admit(Nanos::ZERO);
        Held { free: true, ..Held::new(Lane::Short, digest, now) }
    }

    /// What ran without a place goes on: it takes one, if need be above the limit.
    pub fn hold(&mut self, now: Nanos, caller: Caller, held: &mut Held) {
        if std::mem::take(&mut held.free) && !self.is_of_old(caller) {
            held.place = self.gate.enter(held.place.lane);
            self.unqueued_total += 1;
            self.measure(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Admission, Ended, First, Options, Outcome, SessionId};
    use super::*;

    fn by(keeper: &mut Keeper, session: u64) -> Caller {
        Caller { session: SessionId(session), tenant: keeper.tenant("a"), server: 0, thread: 0 }
    }

    fn admitted(admission: Admission) -> Held {
        if let Admission::Admitted(held) = admission { held } else { panic!("{admission:?}") }
    }

    fn read(digest: u64) -> First {
        First { digest, reads: true, ..First::default() }
    }

    /// A gate with one place, where reads of kind 7 take so long.
    fn keeper(micros: u64) -> (Keeper, Caller) {
        let mut keeper = Keeper::new([1; 2], Options::default());
        let caller = by(&mut keeper, 1);
        for _ in 0..100 {
            let mut held = admitted(keeper.ask(Nanos::ZERO, caller, 7));
            let ended = Ended { outcome: Outcome::Success, digest: 9, busy: Nanos::from_micros(micros) };
            keeper.ended(Nanos::ZERO, caller, &mut held, ended);
            keeper.leave(Nanos::ZERO, caller, held);
        }
        (keeper, caller)
    }

    #[test]
    fn a_trifle_that_reads_runs_beside_a_full_gate_and_is_counted_apart() {
        let (mut keeper, caller) = keeper(30);
        let _holder = admitted(keeper.ask(Nanos::ZERO, caller, 8));
        keeper.take_interval(Nanos::ZERO);
        let other = by(&mut keeper, 2);
        let mut held = admitted(keeper.ask(Nanos::ZERO, other, read(7)));
        assert_eq!((held.is_free(), keeper.brief_census().running()), (true, 1));
        assert!(!keeper.step_aside(Nanos::ZERO, other, &mut held));
        let ended = Ended { outcome: Outcome::Success, digest: 9, busy: Nanos::from_micros(30) };
        keeper.ended(Nanos::ZERO, other, &mut held, ended);
        keeper.leave(Nanos::ZERO, other, held);
        let interval = keeper.take_interval(Nanos::ZERO);
        assert_eq!((interval.trifles, interval.completions), (1, 0));
        assert_eq!(keeper.brief_census().running(), 1, "it gave nothing back");
        let third = by(&mut keeper, 3);
        assert!(matches!(keeper.ask(Nanos::ZERO, third, read(8)), Admission::Queued(_)), "no trifle");
        let fourth = by(&mut keeper, 4);
        assert!(matches!(keeper.ask(Nanos::ZERO, fourth, 7), Admission::Queued(_)), "it may write");
    }

    #[test]
    fn what_takes_longer_than_a_wake_up_is_no_trifle() {
        let (mut keeper, caller) = keeper(900);
        assert!(!admitted(keeper.ask(Nanos::ZERO, caller, read(7))).is_free());
    }

    #[test]
    fn a_trifle_that_lasts_takes_a_place_in_the_long_lane_and_one_that_goes_on_in_the_short() {
        let (mut keeper, caller) = keeper(30);
        let mut lasts = admitted(keeper.ask(Nanos::ZERO, caller, read(7)));
        keeper.move_to_long(Nanos::ZERO, caller, &mut lasts, Nanos::from_secs(60));
        let mut goes_on = admitted(keeper.ask(Nanos::ZERO, caller, read(7)));
        keeper.hold(Nanos::ZERO, caller, &mut goes_on);
        assert_eq!(keeper.brief_census().lanes.map(|lane| lane.running), [1, 1]);
        keeper.leave(Nanos::ZERO, caller, lasts);
        keeper.leave(Nanos::ZERO, caller, goes_on);
        assert_eq!(keeper.brief_census().running(), 0);
    }
}
