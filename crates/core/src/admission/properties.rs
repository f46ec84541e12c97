//! Whatever is asked of the gate, in whatever order, it loses nobody and lets no more in than it may.

use super::tests::by;
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Clone, Debug)]
enum Step {
    Ask(u64),
    Enter(u64),
    Release(u64),
    Cancel(u64),
    Lend(u64),
    LendAtServer(u64, u64),
    Resume(u64),
    Exempt(u64),
    Unexempt(u64),
    Limit(usize),
    LoansMax(Option<usize>),
    Pass(u64),
    NewServer,
    /// A session at the server before calls, though one of that number is here too.
    Old(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..24_u64;
    prop_oneof![
        6 => session.clone().prop_map(Step::Ask),
        1 => session.clone().prop_map(Step::Enter),
        5 => session.clone().prop_map(Step::Release),
        1 => session.clone().prop_map(Step::Cancel),
        2 => session.clone().prop_map(Step::Lend),
        2 => (session.clone(), 0..500_u64).prop_map(|(session, ago)| Step::LendAtServer(session, ago)),
        2 => session.clone().prop_map(Step::Resume),
        1 => session.clone().prop_map(Step::Exempt),
        1 => session.clone().prop_map(Step::Unexempt),
        1 => (1..8_usize).prop_map(Step::Limit),
        1 => prop::option::of(0..12_usize).prop_map(Step::LoansMax),
        2 => (1..1_500_u64).prop_map(Step::Pass),
        1 => Just(Step::NewServer),
        1 => session.prop_map(Step::Old),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Waiting,
    Running,
    Lent,
    /// On loan since.
    OnLoan(Nanos),
    Asleep(Nanos),
}

impl Seen {
    fn is_lent(self) -> bool {
        matches!(self, Self::Lent | Self::OnLoan(_) | Self::Asleep(_))
    }
}

/// What an onlooker knows from answers and notices alone.
struct Onlooker {
    gate: Gate,
    tenants: [TenantId; 3],
    now: Nanos,
    seen: BTreeMap<u64, Seen>,
    order: HashMap<u64, Vec<u64>>,
    highest_limit: usize,
    entered: usize,
    lent_max: usize,
    loans_max: usize,
    exempt: BTreeSet<u64>,
    server: u32,
}

/// Exempt sessions of a tenant.
const NAMED_MAX: usize = 3;

impl Onlooker {
    fn new(limit: usize, lent_max: usize) -> Self {
        let options = Options { lent_max, named_max: NAMED_MAX, ..Options::default() };
        let mut gate = Gate::new(limit, options);
        let tenants = ["a", "b", "c"].map(|name| gate.tenant(name));
        Self {
            gate,
            tenants,
            now: Nanos::from_secs(1),
            seen: BTreeMap::new(),
            order: HashMap::new(),
            highest_limit: limit,
            entered: 0,
            lent_max,
            loans_max: limit,
            exempt: BTreeSet::new(),
            server: 0,
        }
    }

    fn by(&self, session: u64) -> Caller {
        let tenant = self.tenants[(session % 3) as usize];
        Caller { session: SessionId(session), tenant, server: self.server, thread: 0 }
    }

    fn step(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Ask(s) => self.ask(s),
            Step::Enter(s) => {
                self.entered += usize::from(matches!(self.seen.get(&s), None | Some(Seen::Waiting)));
                self.gate.enter(now, self.by(s));
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
                self.gate.cancel(now, self.by(s));
                self.leave_queue(s);
                self.seen.remove(&s);
            }
            Step::Lend(s) => self.lend(s, Loan::Idle, Seen::Lent),
            Step::LendAtServer(s, ago) => {
                let since = now - Nanos::from_millis(ago);
                match ago % 2 {
                    0 => self.lend(s, Loan::AtServer { since }, Seen::OnLoan(since)),
                    _ => self.lend(s, Loan::Asleep { since }, Seen::Asleep(since)),
                }
            }
            Step::Resume(s) => {
                self.gate.resume(now, self.by(s));
                if self.seen.get(&s).is_some_and(|seen| seen.is_lent()) {
                    self.seen.insert(s, Seen::Running);
                }
            }
            Step::Exempt(s) => self.exempt(s),
            Step::Unexempt(s) => {
                if self.exempt.remove(&s) {
                    self.gate.unexempt(self.by(s));
                }
            }
            Step::LoansMax(most) => {
                self.loans_max = self.loans_max.max(most.unwrap_or(0));
                self.gate.set_loans_max(most);
            }
            Step::NewServer => self.fail_over(),
            Step::Old(s) => self.call_from_before(s),
            Step::Limit(limit) => {
                self.highest_limit = self.highest_limit.max(limit);
                self.loans_max = self.loans_max.max(limit);
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

    fn ask(&mut self, s: u64) {
        match self.gate.ask(self.now, self.by(s)) {
            Admission::Admitted => drop(self.seen.insert(s, Seen::Running)),
            Admission::Queued => {
                if self.seen.insert(s, Seen::Waiting).is_none() {
                    self.order.entry(s % 3).or_default().push(s);
                }
            }
            Admission::Rejected(reason) => panic!("refused without a bound: {reason}"),
        }
    }

    fn exempt(&mut self, s: u64) {
        if !self.exempt.contains(&s) && self.gate.exempt(self.by(s)) {
            self.exempt.insert(s);
        }
    }

    fn lend(&mut self, s: u64, loan: Loan, becomes: Seen) {
        let from = self.seen.get(&s).copied();
        // Who is on loan and has nothing at the server any more is idle from then on.
        let changes =
            from == Some(Seen::Running) || matches!(from, Some(Seen::OnLoan(_))) && becomes == Seen::Lent;
        if self.gate.lend(self.now, self.by(s), loan) && changes {
            self.seen.insert(s, becomes);
        }
    }

    fn fail_over(&mut self) {
        self.server = self.gate.new_server(self.now);
        let mut through: HashMap<u64, Vec<u64>> = HashMap::new();
        while let Some(notice) = self.gate.notice() {
            let Notice::Admitted(SessionId(session), _) = notice else { panic!("unexpected {notice:?}") };
            through.entry(session % 3).or_default().push(session);
        }
        self.order.retain(|_, waiting| !waiting.is_empty());
        assert_eq!(through, std::mem::take(&mut self.order));
        self.seen.clear();
        self.exempt.clear();
    }

    fn call_from_before(&mut self, session: u64) {
        let caller = Caller { server: self.server.wrapping_sub(1), ..self.by(session) };
        let before = figures(&self.gate);
        let (gate, now) = (&mut self.gate, self.now);
        assert_eq!(gate.ask(now, caller), Admission::Admitted);
        gate.enter(now, caller);
        assert!(!gate.lend(now, caller, Loan::Idle));
        assert!(!gate.lend(now, caller, Loan::AtServer { since: now }));
        gate.resume(now, caller);
        let ended = Ended { outcome: Outcome::Success, digest: 1, busy: now };
        gate.settle(now, caller, Some(ended), true);
        gate.settle(now, caller, None, false);
        assert!(gate.exempt(caller));
        gate.unexempt(caller);
        gate.cancel(now, caller);
        assert_eq!(figures(gate), before);
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

    fn count(&self, kind: impl Fn(Seen) -> bool) -> usize {
        self.seen.values().filter(|&&seen| kind(seen)).count()
    }

    fn check(&self) {
        let census = self.gate.census(self.now);
        let running = self.count(|seen| seen == Seen::Running);
        let lent = self.count(|seen| seen == Seen::Lent);
        let loans = self.count(|seen| matches!(seen, Seen::OnLoan(_)));
        let asleep = self.count(|seen| matches!(seen, Seen::Asleep(_)));
        let waiting = self.count(|seen| seen == Seen::Waiting);
        assert_eq!((census.running, census.lent), (running, lent));
        assert_eq!((census.loans, census.asleep), (loans, asleep));
        assert_eq!(census.waiting, waiting);
        let in_flight: usize = census.tenants.iter().map(|t| t.in_flight).sum();
        assert_eq!(in_flight, running + lent + loans + asleep);
        assert!(
            lent.max(asleep) <= self.lent_max && loans <= self.loans_max && census.loans_max >= census.limit
        );
        let most =
            self.highest_limit + 2 * self.lent_max + self.loans_max + census.unqueued + census.by_liveness;
        assert!(in_flight <= most, "{in_flight} in flight, at most {most}");
        assert!(census.unqueued <= self.entered);
        assert!(waiting == 0 || running >= census.limit, "a permit is free while somebody waits");
        let since = |seen: &Seen| match seen {
            Seen::OnLoan(since) | Seen::Asleep(since) => Some(*since),
            _ => None,
        };
        assert_eq!(census.oldest, self.seen.values().filter_map(since).min().map(|since| self.now - since));
        assert_eq!(census.tenants.iter().map(|t| t.exempt).sum::<usize>(), self.exempt.len());
        assert!(census.tenants.iter().all(|t| t.exempt <= NAMED_MAX));
    }
}

/// All but histograms, which take long to write.
fn figures(gate: &Gate) -> String {
    let tenants: Vec<_> = gate
        .census(Nanos::ZERO)
        .tenants
        .iter()
        .map(|t| (t.in_flight, t.exempt, t.admitted, t.queued))
        .collect();
    let refused = (gate.lent_refused, gate.loans_refused, gate.loans_total);
    format!(
        "{:?} {tenants:?} {refused:?} {:?}",
        (gate.running, &gate.sessions),
        (&gate.lent, &gate.on_loan, &gate.asleep)
    )
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
        (0..24).for_each(|session| onlooker.step(&Step::Unexempt(session)));
        (0..24).for_each(|session| onlooker.step(&Step::Cancel(session)));
        let census = onlooker.gate.census(onlooker.now);
        prop_assert_eq!((census.running, census.lent, census.loans, census.waiting), (0, 0, 0, 0));
        prop_assert!(onlooker.gate.sessions.is_empty() && census.tenants.iter().all(|t| t.exempt == 0));
        prop_assert_eq!((census.unqueued, census.by_liveness), (0, 0));
        // And the next one finds a free permit.
        prop_assert_eq!(onlooker.gate.ask(onlooker.now, onlooker.by(99)), Admission::Admitted);
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
            gate.ask(Nanos::ZERO, by(SessionId(session), tenants[(session % 3) as usize]));
        }
        let mut running: Vec<SessionId> = (0..limit as u64).map(SessionId).collect();
        let mut served = [0_u32; 3];
        for turn in 0..3_000 {
            let (now, done) = (Nanos::from_millis(turn), running.remove(0));
            gate.release(now, done, Outcome::Success, 1.0);
            gate.ask(now, by(done, tenants[(done.0 % 3) as usize]));
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
            gate.ask(Nanos(round), by(SessionId(session), tenant));
        }
        (0..10_000).rev().for_each(|session| gate.cancel(Nanos(round), by(SessionId(session), tenant)));
    }
    while gate.notice().is_some() {}
    assert_eq!((gate.running(), gate.waiting()), (0, 0));
    assert!(gate.sessions.is_empty() && gate.lent == 0 && gate.notices.is_empty());
}
