//! Hosts with real engines that find their windows, and keep them when what they hear by fails.

use super::fixture::{Host, PERIOD, Station, THRESHOLD_S, law};
use super::*;
use evenkeel_bus::message::Message;
use evenkeel_bus::nats::fixture::Server;
use evenkeel_bus::slot::Slots;
use evenkeel_bus::{BusError, Carrier, patient};
use evenkeel_core::share::law::Settings as Evenkeel;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

fn on_slots(path: &Path, name: &str) -> (Bus, Clock) {
    let (slots, clock) = (Slots::open(path, 8).unwrap(), Clock::start());
    (Bus::open_with(Box::new(slots), name, (PERIOD, patient), clock).unwrap(), clock)
}

/// Writes a message into a slot that nobody has claimed, also one that no host of ours would send.
fn write(path: &Path, member: &str, sequence: u64, report: Report) {
    let (member, period) = (member.to_owned(), PERIOD);
    let message =
        Message { member, incarnation: 1, sequence, period, leaves: false, window: 1.0, costs: 0, report };
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&message.bytes(), 4 * 4_096).unwrap();
}

/// An array, a file of slots, and instants of a clock that runs as the periods of all hosts do.
struct Scene {
    dir: tempfile::TempDir,
    station: Station,
    at: Nanos,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), station: Station::new(), at: Nanos::from_secs(1) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("slots")
    }

    fn host(&self, name: &str, shares: f64, wanted: usize) -> Host {
        Host::start(&self.station, shares, wanted, on_slots(&self.path(), name))
    }

    /// Lets all hosts end a period.
    fn pass(&mut self, hosts: &mut [&mut Host]) {
        self.station.pass(PERIOD);
        self.at += PERIOD;
        hosts.iter_mut().for_each(|host| host.looped.end_period(self.at));
    }

    /// Until something is so, within some minutes of theirs.
    fn pass_until(&mut self, hosts: &mut [&mut Host], is_so: impl Fn(&[&mut Host]) -> bool) {
        let end = self.at + Nanos(3_000 * PERIOD.0);
        while !is_so(hosts) {
            assert!(self.at < end, "it has not come to be so");
            self.pass(hosts);
        }
    }
}

/// Whether windows are in this ratio within a third, and the latency is within a third of the threshold.
fn are_fair(one: &Host, other: &Host, ratio: f64) -> bool {
    let latency = one.latest.get().and_then(|snapshot| snapshot.latency_all_s).unwrap_or(0.0);
    let near = |value: f64, wanted: f64| (wanted * 0.75..wanted * 1.33).contains(&value);
    near(other.window() / one.window(), ratio) && near(latency, THRESHOLD_S)
}

fn fault(host: &Host) -> Option<Fault> {
    host.latest.get().and_then(|snapshot| snapshot.fault.clone())
}

#[test]
fn hosts_on_a_slot_file_find_windows_by_their_shares_and_say_what_bounds_them() {
    let mut scene = Scene::new();
    let (mut a, mut b) = (scene.host("a", 1.0, 40), scene.host("b", 3.0, 40));
    let by_shares = Why::Shares { own: 1.0, all: 4.0 };
    scene.pass_until(&mut [&mut a, &mut b], |hosts| {
        let why = hosts[0].latest.get().map(|snapshot| snapshot.why.clone());
        are_fair(hosts[0], hosts[1], 3.0) && why == Some(by_shares.clone())
    });
    let shown = a.latest.get().unwrap();
    let members: Vec<_> = shown.members.iter().map(|m| (m.name.as_str(), m.is_own, m.shares)).collect();
    assert_eq!(members, [("a", true, 1.0), ("b", false, 3.0)]);
    assert!(shown.waiting > 0 && shown.disks[0].counts.reads > 0 && shown.counts.held.count() > 0);
    let events = a.events();
    assert!(
        matches!(&events[..], [Event::Joined { .. }, Event::Came { member }] if member == "b"),
        "{events:?}"
    );
    // Other shares hold from the next period on.
    a.looped.obey(Order::Shares(0, 3.0));
    scene.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 1.0));
    // And what a host that leaves had is the other's.
    drop(b);
    scene
        .pass_until(&mut [&mut a], |hosts| hosts[0].events().iter().any(|e| matches!(e, Event::Gone { .. })));
}

#[test]
fn clocks_that_differ_and_run_at_other_speeds_do_not_matter() {
    let scene = Scene::new();
    let (mut a, mut b) = (scene.host("a", 1.0, 40), scene.host("b", 3.0, 40));
    // One is a year ahead and a tenth too fast.
    let (mut at_a, mut at_b) = (Nanos::from_secs(1), Nanos::from_secs(31_536_000));
    while !are_fair(&a, &b, 3.0) {
        scene.station.pass(PERIOD);
        at_a += PERIOD;
        at_b += Nanos(PERIOD.0 * 11 / 10);
        a.looped.end_period(at_a);
        b.looped.end_period(at_b);
    }
    assert!([&a, &b].iter().all(|host| fault(host).is_none()));
}

#[test]
fn a_member_that_lies_moves_no_window_and_is_told() {
    let mut scene = Scene::new();
    let mut a = scene.host("a", 1.0, 40);
    for (place, latency) in [f64::NAN, -1.0, f64::INFINITY, 1e9].into_iter().enumerate() {
        let report = Report { outstanding: 1.0, latency, completions: 9, ..Report::default() };
        write(&scene.path(), "liar", 2 + place as u64, report);
        scene.pass(&mut [&mut a]);
        let shown = a.latest.get().unwrap();
        assert!(shown.members.len() == 1 && shown.window.is_finite() && shown.fault.is_none());
    }
    let dropped = a.latest.get().unwrap().dropped[Dropped::Figures as usize].1;
    assert!(dropped >= 4, "{dropped}");
    assert!(a.events().iter().any(|event| matches!(event, Event::Dropped { why: Dropped::Figures, .. })));
}

#[test]
fn an_elder_of_the_same_name_silences_this_one_and_that_is_told_loudly() {
    let mut scene = Scene::new();
    let mut a = scene.host("a", 1.0, 40);
    scene.pass_until(&mut [&mut a], |hosts| hosts[0].window() > 10.0);
    let kept = a.window();
    write(&scene.path(), "a", 9_999, Report::default());
    scene.pass(&mut [&mut a]);
    scene.pass(&mut [&mut a]);
    assert_eq!((fault(&a), a.window() > 0.5 * kept), (Some(Fault::Twin("a".into())), true));
    let events = a.events();
    assert!(events.iter().any(|event| matches!(event, Event::Twin { .. })), "{events:?}");
}

#[test]
fn load_that_keeps_to_no_rules_is_told_where_the_threshold_cannot_be_met() {
    let mut scene = Scene::new();
    let mut a = scene.host("a", 1.0, 40);
    scene.pass_until(&mut [&mut a], |hosts| hosts[0].window() > 14.0);
    scene.station.burden(true);
    let says = |hosts: &[&mut Host]| {
        let why = hosts[0].latest.get().map(|snapshot| snapshot.why.clone());
        matches!(why, Some(Why::Outsider { .. }))
    };
    scene.pass_until(&mut [&mut a], says);
    assert!(a.events().iter().any(|event| matches!(event, Event::Outsider { .. })));
    scene.station.burden(false);
    scene.pass_until(&mut [&mut a], |hosts| !says(hosts));
    assert!(a.events().contains(&Event::OutsiderGone));
}

#[test]
fn storage_that_is_not_divided_by_shares_is_told_of_until_it_is() {
    let mut scene = Scene::new();
    scene.station.set_apart(true);
    let (mut a, mut b) = (scene.host("a", 1.0, 100), scene.host("b", 4.0, 100));
    let ratio = |host: &Host| host.latest.get().and_then(|snapshot| snapshot.unfair);
    let all = |hosts: &[&mut Host], say: bool| hosts.iter().all(|host| ratio(host).is_some() == say);
    scene.pass_until(&mut [&mut a, &mut b], |hosts| all(hosts, true));
    let (much, little) = (ratio(&a).expect("it is told"), ratio(&b).expect("it is told"));
    assert!(much > 1.5 && little < 1.0 / 1.5, "{much} and {little} of what is due");
    for host in [&a, &b] {
        let events = host.events();
        assert!(events.iter().any(|event| matches!(event, Event::Unfair { .. })), "{events:?}");
    }
    scene.station.set_apart(false);
    scene.pass_until(&mut [&mut a, &mut b], |hosts| all(hosts, false));
    assert!([&a, &b].iter().all(|host| host.events().contains(&Event::Fair)));
}

#[test]
fn a_member_that_stood_still_and_comes_back_accuses_nobody() {
    let mut scene = Scene::new();
    let (mut a, mut b) = (scene.host("a", 1.0, 40), scene.host("b", 1.0, 40));
    scene.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 1.0));
    scene.station.stop(1);
    (0..100).for_each(|_| scene.pass(&mut [&mut a]));
    scene.station.stop(usize::MAX);
    (0..40).for_each(|_| scene.pass(&mut [&mut a, &mut b]));
    let events: Vec<Event> = [&a, &b].iter().flat_map(|host| host.events()).collect();
    assert!(events.iter().any(|event| matches!(event, Event::Gone { .. })), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::Outsider { .. })), "{events:?}");
    scene.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 1.0));
}

#[test]
fn another_law_goes_on_from_the_window_in_force() {
    let mut scene = Scene::new();
    let mut a = scene.host("a", 1.0, 40);
    scene.pass_until(&mut [&mut a], |hosts| hosts[0].window() > 12.0);
    let other = Law::Evenkeel(Evenkeel { most: 64.0, ..Evenkeel::new(2.0 * THRESHOLD_S) });
    assert_ne!(other, law());
    let before = a.window();
    a.looped.obey(Order::Set(Box::new(Settings { period: PERIOD, law: other, costs: Costs::default() })));
    assert_eq!(a.looped.law.window(), before);
    scene.pass_until(&mut [&mut a], |hosts| hosts[0].window() > 30.0);
}

#[test]
fn a_member_that_takes_ios_to_cost_something_else_is_told_once_and_so_is_its_return() {
    let mut scene = Scene::new();
    let (mut a, mut b) = (scene.host("a", 1.0, 40), scene.host("b", 1.0, 40));
    let shows_other = |hosts: &[&mut Host]| {
        let members = hosts[0].latest.get().map_or(Vec::new(), |snapshot| snapshot.members.clone());
        members.len() == 2 && members.iter().any(|member| member.costs_differ && member.name == "b")
    };
    let others = Costs::new(&[(16_384, 1.0), (262_144, 8.0)], &[]).unwrap();
    b.looped.obey(Order::Set(Box::new(Settings { period: PERIOD, law: law(), costs: others })));
    scene.pass_until(&mut [&mut a, &mut b], shows_other);
    scene.pass(&mut [&mut a, &mut b]);
    let events = |host: &Host| -> Vec<Event> {
        let costs = |event: &Event| matches!(event, Event::CostsDiffer { .. } | Event::CostsAgree { .. });
        host.events().into_iter().filter(costs).collect()
    };
    assert_eq!(events(&a), [Event::CostsDiffer { member: "b".into() }]);
    b.looped.obey(Order::Set(Box::new(Settings { period: PERIOD, law: law(), costs: Costs::default() })));
    scene.pass_until(&mut [&mut a, &mut b], |hosts| !shows_other(hosts));
    assert_eq!(events(&a), [Event::CostsAgree { member: "b".into() }]);
}

#[test]
fn an_engine_that_has_ended_is_a_fault_and_no_panic() {
    let scene = Scene::new();
    let engine = {
        let plan = crate::Plan { disks: Vec::new(), window: 8.0, costs: Costs::default(), memory: 0 };
        crate::Engine::start(plan).unwrap()
    };
    let settings = Settings { period: PERIOD, law: law(), costs: Costs::default() };
    let events = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let listener = Arc::new(move |event: &Event| heard.lock().unwrap().push(event.clone()));
    let handle = engine.handle();
    engine.stop().unwrap();
    let mut looped =
        Loop::new((handle, Vec::new()), on_slots(&scene.path(), "a"), settings, (listener, Latest::new()));
    (1..4).for_each(|second| looped.end_period(Nanos::from_secs(second)));
    let faults = events.lock().unwrap().iter().filter(|event| matches!(event, Event::Fault { .. })).count();
    assert_eq!((faults, looped.totals.kept), (1, 3));
}

#[test]
fn members_act_at_instants_of_their_own_and_what_was_missed_is_not_made_up_for() {
    let period = Nanos::from_secs(2);
    let mut phases: Vec<u64> = (0..64).map(|n| phase(&format!("host{n}"), period).0 / 250_000_000).collect();
    phases.sort_unstable();
    phases.dedup();
    assert_eq!(phases, (0..8).collect::<Vec<_>>(), "some in each eighth of the period");
    let s = Nanos::from_millis;
    assert_eq!(following(s(1_300), s(1_310), period), s(3_300));
    assert_eq!(following(s(1_300), s(60_000), period), s(61_300));
}

#[test]
fn a_loop_ends_when_it_is_told_to_and_takes_its_leave() {
    let scene = Scene::new();
    let host = scene.host("a", 1.0, 4);
    let (orders, inbox) = std::sync::mpsc::channel();
    orders.send(Order::Stop).unwrap();
    host.looped.run(&inbox);
    let mut reads = Slots::open(&scene.path(), 8).unwrap();
    let has_left = |slots: &mut Slots| -> Result<bool, BusError> {
        let pieces = slots.hear(Duration::ZERO)?;
        let mut messages = pieces.iter().filter_map(|piece| Message::decode(&piece.bytes).ok());
        Ok(messages.any(|message| message.member == "a" && message.leaves))
    };
    while !has_left(&mut reads).unwrap() {}
}

fn on_nats(server: &Server, name: &str) -> (Bus, Clock) {
    let clock = Clock::start();
    (server.join(name, PERIOD, clock).unwrap(), clock)
}

#[test]
fn without_a_bus_the_last_windows_are_kept_and_hosts_agree_soon_after_it_is_back() {
    let mut server = Server::start(&[]);
    let mut scene = Scene::new();
    let mut a = Host::start(&scene.station, 1.0, 40, on_nats(&server, "a"));
    let mut b = Host::start(&scene.station, 3.0, 40, on_nats(&server, "b"));
    scene.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 3.0));
    server.end();
    let is_down = |host: &Host| matches!(fault(host), Some(Fault::Bus(_)));
    let both_fail = |hosts: &[&mut Host]| hosts.iter().all(|host| is_down(host));
    scene.pass_until(&mut [&mut a, &mut b], both_fail);
    let kept = [a.window(), b.window()];
    a.events();
    b.events();
    for _ in 0..5 {
        scene.pass(&mut [&mut a, &mut b]);
        assert_eq!([a.window(), b.window()], kept);
    }
    let shown = a.latest.get().unwrap();
    assert!(
        shown.why.to_string().starts_with("the last window is kept, because the bus is down"),
        "{}",
        shown.why
    );
    assert!(shown.totals.kept >= 5);
    server.begin();
    scene.pass_until(&mut [&mut a, &mut b], |hosts| hosts.iter().all(|host| fault(host).is_none()));
    let (mut needed, mut passed) = (0, 0);
    while !(a.latest.get().unwrap().members.len() == 2 && b.latest.get().unwrap().members.len() == 2) {
        scene.pass(&mut [&mut a, &mut b]);
        // A slow machine may have a bus that is slow.
        passed += 1;
        assert!(passed < 3_000, "they do not hear each other");
        needed += usize::from(fault(&a).is_none() && fault(&b).is_none());
    }
    assert!(needed <= 3, "they hear each other {needed} periods after the bus is back");
    scene.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 3.0));
    reported_once(&a.events(), shown.fault.clone());
}

/// Whether listeners heard once of each fault and of its end, after one that they had heard of before.
fn reported_once(events: &[Event], mut fault: Option<Fault>) {
    for event in events {
        match event {
            Event::Fault { fault: new, .. } => {
                assert!(!fault.as_ref().is_some_and(|before| before.is_like(new)), "{events:?}");
                fault = Some(new.clone());
            }
            Event::Recovered => assert!(fault.take().is_some(), "{events:?}"),
            _ => {}
        }
    }
    assert!(events.contains(&Event::Recovered), "{events:?}");
}

#[test]
fn a_bus_that_stands_still_is_told_once_and_its_end_too() {
    let server = Server::start(&[]);
    let mut scene = Scene::new();
    let mut a = Host::start(&scene.station, 1.0, 40, on_nats(&server, "a"));
    scene.pass_until(&mut [&mut a], |hosts| hosts[0].window() > 10.0 && fault(hosts[0]).is_none());
    a.events();
    server.signal("STOP");
    let kept = a.window();
    (0..3).for_each(|_| scene.pass(&mut [&mut a]));
    assert_eq!((a.window(), fault(&a)), (kept, Some(Fault::Unheard)));
    assert_eq!(a.events(), [Event::Fault { fault: Fault::Unheard, window: kept }]);
    server.signal("CONT");
    scene.pass_until(&mut [&mut a], |hosts| fault(hosts[0]).is_none());
    assert!(a.events().contains(&Event::Recovered));
}
