//! A bus that goes down, stands still and comes back.

use super::*;
use evenkeel_bus::nats::fixture::Server;

fn on_nats(server: &Server, name: &str) -> (Bus, Clock) {
    let clock = Clock::start();
    (server.join(name, PERIOD, clock).unwrap(), clock)
}

#[test]
fn without_a_bus_the_last_windows_are_kept_and_hosts_agree_soon_after_it_is_back() {
    let mut server = Server::start(&[]);
    let station = Station::new();
    let mut periods = Periods::of(&station);
    let mut a = Host::start(&station, 1.0, 40, on_nats(&server, "a"));
    let mut b = Host::start(&station, 3.0, 40, on_nats(&server, "b"));
    periods.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 3.0));
    server.end();
    let is_down = |host: &Host| matches!(fault(host), Some(Fault::Bus(_)));
    let both_fail = |hosts: &[&mut Host]| hosts.iter().all(|host| is_down(host));
    periods.pass_until(&mut [&mut a, &mut b], both_fail);
    let kept = [a.window(), b.window()];
    a.events();
    b.events();
    for _ in 0..5 {
        periods.pass(&mut [&mut a, &mut b]);
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
    periods.pass_until(&mut [&mut a, &mut b], |hosts| hosts.iter().all(|host| fault(host).is_none()));
    let (mut needed, mut passed) = (0, 0);
    while !(a.latest.get().unwrap().members.len() == 2 && b.latest.get().unwrap().members.len() == 2) {
        periods.pass(&mut [&mut a, &mut b]);
        // A slow machine may have a bus that is slow.
        passed += 1;
        assert!(passed < 3_000, "they do not hear each other");
        needed += usize::from(fault(&a).is_none() && fault(&b).is_none());
    }
    assert!(needed <= 3, "they hear each other {needed} periods after the bus is back");
    periods.pass_until(&mut [&mut a, &mut b], |hosts| are_fair(hosts[0], hosts[1], 3.0));
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
    let station = Station::new();
    let mut periods = Periods::of(&station);
    let mut a = Host::start(&station, 1.0, 40, on_nats(&server, "a"));
    periods.pass_until(&mut [&mut a], |hosts| hosts[0].window() > 10.0 && fault(hosts[0]).is_none());
    a.events();
    server.signal("STOP");
    let kept = a.window();
    (0..3).for_each(|_| periods.pass(&mut [&mut a]));
    assert_eq!((a.window(), fault(&a)), (kept, Some(Fault::Unheard)));
    assert_eq!(a.events(), [Event::Fault { fault: Fault::Unheard, window: kept }]);
    server.signal("CONT");
    periods.pass_until(&mut [&mut a], |hosts| fault(hosts[0]).is_none());
    assert!(a.events().contains(&Event::Recovered));
}
