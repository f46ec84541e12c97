//! Whatever is asked of the gate, in whatever order, it loses nobody and lets no more in than it may.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Clone, Debug)]
enum Step {
    /// With a digest; the second kind is long.
    Ask(u64, u64),
    Enter(u64),
    /// A transaction ends, and its place goes back.
    End(u64),
    Chain(u64),
    Cancel(u64),
    Aside(u64),
    Back(u64),
    Move(u64),
    Kill(u64, bool),
    Exempt(u64),
    Unexempt(u64),
    Limit(Lane, usize),
    Pass(u64),
    NewServer,
}

const SESSIONS: u64 = 24;
const KILLER: u64 = 99;
/// Exempt sessions of a tenant.
const NAMED_MAX: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let session = 0..SESSIONS;
    let lane = prop_oneof![Just(Lane::Short), Just(Lane::Long)];
    prop_oneof![
        8 => (session.clone(), 1..3_u64).prop_map(|(session, digest)| Step::Ask(session, digest)),
        1 => session.clone().prop_map(Step::Enter),
        5 => session.clone().prop_map(Step::End),
        1 => session.clone().prop_map(Step::Chain),
        1 => session.clone().prop_map(Step::Cancel),
        2 => session.clone().prop_map(Step::Aside),
        2 => session.clone().prop_map(Step::Back),
        1 => session.clone().prop_map(Step::Move),
        1 => (session.clone(), any::<bool>()).prop_map(|(session, done)| Step::Kill(session, done)),
        1 => session.clone().prop_map(Step::Exempt),
        1 => session.prop_map(Step::Unexempt),
        1 => (lane, 1..8_usize).prop_map(|(lane, limit)| Step::Limit(lane, limit)),
        2 => (1..1_500_u64).prop_map(Step::Pass),
        1 => Just(Step::NewServer),
    ]
}

/// What a session has.
#[derive(Clone, Copy, Debug)]
enum Has {
    Stand(Stand, u64),
    Held(Held),
}

/// What an onlooker knows from answers and notices alone.
struct Onlooker {
    keeper: Keeper,
    tenants: [TenantId; 3],
    now: Nanos,
    has: BTreeMap<u64, Has>,
    /// Who waits, by tenant and lane.
    order: HashMap<(u64, bool), Vec<u64>>,
    highest: [usize; 2],
    back: usize,
    exempt: BTreeSet<u64>,
    /// Those that have a place at a server that is gone.
    old: BTreeMap<u64, (Caller, Held)>,
}

impl Onlooker {
    fn new(limits: [usize; 2], aside_max: usize) -> Self {
        let options = Options { aside_max, named_max: NAMED_MAX, ..Options::default() };
        let mut keeper = Keeper::new(limits, options);
        let tenants = ["a", "b", "c"].map(|name| keeper.tenant(name));
        Self {
            keeper,
            tenants,
            now: Nanos::from_secs(1),
            has: BTreeMap::new(),
            order: HashMap::new(),
            highest: limits,
            back: 0,
            exempt: BTreeSet::new(),
            old: BTreeMap::new(),
        }
    }

    fn by(&self, session: u64) -> Caller {
        let tenant = self.tenants[(session % 3) as usize];
        Caller {
            session: SessionId(session),
            tenant,
            server: self.keeper.server(),
            thread: session as u32 + 1,
        }
    }

    fn held(&mut self, session: u64, act: impl FnOnce(&mut Keeper, Nanos, Caller, &mut Held)) {
        let caller = self.by(session);
        if let Some(Has::Held(held)) = self.has.get_mut(&session) {
            act(&mut self.keeper, self.now, caller, held);
        }
    }

    fn step(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Ask(s, digest) => self.ask(s, digest),
            Step::Enter(s) if !self.has.contains_key(&s) => {
                let held = self.keeper.enter(now, self.by(s), 1);
                self.has.insert(s, Has::Held(held));
            }
            Step::Enter(_) => {}
            Step::End(s) => {
                self.end(s);
                self.held(s, |keeper, now, caller, held| keeper.leave(now, caller, *held));
                self.has.retain(|session, has| *session != s || matches!(has, Has::Stand(..)));
            }
            Step::Chain(s) => self.end(s),
            Step::Cancel(s) => self.cancel(s),
            Step::Aside(s) => self.held(s, |keeper, now, caller, held| {
                keeper.step_aside(now, caller, held);
            }),
            Step::Back(s) => {
                let aside = self.keeper.brief_census().aside;
                self.held(s, |keeper, now, caller, held| keeper.step_back(now, caller, held));
                self.back += aside - self.keeper.brief_census().aside;
            }
            Step::Move(s) => self.held(s, |keeper, now, caller, held| {
                keeper.move_to_long(now, caller, held, Nanos::from_millis(500));
            }),
            Step::Kill(s, done) => {
                let killer = self.by(KILLER);
                self.keeper.begin_kill(now, killer, s as u32 + 1);
                self.drain();
                if done && let Some(Has::Stand(stand, _)) = self.has.get(&s) {
                    self.order.get_mut(&(s % 3, stand.lane == Lane::Long)).unwrap().retain(|one| *one != s);
                }
                self.keeper.end_kill(now, killer, done);
            }
            Step::Exempt(s) => {
                if !self.exempt.contains(&s) && self.keeper.exempt(self.by(s)) {
                    self.exempt.insert(s);
                }
            }
            Step::Unexempt(s) => {
                if self.exempt.remove(&s) {
                    self.keeper.unexempt(self.by(s));
                }
            }
            Step::Limit(lane, limit) => {
                let highest = &mut self.highest[lane as usize];
                *highest = limit.max(*highest);
                self.keeper.set_limit(now, lane, limit);
            }
            Step::Pass(millis) => {
                self.now += Nanos::from_millis(millis);
                self.keeper.tick(self.now);
            }
            Step::NewServer => self.fail_over(),
        }
        self.drain();
        self.check();
    }

    fn ask(&mut self, s: u64, digest: u64) {
        if self.has.contains_key(&s) {
            return;
        }
        match self.keeper.ask(self.now, self.by(s), digest) {
            Admission::Admitted(held) => drop(self.has.insert(s, Has::Held(held))),
            Admission::Queued(stand) => {
                self.has.insert(s, Has::Stand(stand, digest));
                self.order.entry((s % 3, stand.lane == Lane::Long)).or_default().push(s);
            }
            Admission::Rejected(reason) => panic!("refused without a bound: {reason}"),
        }
    }

    fn end(&mut self, s: u64) {
        self.held(s, |keeper, now, caller, held| {
            let busy = Nanos::from_millis(if held.digest == 2 { 500 } else { 1 });
            keeper.ended(now, caller, held, Ended { outcome: Outcome::Success, digest: 7, busy });
        });
    }

    fn cancel(&mut self, s: u64) {
        let caller = self.by(s);
        match self.has.remove(&s) {
            Some(Has::Stand(stand, _)) => {
                self.keeper.cancel(self.now, caller, stand);
                self.order.get_mut(&(s % 3, stand.lane == Lane::Long)).unwrap().retain(|one| *one != s);
            }
            Some(Has::Held(held)) => self.keeper.leave(self.now, caller, held),
            None => {}
        }
        // Those at a server that is gone change nothing, whatever they do.
        if let Some((caller, mut held)) = self.old.remove(&s) {
            let (keeper, now) = (&mut self.keeper, self.now);
            let before = format!("{:?}", keeper.brief_census());
            keeper.step_back(now, caller, &mut held);
            assert!(!keeper.step_aside(now, caller, &mut held));
            keeper.move_to_long(now, caller, &mut held, now);
            keeper.ended(now, caller, &mut held, Ended { outcome: Outcome::Success, digest: 7, busy: now });
            keeper.leave(now, caller, held);
            assert!(matches!(keeper.ask(now, caller, 1), Admission::Admitted(_)) && keeper.exempt(caller));
            keeper.enter(now, caller, 1);
            keeper.unexempt(caller);
            assert_eq!(format!("{:?}", keeper.brief_census()), before);
        }
    }

    fn fail_over(&mut self) {
        let before: Vec<Caller> = (0..SESSIONS).map(|session| self.by(session)).collect();
        self.keeper.new_server(self.now);
        self.drain();
        for (session, has) in std::mem::take(&mut self.has) {
            let Has::Held(held) = has else { panic!("{session} waits for a server that is gone") };
            self.old.insert(session, (before[session as usize], held));
        }
        self.exempt.clear();
    }

    fn drain(&mut self) {
        while let Some(notice) = self.keeper.notice() {
            let (SessionId(session), admitted) = match notice {
                Notice::Admitted(session, _) => (session, true),
                Notice::Rejected(session, Rejection::Killed) => (session, false),
                other => panic!("unexpected {other:?}"),
            };
            let Some(Has::Stand(stand, digest)) = self.has.remove(&session) else {
                panic!("it did not wait")
            };
            if admitted {
                self.has.insert(session, Has::Held(Held::new(stand.lane, digest, self.now)));
                let queue = self.order.get_mut(&(session % 3, stand.lane == Lane::Long)).unwrap();
                assert_eq!(queue.remove(0), session, "first come, first served inside a tenant");
            } else {
                self.keeper.heard(SessionId(session));
            }
        }
    }

    fn count(&self, kind: impl Fn(&Has) -> bool) -> usize {
        self.has.values().filter(|has| kind(has)).count()
    }

    fn check(&self) {
        let census = self.keeper.census(self.now);
        for lane in Lane::ALL {
            let seen = census.lanes[lane as usize];
            let place = Place { lane, ..Place::default() };
            assert_eq!(seen.running, self.count(|has| matches!(has, Has::Held(held) if held.place == place)));
            assert_eq!(
                seen.waiting,
                self.count(|has| matches!(has, Has::Stand(stand, _) if stand.lane == lane))
            );
            assert!(seen.waiting == 0 || seen.running >= seen.limit, "a place is free while somebody waits");
            let passed = census.unqueued_total + census.liveness_total;
            let moved = if lane == Lane::Long { census.moved_total } else { 0 };
            let most = self.highest[lane as usize] + self.back + (passed + moved) as usize;
            assert!(seen.running <= most, "{seen:?}, at most {most}");
        }
        assert_eq!(census.aside, self.count(|has| matches!(has, Has::Held(held) if held.place.aside)));
        assert!(census.aside <= census.aside_max);
        let in_flight: usize = census.tenants.iter().map(TenantCensus::in_flight).sum();
        assert_eq!(in_flight, census.running() + census.aside);
        assert_eq!(census.tenants.iter().map(|t| t.waiting).sum::<usize>(), census.waiting());
        assert_eq!(census.tenants.iter().map(|t| t.exempt).sum::<usize>(), self.exempt.len());
        assert!(census.tenants.iter().all(|t| t.exempt <= NAMED_MAX));
    }
}

proptest! {
    #[test]
    fn nobody_is_lost_and_no_more_run_than_may(
        limits in prop::array::uniform2(1..6_usize),
        aside_max in 0..4_usize,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut onlooker = Onlooker::new(limits, aside_max);
        steps.iter().for_each(|step| onlooker.step(step));
        // Everybody leaves: nothing stays behind.
        (0..SESSIONS).for_each(|session| onlooker.step(&Step::Unexempt(session)));
        (0..SESSIONS).for_each(|session| onlooker.step(&Step::Cancel(session)));
        let census = onlooker.keeper.census(onlooker.now);
        prop_assert_eq!((census.running(), census.aside, census.waiting()), (0, 0, 0));
        // And the next one finds a free place.
        onlooker.step(&Step::Ask(0, 1));
        prop_assert_eq!(onlooker.keeper.census(onlooker.now).waiting(), 0);
    }

    #[test]
    fn shares_follow_the_weights(weights in prop::array::uniform3(1..20_u32), limit in 1..5_usize) {
        let mut onlooker = Onlooker::new([limit, 1], 0);
        for (tenant, weight) in onlooker.tenants.into_iter().zip(weights) {
            onlooker.keeper.set_weight(tenant, weight);
        }
        // Thirty sessions of each ask again as soon as they are served.
        let mut running: Vec<u64> = (0..limit as u64).collect();
        (0..90).for_each(|session| onlooker.ask(session, 1));
        let mut served = [0_u32; 3];
        for turn in 0..3_000 {
            onlooker.now = Nanos::from_millis(turn);
            let done = running.remove(0);
            let caller = onlooker.by(done);
            let Some(Has::Held(held)) = onlooker.has.remove(&done) else { panic!("{done} does not run") };
            onlooker.keeper.leave(onlooker.now, caller, held);
            onlooker.ask(done, 1);
            while let Some(Notice::Admitted(SessionId(session), _)) = onlooker.keeper.notice() {
                served[(session % 3) as usize] += 1;
                let held = Held::new(Lane::Short, 1, onlooker.now);
                onlooker.has.insert(session, Has::Held(held));
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
