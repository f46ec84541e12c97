//! The loop of the controller: one owner of its state, which takes orders and ticks.

use super::Baseline;
use super::check::Fault;
use super::journal::{Entry, Journal};
use super::keeper::{Keeper, Verdict};
use super::loans::Loans;
use super::sensors::{Available, Sensors};
use crate::admission::{Census, Gate, Interval, Options, TenantCensus};
use crate::board::Board;
use crate::clock::Clock;
use crate::event::{Event, Listener};
use crate::snapshot::{Snapshot, Totals};
use evenkeel_core::Nanos;
use evenkeel_core::control::{Controller, Response, Sample};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Entries of the journal that are kept in memory: a quarter of an hour at ten ticks a second.
const JOURNAL_MAX: usize = 9_000;

/// The way to a gate that threads share: whoever holds it delivers what a call brings about.
pub trait Reach: Send + Sync {
    /// Calls `act` once with the gate.
    fn reach(&self, act: &mut dyn FnMut(&mut Gate));
}

/// Tenants are counted this often.
const TENANTS_EVERY: Nanos = Nanos::from_millis(500);

/// What the operator chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// From one tick to the next, 50 to 100 ms.
    pub tick: Nanos,
    /// The limit until the controller has decided.
    pub start: u32,
    /// No limit passes this.
    pub limit_max: u32,
    /// Options of the gate.
    pub options: Options,
}

/// What the loop can be told.
pub enum Order {
    /// New settings, and a new controller where one is given; what runs goes on.
    Set(Settings, Option<Box<dyn Controller>>),
    /// The journal as it is.
    Journal(std::sync::mpsc::Sender<Journal>),
    /// Ends the loop; the limit stays.
    Stop,
}

/// Where entries of the journal go.
pub type Recorder = Box<dyn FnMut(&Entry) + Send>;

/// The loop.
pub struct Loop {
    gate: Arc<dyn Reach>,
    clock: Clock,
    settings: Settings,
    keeper: Keeper,
    sensors: Sensors,
    baseline: Baseline,
    journal: Journal,
    totals: Totals,
    limit: u32,
    loans: Loans,
    fault: Option<Fault>,
    available: Option<Available>,
    liveness: u64,
    /// When tenants were counted last, and what there was.
    counted: Option<Nanos>,
    tenants: Arc<[TenantCensus]>,
    listener: Arc<dyn Listener>,
    record: Recorder,
    board: Board<Snapshot>,
}

impl Loop {
    /// A loop on a gate. `record` gets every entry of the journal, `board` every snapshot.
    pub fn new(
        (gate, clock): (Arc<dyn Reach>, Clock),
        (controller, sensors): (Box<dyn Controller>, Sensors),
        settings: Settings,
        (listener, board): (Arc<dyn Listener>, Board<Snapshot>),
        record: Recorder,
    ) -> Self {
        let keeper = Keeper::new(controller, settings.start, settings.limit_max);
        let limit = settings.start.clamp(1, settings.limit_max.max(1));
        let mut this = Self {
            gate,
            clock,
            settings,
            keeper,
            sensors,
            baseline: Baseline::default(),
            journal: Journal::new(JOURNAL_MAX),
            totals: Totals::default(),
            limit,
            loans: Loans::default(),
            fault: None,
            available: None,
            liveness: 0,
            counted: None,
            tenants: Arc::default(),
            listener,
            record,
            board,
        };
        this.apply(limit);
        this
    }

    /// Ticks until told to stop, or until nobody can give orders any more.
    pub fn run(mut self, orders: &Receiver<Order>) {
        let mut next = self.clock.now() + self.settings.tick;
        loop {
            match orders.recv_timeout(Duration::from(next - self.clock.now())) {
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.clock.now();
                    self.tick(now);
                    // A tick that came late moves those after it: two at once would be one without length.
                    next = now.max(next) + self.settings.tick;
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Set(settings, controller) => {
                self.settings = settings;
                self.keeper.set_limit_max(settings.limit_max);
                if let Some(controller) = controller {
                    self.keeper.replace(controller, settings.limit_max);
                }
                let (from, to) = (self.limit, self.limit.min(settings.limit_max.max(1)));
                if from != to {
                    // No tick sees this change, and none may pass untold or uncounted.
                    self.totals.changes += 1;
                    self.listener.tell(&Event::LimitMax { from, to });
                }
                self.apply(to);
            }
            // Who asked may have gone.
            Order::Journal(reply) => drop(reply.send(self.journal.clone())),
            Order::Stop => {}
        }
    }

    fn apply(&mut self, limit: u32) {
        let now = self.clock.now();
        let options = self.settings.options;
        self.limit = limit;
        self.gate.reach(&mut |gate| {
            gate.set_limit(now, limit as usize);
            gate.set_options(now, options);
        });
    }

    /// One tick, at `now`.
    pub fn tick(&mut self, now: Nanos) {
        let (interval, census) = self.look(now);
        let reading = Clock::start();
        let signals = self.sensors.read(now, &interval);
        self.totals.sensing_s += reading.now().as_secs_f64();
        let mut sample = Sample { signals, ..sample(&interval, self.limit) };
        let verdict = self.keeper.tick(&mut sample);
        let loans = self.loans.update(now, &interval, &census, &sample.signals);
        self.totals.add(&interval);
        self.totals.held += u64::from(verdict.is_held());
        self.baseline.learn(&sample);
        self.tell(&verdict, &census);
        self.enforce(now, verdict, loans);
        let entry = Entry { sample, verdict };
        (self.record)(&entry);
        self.show(now, census, &entry);
        self.journal.push(entry);
    }

    fn look(&mut self, now: Nanos) -> (Interval, Census) {
        let whole = self.counted.is_none_or(|last| now - last >= TENANTS_EVERY);
        let mut seen = None;
        self.gate.reach(&mut |gate| {
            gate.tick(now);
            let census = if whole { gate.census(now) } else { gate.brief_census(now) };
            seen = Some((gate.take_interval(now), census));
        });
        let (interval, mut census) = seen.unwrap_or_default();
        if whole {
            self.counted = Some(now);
            self.tenants = Arc::clone(&census.tenants);
        }
        census.tenants = Arc::clone(&self.tenants);
        (interval, census)
    }

    fn enforce(&mut self, now: Nanos, verdict: Verdict, loans: Option<usize>) {
        self.gate.reach(&mut |gate| gate.set_loans_max(loans));
        if verdict.limit != self.limit {
            let dry_run = self.settings.options.dry_run;
            self.listener.tell(&Event::Limit { from: self.limit, verdict, dry_run });
            self.limit = verdict.limit;
            self.totals.changes += 1;
            self.gate.reach(&mut |gate| gate.set_limit(now, verdict.limit as usize));
        }
    }

    fn tell(&mut self, verdict: &Verdict, census: &Census) {
        if verdict.fault != self.fault {
            self.fault = verdict.fault;
            self.listener.tell(&match verdict.fault {
                Some(fault) => Event::Fault { fault, limit: verdict.limit },
                None => Event::Recovered,
            });
        }
        let available = self.sensors.available();
        if self.available != Some(available) {
            self.available = Some(available);
            self.listener.tell(&Event::Sensors(available));
        }
        if census.liveness_total > self.liveness {
            let admitted = census.liveness_total - self.liveness;
            self.liveness = census.liveness_total;
            let after = census.liveness_after;
            self.listener.tell(&Event::Liveness { admitted, after });
        }
    }

    fn show(&self, at: Nanos, census: Census, entry: &Entry) {
        self.board.post(Snapshot {
            at,
            census,
            sample: entry.sample.clone(),
            verdict: entry.verdict,
            proven: self.keeper.proven(),
            controller: self.keeper.name(),
            dry_run: self.settings.options.dry_run,
            available: self.sensors.available(),
            baseline: self.baseline.clone(),
            totals: self.totals,
        });
    }
}

fn sample(interval: &Interval, limit: u32) -> Sample {
    let response = match (interval.response_mean, interval.response_min, interval.response_max) {
        (Some(mean), Some(min), Some(max)) => {
            Some(Response { mean: mean.as_secs_f64(), min: min.as_secs_f64(), max: max.as_secs_f64() })
        }
        _ => None,
    };
    Sample {
        start: interval.start,
        end: interval.end,
        limit,
        in_flight_mean: interval.in_flight_mean,
        in_flight_max: u32::try_from(interval.in_flight_max).unwrap_or(u32::MAX),
        queued: interval.queued_mean,
        completions: interval.completions,
        work: interval.work,
        rejected: interval.rejected,
        overload: interval.overloads,
        rolled_back: interval.rolled_back,
        response,
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Caller, Loan, Outcome, SessionId};
    use evenkeel_core::control::{Decision, Reason};
    use std::sync::{Mutex, mpsc};

    /// Wants a limit, until it is told to fail.
    struct Wants(u32);

    impl Controller for Wants {
        fn name(&self) -> &'static str {
            "wants"
        }

        fn update(&mut self, _: &Sample) -> Decision {
            assert!(self.0 < 1_000, "told to fail");
            Decision { limit: self.0, why: Reason::Additive }
        }
    }

    struct OneGate(Mutex<Gate>);

    impl Reach for OneGate {
        fn reach(&self, act: &mut dyn FnMut(&mut Gate)) {
            let mut gate = self.0.lock().expect("no panic");
            act(&mut gate);
            while gate.notice().is_some() {}
        }
    }

    impl OneGate {
        fn limit(&self) -> usize {
            self.0.lock().expect("no panic").limit()
        }
    }

    struct Scene {
        gate: Arc<OneGate>,
        looped: Loop,
        events: Arc<Mutex<Vec<Event>>>,
        board: Board<Snapshot>,
    }

    fn settings(options: Options) -> Settings {
        Settings { tick: Nanos::from_millis(100), start: 2, limit_max: 50, options }
    }

    fn scene(wanted: u32, options: Options) -> Scene {
        let gate = Arc::new(OneGate(Mutex::new(Gate::new(1, options))));
        let events = Arc::new(Mutex::new(Vec::new()));
        let (heard, board) = (Arc::clone(&events), Board::new());
        let listener = Arc::new(move |event: &Event| heard.lock().expect("no panic").push(event.clone()));
        let looped = Loop::new(
            (gate.clone(), Clock::start()),
            (Box::new(Wants(wanted)), Sensors::new(None, false, None)),
            settings(options),
            (listener, board.clone()),
            Box::new(|_| ()),
        );
        Scene { gate, looped, events, board }
    }

    impl Scene {
        fn work(&self, at: u64, count: u64) {
            let at = Nanos::from_millis(at);
            for session in 0..count {
                self.gate.reach(&mut |gate| {
                    let tenant = gate.tenant("shop");
                    gate.ask(at, Caller { session: SessionId(session), tenant, server: 0 });
                    gate.release(at + Nanos::from_millis(10), SessionId(session), Outcome::Success, 1.0);
                });
            }
        }

        fn limits(&self) -> Vec<u32> {
            let events = self.events.lock().expect("no panic");
            events
                .iter()
                .filter_map(|e| if let Event::Limit { verdict, .. } = e { Some(verdict.limit) } else { None })
                .collect()
        }
    }

    #[test]
    fn a_decision_becomes_the_limit_of_the_gate_and_is_told_once() {
        let mut scene = scene(7, Options::default());
        assert_eq!(scene.gate.limit(), 2);
        for tick in 1..5 {
            scene.work(tick * 100 - 50, 3);
            scene.looped.tick(Nanos::from_millis(tick * 100));
        }
        assert_eq!((scene.gate.limit(), scene.limits()), (7, vec![7]));
        let shown = scene.board.latest().expect("four ticks");
        assert_eq!((shown.totals.ticks, shown.totals.completions, shown.totals.changes), (4, 12, 1));
        assert_eq!((shown.sample.completions, shown.sample.limit, shown.proven), (3, 7, 7));
        assert!((shown.totals.response_s - 0.12).abs() < 1e-9);
    }

    #[test]
    fn loans_that_are_refused_bring_more_loans() {
        let mut scene = scene(2, Options::default());
        let mut lent = 0;
        for tick in 1..40 {
            let at = Nanos::from_millis(tick * 100);
            scene.gate.reach(&mut |gate| {
                let tenant = gate.tenant("shop");
                let lends = |session| {
                    let caller = Caller { session: SessionId(session), tenant, server: 0 };
                    gate.enter(at, caller);
                    gate.lend(at, caller, Loan::AtServer { since: at })
                };
                lent = (0..9).map(lends).filter(|lent| *lent).count();
            });
            scene.looped.tick(at);
        }
        let census = &scene.board.latest().expect("ticks").census;
        assert!(lent > 2 && census.loans == lent && census.loans_max >= lent, "{lent}: {census:?}");
    }

    #[test]
    fn a_controller_that_fails_holds_the_limit_and_the_operator_hears_of_it() {
        let mut scene = scene(5_000, Options::default());
        for tick in 1..4 {
            scene.looped.tick(Nanos::from_millis(tick * 100));
        }
        assert_eq!(scene.gate.limit(), 2);
        let events = scene.events.lock().expect("no panic").clone();
        let faults =
            events.iter().filter(|e| matches!(e, Event::Fault { fault: Fault::Panic, limit: 2 })).count();
        assert_eq!(faults, 1, "{events:?}");
        assert_eq!(scene.board.latest().expect("ticks").totals.held, 3);
    }

    #[test]
    fn a_clock_that_stands_still_is_told_and_over_when_it_goes_on() {
        let mut scene = scene(7, Options::default());
        scene.looped.tick(Nanos::from_millis(100));
        scene.looped.tick(Nanos::from_millis(100));
        scene.looped.tick(Nanos::from_millis(200));
        let events = scene.events.lock().expect("no panic").clone();
        let place = |wanted: fn(&Event) -> bool| events.iter().position(wanted);
        let fault = place(|e| matches!(e, Event::Fault { fault: Fault::Clock, .. })).expect("told");
        let over = place(|e| matches!(e, Event::Recovered)).expect("told");
        assert!(fault < over);
    }

    #[test]
    fn a_dry_run_says_what_it_would_do() {
        let mut scene = scene(7, Options { dry_run: true, ..Options::default() });
        scene.looped.tick(Nanos::from_millis(100));
        let events = scene.events.lock().expect("no panic").clone();
        assert!(events.iter().any(|e| matches!(e, Event::Limit { from: 2, dry_run: true, .. })));
    }

    #[test]
    fn a_limit_that_the_operator_lowers_is_told_and_counted() {
        let mut scene = scene(7, Options::default());
        scene.looped.tick(Nanos::from_millis(100));
        let lower = Settings { limit_max: 4, ..settings(Options::default()) };
        scene.looped.obey(Order::Set(lower, None));
        scene.looped.tick(Nanos::from_millis(200));
        let events = scene.events.lock().expect("no panic").clone();
        assert!(events.contains(&Event::LimitMax { from: 7, to: 4 }), "{events:?}");
        assert_eq!((scene.gate.limit(), scene.board.latest().expect("ticks").totals.changes), (4, 2));
    }

    #[test]
    fn orders_are_obeyed_between_ticks() {
        let scene = scene(7, Options::default());
        let (orders, inbox) = mpsc::channel();
        let (reply, journal) = mpsc::channel();
        let looping = std::thread::spawn(move || scene.looped.run(&inbox));
        let fast = Settings { tick: Nanos::from_millis(5), limit_max: 4, ..settings(Options::default()) };
        orders.send(Order::Set(fast, Some(Box::new(Wants(9))))).expect("it runs");
        // The loop may have ticked before it is told.
        while scene.board.latest().is_none_or(|shown| shown.totals.ticks < 3) || scene.gate.limit() != 4 {
            std::thread::yield_now();
        }
        orders.send(Order::Journal(reply)).expect("it runs");
        let journal = journal.recv().expect("an answer");
        assert!(journal.entries().count() >= 3);
        // A tick before the order may have set 7, and one after a pause of the machine holds what was proven.
        let limits: Vec<u32> = journal.entries().map(|entry| entry.verdict.limit).collect();
        assert!(limits.contains(&4) && limits.iter().all(|limit| [2, 4, 7].contains(limit)), "{limits:?}");
        orders.send(Order::Stop).expect("it runs");
        looping.join().expect("it ends");
    }
}
