//! What the keeper of the gate promises, one case each.

use super::*;
use crate::gate::Tenants;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn keeper(limit: usize, options: Options) -> (Keeper, TenantId) {
    let mut keeper = Keeper::new([limit, 1], options);
    let tenant = keeper.tenant("shop");
    (keeper, tenant)
}

fn by(session: u64, tenant: TenantId) -> Caller {
    Caller { session: SessionId(session), tenant, server: 0, thread: session as u32 }
}

fn runs(keeper: &mut Keeper, at: u64, caller: Caller, digest: u64) -> Held {
    match keeper.ask(ms(at), caller, digest) {
        Admission::Admitted(held) => held,
        other => panic!("{other:?}"),
    }
}

fn waits(keeper: &mut Keeper, at: u64, caller: Caller) -> Stand {
    match keeper.ask(ms(at), caller, 0) {
        Admission::Queued(stand) => stand,
        other => panic!("{other:?}"),
    }
}

fn ends(keeper: &mut Keeper, at: u64, caller: Caller, held: &mut Held, (outcome, busy): (Outcome, u64)) {
    keeper.ended(ms(at), caller, held, Ended { outcome, digest: 5, busy: ms(busy) });
}

fn notices(keeper: &mut Keeper) -> Vec<Notice> {
    std::iter::from_fn(|| keeper.notice()).collect()
}

#[test]
fn a_lower_limit_stops_nobody_and_lets_nobody_in() {
    let (mut keeper, shop) = keeper(3, Options::default());
    let held = [1, 2, 3].map(|session| runs(&mut keeper, 0, by(session, shop), 0));
    keeper.set_limit(ms(1), Lane::Short, 1);
    waits(&mut keeper, 1, by(4, shop));
    assert_eq!(keeper.brief_census().reason, WaitReason::Overdrawn);
    (1..=2).for_each(|session| keeper.leave(ms(2), by(session, shop), held[session as usize - 1]));
    assert_eq!((notices(&mut keeper), keeper.brief_census().running()), (vec![], 1));
    keeper.leave(ms(3), by(3, shop), held[2]);
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(4), ms(2))]);
}

#[test]
fn who_came_back_from_aside_is_a_debt_that_is_paid_before_anybody_comes_in() {
    let (mut keeper, shop) = keeper(1, Options::default());
    let mut first = runs(&mut keeper, 0, by(1, shop), 0);
    let stand = waits(&mut keeper, 0, by(2, shop));
    assert!(keeper.step_aside(ms(100), by(1, shop), &mut first));
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(2), ms(100))]);
    keeper.step_back(ms(200), by(1, shop), &mut first);
    assert_eq!((keeper.brief_census().running(), keeper.brief_census().aside), (2, 0));
    waits(&mut keeper, 201, by(3, shop));
    keeper.leave(ms(202), by(2, shop), Held::new(stand.lane, 0, ms(100)));
    assert_eq!(notices(&mut keeper), []);
    keeper.leave(ms(203), by(1, shop), first);
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(3), ms(2))]);
}

#[test]
fn liveness_lets_one_more_in_where_nothing_ends_unless_the_server_uses_its_cpus() {
    let (mut keeper, shop) = keeper(1, Options::default());
    runs(&mut keeper, 0, by(1, shop), 0);
    for session in 2..=3 {
        waits(&mut keeper, 0, by(session, shop));
    }
    keeper.set_cpu(Some(0.9));
    keeper.tick(ms(5_000));
    assert_eq!(notices(&mut keeper), []);
    keeper.set_cpu(Some(0.2));
    keeper.tick(ms(5_050));
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(2), ms(5_050))]);
    keeper.set_cpu(None);
    keeper.tick(ms(6_000));
    assert_eq!(notices(&mut keeper), []);
    keeper.tick(ms(6_050));
    assert_eq!((notices(&mut keeper).len(), keeper.brief_census().liveness_total), (1, 2));
}

#[test]
fn a_queue_refuses_who_finds_it_full_and_who_waited_for_too_long() {
    let options = Options { queue_max: Some(1), wait_max: Some(ms(200)), ..Options::default() };
    let (mut keeper, shop) = keeper(1, options);
    let held = runs(&mut keeper, 0, by(1, shop), 0);
    let stand = waits(&mut keeper, 10, by(2, shop));
    let full = Rejection::QueueFull { waiting: 1, bound: 1 };
    assert!(matches!(keeper.ask(ms(10), by(3, shop), 0), Admission::Rejected(why) if why == full));
    keeper.tick(ms(209));
    assert_eq!(notices(&mut keeper), []);
    keeper.tick(ms(210));
    let late = Rejection::WaitedTooLong { bound: ms(200) };
    assert_eq!(notices(&mut keeper), [Notice::Rejected(SessionId(2), late)]);
    assert_eq!(keeper.take_interval(ms(211)).rejected, 2);
    assert_eq!(keeper.census(ms(211)).tenants[0].rejected, 2);
    // It is gone before it hears of that: it has no place that could be given back.
    keeper.cancel(ms(211), by(2, shop), stand);
    assert_eq!(keeper.brief_census().running(), 1);
    keeper.leave(ms(212), by(1, shop), held);
    assert_eq!(keeper.census(ms(212)).tenants[0].in_flight(), 0);
}

#[test]
fn who_was_admitted_and_is_gone_before_it_hears_of_that_gives_its_place_back() {
    let (mut keeper, shop) = keeper(1, Options::default());
    let held = runs(&mut keeper, 0, by(1, shop), 0);
    let stand = waits(&mut keeper, 0, by(2, shop));
    keeper.leave(ms(1), by(1, shop), held);
    assert_eq!((notices(&mut keeper).len(), keeper.brief_census().running()), (1, 1));
    keeper.cancel(ms(2), by(2, shop), stand);
    assert_eq!((keeper.brief_census().running(), keeper.census(ms(2)).tenants[0].in_flight()), (0, 0));
}

#[test]
fn a_dry_run_holds_nothing_back_and_says_what_it_would_have_held() {
    let (mut keeper, shop) = keeper(1, Options { dry_run: true, ..Options::default() });
    for session in 1..=3 {
        runs(&mut keeper, 0, by(session, shop), 0);
    }
    assert_eq!(keeper.brief_census().would_have_queued, 2);
}

#[test]
fn tenants_beyond_the_most_share_one() {
    let (mut keeper, _) = keeper(1, Options::default());
    let ids: BTreeSet<TenantId> = (0..5_000).map(|number| keeper.tenant(&format!("db{number}"))).collect();
    assert_eq!(ids.len(), Tenants::MAX - 1, "beside the first");
    assert_eq!(keeper.census(ms(0)).tenants.last().unwrap().name, Tenants::REST);
}

#[test]
fn an_interval_says_what_happened_in_the_short_lane() {
    let (mut keeper, shop) = keeper(2, Options::default());
    let mut first = runs(&mut keeper, 0, by(1, shop), 1);
    let mut second = runs(&mut keeper, 50, by(2, shop), 1);
    let stand = waits(&mut keeper, 50, by(3, shop));
    keeper.cancel(ms(75), by(3, shop), stand);
    ends(&mut keeper, 100, by(1, shop), &mut first, (Outcome::Success, 10));
    keeper.leave(ms(100), by(1, shop), first);
    ends(&mut keeper, 100, by(2, shop), &mut second, (Outcome::Overload, 10));
    keeper.leave(ms(100), by(2, shop), second);
    let interval = keeper.take_interval(ms(200));
    assert!((interval.in_flight_mean - 0.75).abs() < 1e-9);
    assert!((interval.queued_mean - 0.125).abs() < 1e-9);
    assert_eq!((interval.in_flight_max, interval.completions, interval.overloads), (2, 1, 1));
    assert_eq!((interval.work, interval.response_mean), (1.0, Some(ms(100))));
    let empty = keeper.take_interval(ms(300));
    assert_eq!((empty.start, empty.completions, empty.response_mean), (ms(200), 0, None));
}

#[test]
fn the_long_lane_tells_the_controller_of_the_short_one_nothing() {
    let (mut keeper, shop) = keeper(2, Options::default());
    let mut long = runs(&mut keeper, 0, by(1, shop), 7);
    keeper.move_to_long(ms(30), by(1, shop), &mut long, ms(300));
    ends(&mut keeper, 900, by(1, shop), &mut long, (Outcome::Success, 900));
    let mut asleep = runs(&mut keeper, 0, by(2, shop), 8);
    keeper.step_aside(ms(1), by(2, shop), &mut asleep);
    ends(&mut keeper, 1_000, by(2, shop), &mut asleep, (Outcome::Success, 0));
    let interval = keeper.take_interval(ms(1_000));
    assert_eq!((interval.completions, interval.long, interval.response_mean), (0, 2, None));
    assert!((interval.long_s - 1.9).abs() < 1e-9);
    // The chained one that follows is no more of a kind, and stays where it is.
    ends(&mut keeper, 1_001, by(1, shop), &mut long, (Outcome::Success, 1));
    assert_eq!(keeper.take_interval(ms(1_001)).long, 1);
}

#[test]
fn a_kind_that_turns_out_to_be_long_while_it_waits_waits_on_for_the_long_lane() {
    let (mut keeper, shop) = keeper(1, Options::default());
    let mut first = runs(&mut keeper, 0, by(1, shop), 7);
    let Admission::Queued(stand) = keeper.ask(ms(1), by(2, shop), 7) else { panic!("there was room") };
    keeper.move_to_long(ms(200), by(1, shop), &mut first, ms(200));
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(2), ms(199))]);
    assert!(
        matches!(keeper.admitted(ms(201), by(2, shop), stand, 7.into()), Admission::Queued(stand) if stand.lane == Lane::Long)
    );
    assert_eq!(keeper.gate.lanes().map(|lane| (lane.running, lane.waiting)), [(0, 0), (1, 1)]);
    keeper.leave(ms(300), by(1, shop), first);
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(2), ms(99))]);
}

#[test]
fn a_kind_that_was_long_begins_in_the_long_lane_before_the_first_of_it_has_ended() {
    let (mut keeper, shop) = keeper(2, Options::default());
    let mut first = runs(&mut keeper, 0, by(1, shop), 7);
    keeper.move_to_long(ms(20), by(1, shop), &mut first, ms(200));
    assert!(matches!(keeper.ask(ms(21), by(2, shop), 7), Admission::Queued(Stand { lane: Lane::Long, .. })));
    assert_eq!(runs(&mut keeper, 21, by(3, shop), 8).place.lane, Lane::Short);
    ends(&mut keeper, 22, by(1, shop), &mut first, (Outcome::Success, 1));
    keeper.leave(ms(22), by(1, shop), first);
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(2), ms(1))], "it is counted once");
}

#[test]
fn after_a_failover_nothing_of_the_old_server_is_counted() {
    let (mut keeper, shop) = keeper(2, Options::default());
    let mut first = runs(&mut keeper, 0, by(1, shop), 0);
    keeper.enter(ms(1), by(2, shop), 0);
    keeper.step_aside(ms(1), by(1, shop), &mut first);
    let third = runs(&mut keeper, 1, by(3, shop), 0);
    let stand = waits(&mut keeper, 1, by(4, shop));
    assert!(keeper.exempt(by(1, shop)));
    let server = keeper.new_server(ms(10));
    assert_eq!((server, keeper.server()), (1, 1));
    assert_eq!(notices(&mut keeper), [Notice::Admitted(SessionId(4), ms(9))]);
    let census = keeper.census(ms(10));
    assert_eq!((census.running(), census.aside, census.waiting()), (0, 0, 0));
    assert_eq!((census.tenants[0].in_flight(), census.tenants[0].exempt), (0, 0));
    assert_eq!((census.tenants[0].admitted, census.tenants[0].waits.count()), (4, 4));
    // Two may run at the new server, whatever the sessions of the old one do.
    let new = |session| Caller { server, ..by(session, shop) };
    for session in 20..22 {
        runs(&mut keeper, 11, new(session), 0);
    }
    waits(&mut keeper, 11, new(22));
    keeper.cancel(ms(12), by(4, shop), stand);
    keeper.leave(ms(12), by(1, shop), first);
    keeper.leave(ms(12), by(3, shop), third);
    assert_eq!((keeper.brief_census().running(), keeper.brief_census().waiting()), (2, 1));
}

#[test]
fn no_more_sessions_of_a_tenant_pass_the_queue_for_named_locks_than_the_limit_but_for_a_few() {
    let (mut keeper, shop) = keeper(6, Options::default());
    let granted = |keeper: &mut Keeper, from: u64| {
        (from..from + 100).filter(|session| keeper.exempt(by(*session, shop))).count()
    };
    assert_eq!(granted(&mut keeper, 0), 6);
    keeper.set_limit(ms(0), Lane::Short, 10);
    assert_eq!(granted(&mut keeper, 100), 4);
    keeper.set_limit(ms(0), Lane::Short, 1);
    assert_eq!((granted(&mut keeper, 200), keeper.named_max()), (0, 4), "who is exempt stays so");
    (0..10).for_each(|_| keeper.unexempt(by(1, shop)));
    assert_eq!(granted(&mut keeper, 300), 4, "however small the limit is");
    keeper.set_limit(ms(0), Lane::Short, 1_000);
    assert_eq!(granted(&mut keeper, 400), 60, "and the operator's bound holds");
}
