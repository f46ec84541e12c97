//! Whatever is asked of the gate, in whatever order, it loses nobody and lets no more in than it may.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug)]
enum Step {
    Ask(u64),
    Enter(u64),
    Release(u64),
    Cancel(u64),
    Lend(u64),
    Resume(u64),
    Limit(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..24_u64;
    prop_oneof![
        6 => session.clone().prop_map(Step::Ask),
        1 => session.clone().prop_map(Step::Enter),
        5 => session.clone().prop_map(Step::Release),
        1 => session.clone().prop_map(Step::Cancel),
        2 => session.clone().prop_map(Step::Lend),
        2 => session.prop_map(Step::Resume),
        1 => (1..8_usize).prop_map(Step::Limit),
        2 => (1..1_500_u64).prop_map(Step::Pass),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Waiting,
    Running,
    Lent,
}

/// What an onlooker knows from answers and notices alone.
struct Onlooker {
    gate: Gate,
    tenants: [TenantId; 3],
    now: Nanos,
    seen: BTreeMap<u64, Seen>,
    order: HashMap<u64, Vec<u64>>,
    limit_max: usize,
    entered: usize,
    lent_max: usize,
}

impl Onlooker {
    fn new(limit: usize, lent_max: usize) -> Self {
        let mut gate = Gate::new(limit, Options { lent_max, ..Options::default() });
        let tenants = ["a", "b", "c"].map(|name| gate.tenant(name));
        let (seen, order) = (BTreeMap::new(), HashMap::new());
        Self { gate, tenants, now: Nanos::ZERO, seen, order, limit_max: limit, entered: 0, lent_max }
    }

    fn tenant(&self, session: u64) -> TenantId {
        self.tenants[(session % 3) as usize]
    }

    fn step(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Ask(s) => match self.gate.ask(now, SessionId(s), self.tenant(s)) {
                Admission::Admitted => drop(self.seen.insert(s, Seen::Running)),
                Admission::Queued => {
                    if self.seen.insert(s, Seen::Waiting).is_none() {
                        self.order.entry(s % 3).or_default().push(s);
                    }
                }
                Admission::Rejected(reason) => panic!("refused without a bound: {reason}"),
            },
            Step::Enter(s) => {
                self.entered += usize::from(!matches!(self.seen.get(&s), Some(Seen::Running | Seen::Lent)));
                self.gate.enter(now, SessionId(s), self.tenant(s));
                self.leave_queue(s);
                self.seen.insert(s, Seen::Running);
            }
            Step::Release(s) => {
                self.gate.release(now, SessionId(s), Outcome::Success, 1.0);
                if self.seen.get(&s) != Some(&Seen::Waiting) {
                    self.seen.remove(&s);
                }
            }
            Step::Cancel(s) => {
                self.gate.cancel(now, SessionId(s));
                self.leave_queue(s);
                self.seen.remove(&s);
            }
            Step::Lend(s) => {
                if self.gate.lend(now, SessionId(s)) {
                    self.seen.insert(s, Seen::Lent);
                }
            }
            Step::Resume(s) => {
                self.gate.resume(now, SessionId(s));
                if self.seen.get(&s) == Some(&Seen::Lent) {
                    self.seen.insert(s, Seen::Running);
                }
            }
            Step::Limit(limit) => {
                self.limit_max = self.limit_max.max(limit);
                self.gate.set_limit(now, limit);
            }
            Step::Pass(millis) => {
                self.now += Nanos::from_millis(millis);
                self.gate.tick(self.now);
            }
        }
        self.drain();
        self.check();
    }

    fn leave_queue(&mut self, session: u64) {
        self.order.entry(session % 3).or_default().retain(|&waiting| waiting != session);
    }

    fn drain(&mut self) {
        while let Some(notice) = self.gate.notice() {
            let Notice::Admitted(SessionId(session), _) = notice else { panic!("unexpected {notice:?}") };
            assert_eq!(self.seen.insert(session, Seen::Running), Some(Seen::Waiting));
            let queue = self.order.get_mut(&(session % 3)).unwrap();
            assert_eq!(queue.remove(0), session, "first come, first served inside a tenant");
        }
    }

    fn count(&self, kind: Seen) -> usize {
        self.seen.values().filter(|&&seen| seen == kind).count()
    }

    fn check(&self) {
        let census = self.gate.census(self.now);
        let (running, lent) = (self.count(Seen::Running), self.count(Seen::Lent));
        assert_eq!((census.running, census.lent, census.waiting), (running, lent, self.count(Seen::Waiting)));
        assert_eq!(census.tenants.iter().map(|t| t.in_flight).sum::<usize>(), running + lent);
        assert!(lent <= self.lent_max);
        let most = self.limit_max + self.lent_max + census.unqueued + census.by_liveness;
        assert!(running + lent <= most, "{running} + {lent} in flight, at most {most}");
        assert!(census.unqueued <= self.entered);
        assert!(census.waiting == 0 || running >= census.limit, "a permit is free while somebody waits");
    }
}

proptest! {
    #[test]
    fn nobody_is_lost_and_no_more_run_than_may(
        limit in 1..6_usize,
        lent_max in 0..4_usize,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut onlooker = Onlooker::new(limit, lent_max);
        steps.iter().for_each(|step| onlooker.step(step));
        // Everybody leaves: nothing stays behind.
        (0..24).for_each(|session| onlooker.step(&Step::Cancel(session)));
        let census = onlooker.gate.census(onlooker.now);
        prop_assert_eq!((census.running, census.lent, census.waiting), (0, 0, 0));
        prop_assert_eq!((census.unqueued, census.by_liveness), (0, 0));
        // And the next one finds a free permit.
        let tenant = onlooker.tenants[0];
        prop_assert_eq!(onlooker.gate.ask(onlooker.now, SessionId(99), tenant), Admission::Admitted);
    }

    #[test]
    fn shares_follow_the_weights(weights in prop::array::uniform3(1..20_u32), limit in 1..5_usize) {
        let mut gate = Gate::new(limit, Options::default());
        let tenants = ["a", "b", "c"].map(|name| gate.tenant(name));
        for (tenant, weight) in tenants.iter().zip(weights) {
            gate.set_weight(*tenant, weight);
        }
        // Thirty sessions of each ask again as soon as they are served.
        for session in 0..90_u64 {
            gate.ask(Nanos::ZERO, SessionId(session), tenants[(session % 3) as usize]);
        }
        let mut running: Vec<SessionId> = (0..limit as u64).map(SessionId).collect();
        let mut served = [0_u32; 3];
        for turn in 0..3_000 {
            let (now, done) = (Nanos::from_millis(turn), running.remove(0));
            gate.release(now, done, Outcome::Success, 1.0);
            gate.ask(now, done, tenants[(done.0 % 3) as usize]);
            while let Some(Notice::Admitted(session, _)) = gate.notice() {
                served[(session.0 % 3) as usize] += 1;
                running.push(session);
            }
        }
        let total: u32 = weights.iter().sum();
        for (count, weight) in served.iter().zip(weights) {
            let due = 3_000.0 * f64::from(weight) / f64::from(total);
            prop_assert!((f64::from(*count) - due).abs() <= 20.0, "{:?} for {:?}", served, weights);
        }
    }
}

#[test]
fn ten_thousand_sessions_that_come_and_go_leave_nothing_behind() {
    let mut gate = Gate::new(4, Options::default());
    let tenant = gate.tenant("shop");
    for round in 0..5_u64 {
        for session in 0..10_000 {
            gate.ask(Nanos(round), SessionId(session), tenant);
        }
        (0..10_000).rev().for_each(|session| gate.cancel(Nanos(round), SessionId(session)));
    }
    while gate.notice().is_some() {}
    assert_eq!((gate.running(), gate.waiting()), (0, 0));
    assert!(gate.sessions.is_empty() && gate.lent.is_empty() && gate.notices.is_empty());
}
