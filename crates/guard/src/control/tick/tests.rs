//! The loop on a gate without sockets.

use super::*;
use evenkeel_core::admission::{Admission, Caller, Ended, Outcome, SessionId};
use evenkeel_core::control::{Decision, Reason};
use std::sync::{Mutex, mpsc};

struct Wants(u32);

impl Controller for Wants {
    fn name(&self) -> &'static str {
        "wants"
    }

    fn update(&mut self, _: &Sample) -> Decision {
        assert!(self.0 < 1_000, "told to fail");
        Decision { limit: self.0, why: Reason::Start }
    }
}

struct OneGate(Mutex<Keeper>);

impl Reach for OneGate {
    fn reach(&self, act: &mut dyn FnMut(&mut Keeper)) {
        let mut gate = self.0.lock().expect("no panic");
        act(&mut gate);
        while gate.notice().is_some() {}
    }
}

impl OneGate {
    fn limit(&self) -> usize {
        self.0.lock().expect("no panic").limit(Lane::Short)
    }
}

struct Scene {
    gate: Arc<OneGate>,
    looped: Loop,
    events: Arc<Mutex<Vec<Event>>>,
    latest: Latest<Snapshot>,
}

fn settings(options: Options) -> Settings {
    Settings { tick: Nanos::from_millis(100), initial_limit: 2, max_limit: 50, options }
}

fn scene(wanted: u32, options: Options) -> Scene {
    let gate = Arc::new(OneGate(Mutex::new(Keeper::new([1; 2], options))));
    let events = Arc::new(Mutex::new(Vec::new()));
    let (heard, latest) = (Arc::clone(&events), Latest::new());
    let listener = Arc::new(move |event: &Event| heard.lock().expect("no panic").push(event.clone()));
    let looped = Loop::new(
        (gate.clone(), Clock::start()),
        (Box::new(Wants(wanted)), Sensors::new(None, false, None)),
        settings(options),
        (listener, latest.clone()),
        Box::new(|_| ()),
    );
    Scene { gate, looped, events, latest }
}

impl Scene {
    fn work(&self, at: u64, count: u64) {
        let at = Nanos::from_millis(at);
        for session in 0..count {
            self.gate.reach(&mut |gate| {
                let tenant = gate.tenant("shop");
                let caller = Caller { session: SessionId(session), tenant, server: 0, thread: 0 };
                let Admission::Admitted(mut held) = gate.ask(at, caller, 7) else { panic!("there is room") };
                let (end, busy) = (at + Nanos::from_millis(10), Nanos::from_millis(10));
                gate.ended(end, caller, &mut held, Ended { outcome: Outcome::Success, digest: 7, busy });
                gate.leave(end, caller, held);
            });
        }
    }

    fn events(&self) -> Vec<Event> {
        self.events.lock().expect("no panic").clone()
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
    let limits = scene.events().into_iter().filter(|e| matches!(e, Event::Limit { .. })).count();
    assert_eq!((scene.gate.limit(), limits), (7, 1));
    let shown = scene.latest.get().expect("four ticks");
    assert_eq!((shown.totals.ticks, shown.totals.completions, shown.totals.changes), (4, 12, 1));
    assert_eq!((shown.sample.completions, shown.sample.limit, shown.proven), (3, 7, 7));
    assert!((shown.totals.response_s - 0.12).abs() < 1e-9);
}

#[test]
fn a_controller_that_fails_holds_the_limit_and_the_operator_hears_of_it() {
    let mut scene = scene(5_000, Options::default());
    for tick in 1..4 {
        scene.looped.tick(Nanos::from_millis(tick * 100));
    }
    assert_eq!(scene.gate.limit(), 2);
    let events = scene.events();
    let faults =
        events.iter().filter(|e| matches!(e, Event::Fault { fault: Fault::Panic, limit: 2 })).count();
    assert_eq!(faults, 1, "{events:?}");
    assert_eq!(scene.latest.get().expect("ticks").totals.kept, 3);
}

#[test]
fn a_clock_that_stands_still_is_told_and_over_when_it_goes_on() {
    let mut scene = scene(7, Options::default());
    scene.looped.tick(Nanos::from_millis(100));
    scene.looped.tick(Nanos::from_millis(100));
    scene.looped.tick(Nanos::from_millis(200));
    let events = scene.events();
    let place = |wanted: fn(&Event) -> bool| events.iter().position(wanted);
    let fault = place(|e| matches!(e, Event::Fault { fault: Fault::Clock, .. })).expect("told");
    let over = place(|e| matches!(e, Event::Recovered)).expect("told");
    assert!(fault < over);
}

#[test]
fn a_dry_run_says_what_it_would_do() {
    let mut scene = scene(7, Options { dry_run: true, ..Options::default() });
    scene.looped.tick(Nanos::from_millis(100));
    let events = scene.events();
    assert!(events.iter().any(|e| matches!(e, Event::Limit { from: 2, dry_run: true, .. })));
}

#[test]
fn a_limit_that_the_operator_lowers_is_told_and_counted() {
    let mut scene = scene(7, Options::default());
    scene.looped.tick(Nanos::from_millis(100));
    let lower = Settings { max_limit: 4, ..settings(Options::default()) };
    scene.looped.set(lower, None);
    scene.looped.tick(Nanos::from_millis(200));
    let events = scene.events();
    assert!(events.contains(&Event::MaxLimit { from: 7, to: 4 }), "{events:?}");
    assert_eq!((scene.gate.limit(), scene.latest.get().expect("ticks").totals.changes), (4, 2));
}

#[test]
fn orders_are_obeyed_between_ticks() {
    let scene = scene(7, Options::default());
    let (orders, inbox) = mpsc::channel();
    let looping = std::thread::spawn(move || scene.looped.run(&inbox));
    let fast = Settings { tick: Nanos::from_millis(5), max_limit: 4, ..settings(Options::default()) };
    orders.send(Order::Set(fast, Some(Box::new(Wants(9))))).expect("it runs");
    // The loop may have ticked before it takes the order.
    while scene.latest.get().is_none_or(|shown| shown.totals.ticks < 3) || scene.gate.limit() != 4 {
        std::thread::yield_now();
    }
    orders.send(Order::Stop).expect("it runs");
    looping.join().expect("it ends");
}
