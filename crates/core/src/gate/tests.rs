//! The gate with its lanes, call by call.

use super::*;

const NOW: Nanos = Nanos::from_secs(1);

fn gate(short: usize, long: usize) -> Gate {
    Gate::new([short, long], Options::default())
}

fn caller(gate: &mut Gate, session: u64, user: &str) -> Caller {
    Caller { session: SessionId(session), tenant: gate.tenant(user), server: 0, thread: session as u32 }
}

/// As a session does it: at the front, and at the gate where that is shut.
fn ask(gate: &mut Gate, lane: Lane, session: u64) -> Asked {
    let fronts = gate.fronts();
    if fronts[lane as usize].enter() != AtFront::Shut {
        return Asked::Admitted(Place { lane, ..Place::default() });
    }
    let caller = caller(gate, session, "shop");
    gate.ask(NOW, lane, caller)
}

fn leave(gate: &mut Gate, lane: Lane) {
    let fronts = gate.fronts();
    if fronts[lane as usize].leave() {
        gate.pass_on(NOW, lane);
    }
}

fn admitted(gate: &mut Gate) -> Vec<u64> {
    let notices = std::iter::from_fn(|| gate.notice());
    notices
        .map(|notice| match notice {
            Notice::Admitted(session, _) => session.0,
            Notice::Rejected(session, _) => 1_000 + session.0,
        })
        .collect()
}

fn place(asked: Asked) -> Place {
    match asked {
        Asked::Admitted(place) => place,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_comes_first_is_served_first_and_the_front_opens_once_nobody_waits() {
    let mut gate = gate(2, 1);
    place(ask(&mut gate, Lane::Short, 1));
    place(ask(&mut gate, Lane::Short, 2));
    for session in 3..6 {
        assert!(matches!(ask(&mut gate, Lane::Short, session), Asked::Queued(_)));
    }
    assert_eq!((gate.running(Lane::Short), gate.waiting(Lane::Short)), (2, 3));
    (0..2).for_each(|_| leave(&mut gate, Lane::Short));
    assert_eq!(admitted(&mut gate), [3, 4]);
    (0..3).for_each(|_| leave(&mut gate, Lane::Short));
    assert_eq!((admitted(&mut gate), gate.running(Lane::Short)), (vec![5], 0));
    place(ask(&mut gate, Lane::Short, 6));
}

#[test]
fn lanes_do_not_wait_for_each_other() {
    let mut gate = gate(1, 1);
    place(ask(&mut gate, Lane::Long, 1));
    assert!(matches!(ask(&mut gate, Lane::Long, 2), Asked::Queued(_)));
    place(ask(&mut gate, Lane::Short, 3));
    leave(&mut gate, Lane::Short);
    assert_eq!(admitted(&mut gate), Vec::<u64>::new());
    leave(&mut gate, Lane::Long);
    assert_eq!(admitted(&mut gate), [2]);
}

#[test]
fn what_proves_to_be_long_makes_room_and_those_known_to_be_long_wait_for_it() {
    let mut gate = gate(1, 1);
    let mut long = place(ask(&mut gate, Lane::Short, 1));
    assert!(matches!(ask(&mut gate, Lane::Short, 2), Asked::Queued(_)));
    gate.move_to_long(NOW, &mut long);
    assert_eq!(admitted(&mut gate), [2]);
    assert!(matches!(ask(&mut gate, Lane::Long, 3), Asked::Queued(_)));
    gate.leave(NOW, long);
    assert_eq!(admitted(&mut gate), [3]);
    assert_eq!((gate.running(Lane::Short), gate.running(Lane::Long)), (1, 1));
}

#[test]
fn who_stands_aside_uses_no_place_up_to_a_bound_and_comes_back_above_the_limit() {
    let mut gate = Gate::new([1, 1], Options { aside_max: 1, ..Options::default() });
    let mut blocked = place(ask(&mut gate, Lane::Short, 1));
    assert!(matches!(ask(&mut gate, Lane::Short, 2), Asked::Queued(_)));
    assert!(gate.step_aside(NOW, &mut blocked));
    assert_eq!(admitted(&mut gate), [2]);
    let mut second = Place::default();
    assert!(!gate.step_aside(NOW, &mut second) && !second.aside);
    assert_eq!((gate.aside(), gate.aside_refused()), (1, 1));
    gate.step_back(&mut blocked);
    assert_eq!((gate.running(Lane::Short), gate.aside()), (2, 0));
    for paused in [&mut blocked, &mut second] {
        gate.pause(NOW, paused);
        assert!(paused.aside && paused.idle, "who pauses needs no bound");
    }
    assert_eq!((gate.running(Lane::Short), gate.aside()), (0, 2));
    gate.step_back(&mut second);
    gate.leave(NOW, blocked);
    gate.leave(NOW, second);
    assert_eq!(gate.aside(), 0);
    assert_eq!(gate.running(Lane::Short), 0);
}

#[test]
fn who_leaves_the_queue_is_not_served_and_who_waited_too_long_is_refused() {
    let mut gate = gate(1, 1);
    place(ask(&mut gate, Lane::Short, 1));
    let Asked::Queued(stand) = ask(&mut gate, Lane::Short, 2) else { panic!("it has to wait") };
    assert!(gate.cancel(NOW, stand) && !gate.cancel(NOW, stand));
    assert!(matches!(ask(&mut gate, Lane::Short, 3), Asked::Queued(_)));
    gate.reject_overdue(NOW + Nanos::from_secs(1), Nanos::from_secs(1));
    assert_eq!((admitted(&mut gate), gate.waiting(Lane::Short)), (vec![1_003], 0));
}

#[test]
fn a_watching_gate_lets_all_in_and_says_who_would_have_waited() {
    let mut gate = Gate::new([1, 1], Options { watch: true, ..Options::default() });
    let fronts = gate.fronts();
    assert_eq!((fronts[0].enter(), fronts[0].enter()), (AtFront::Free, AtFront::WouldWait));
    gate.set_options(NOW, Options::default());
    assert!(matches!(ask(&mut gate, Lane::Short, 3), Asked::Queued(_)));
    gate.set_options(NOW, Options { watch: true, ..Options::default() });
    assert_eq!(admitted(&mut gate), [3]);
}

#[test]
fn tenants_are_served_in_turn() {
    let mut gate = gate(1, 1);
    place(ask(&mut gate, Lane::Short, 1));
    for (session, user) in [(2, "shop"), (3, "shop"), (4, "shop"), (5, "report")] {
        let caller = caller(&mut gate, session, user);
        assert!(matches!(gate.ask(NOW, Lane::Short, caller), Asked::Queued(_)));
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        leave(&mut gate, Lane::Short);
        order.extend(admitted(&mut gate));
    }
    assert_eq!(order, [2, 5, 3, 4]);
}

#[test]
fn liveness_lets_one_in_where_nothing_has_ended_for_so_long() {
    let mut gate = gate(1, 1);
    place(ask(&mut gate, Lane::Short, 1));
    assert!(matches!(ask(&mut gate, Lane::Short, 2), Asked::Queued(_)));
    let patience = Nanos::from_secs(1);
    gate.keep_alive(NOW + Nanos::from_millis(900), Lane::Short, patience);
    assert_eq!(admitted(&mut gate), Vec::<u64>::new());
    gate.keep_alive(NOW + patience, Lane::Short, patience);
    assert_eq!((admitted(&mut gate), gate.liveness_total()), (vec![2], 1));
}

/// Sessions in threads of their own, each of which comes and goes as a session of a server does.
#[test]
fn no_place_leaks_and_no_wait_is_lost_where_many_threads_come_and_go() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::sync::{Mutex, mpsc};
    const SESSIONS: usize = 16;
    let gate = Mutex::new(gate(3, 1));
    let fronts = gate.lock().expect("whole").fronts();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..SESSIONS).map(|_| mpsc::channel::<()>()).unzip();
    let (inside, most, broken) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let at_gate = |act: &mut dyn FnMut(&mut Gate)| {
        let mut gate = gate.lock().expect("whole");
        act(&mut gate);
        while let Some(Notice::Admitted(session, _)) = gate.notice() {
            senders[session.0 as usize].send(()).expect("it waits");
        }
    };
    std::thread::scope(|scope| {
        for (number, woken) in receivers.into_iter().enumerate() {
            let (fronts, at_gate, inside, most, broken) = (&fronts, &at_gate, &inside, &most, &broken);
            scope.spawn(move || {
                for _ in 0..2_000 {
                    if fronts[0].enter() == AtFront::Shut {
                        let mut waits = false;
                        at_gate(&mut |gate| {
                            let caller = caller(gate, number as u64, "shop");
                            waits = matches!(gate.ask(NOW, Lane::Short, caller), Asked::Queued(_));
                        });
                        let lost = waits && woken.recv_timeout(std::time::Duration::from_secs(60)).is_err();
                        broken.fetch_or(lost, SeqCst);
                    }
                    most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, SeqCst);
                    if fronts[0].leave() {
                        at_gate(&mut |gate| gate.pass_on(NOW, Lane::Short));
                    }
                }
            });
        }
    });
    assert!(!broken.load(SeqCst), "a wait was lost");
    assert!(most.load(SeqCst) <= 3);
    let gate = gate.into_inner().expect("whole");
    assert_eq!((gate.running(Lane::Short), gate.waiting(Lane::Short)), (0, 0));
}
