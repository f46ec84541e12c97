//! These tests say who is heard, who is not, and for how long.

use super::super::message::tests::message;
use super::*;

const PERIOD: Nanos = Nanos::from_secs(2);

fn roster() -> Roster {
    Roster::new(Identity { name: "own".into(), incarnation: 50 }, PERIOD)
}

fn piece(message: &Message) -> Piece {
    Piece { bytes: message.encode(), sender: None }
}

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

fn dropped(roster: &Roster, why: Dropped) -> u64 {
    roster.dropped()[why as usize].1
}

fn names(roster: &Roster, now: Nanos) -> Vec<(String, Nanos)> {
    roster.live(now).into_iter().map(|heard| (heard.message.member, heard.age)).collect()
}

#[test]
fn a_member_is_live_for_three_periods_after_its_last_report() {
    let mut roster = roster();
    roster.take(&piece(&message("a", 1, 1, 1)), Some(at(10)));
    roster.take(&piece(&message("b", 1, 1, 1)), Some(at(12)));
    assert_eq!(names(&roster, at(16)), [("a".into(), at(6)), ("b".into(), at(4))]);
    assert_eq!(names(&roster, at(17)), [("b".into(), at(5))]);
    // The same slot read again is no news.
    roster.take(&piece(&message("a", 1, 1, 1)), Some(at(17)));
    assert_eq!(names(&roster, at(17)), [("b".into(), at(5))]);
    roster.take(&piece(&Message { leaves: true, ..message("b", 1, 2, 0) }), Some(at(17)));
    assert_eq!(names(&roster, at(17)), []);
}

#[test]
fn what_is_older_than_what_was_heard_is_dropped() {
    let mut roster = roster();
    roster.take(&piece(&message("a", 1, 7, 1)), Some(at(1)));
    roster.take(&piece(&message("a", 1, 6, 1)), Some(at(2)));
    assert_eq!((dropped(&roster, Dropped::Stale), names(&roster, at(2))[0].1), (1, at(1)));
}

#[test]
fn what_stood_there_before_anybody_looked_is_no_sign_of_life() {
    let mut roster = roster();
    roster.take(&piece(&message("a", 1, 7, 1)), None);
    assert!(names(&roster, at(0)).is_empty() && !roster.all_have_moved());
    roster.take(&piece(&message("a", 1, 8, 1)), Some(at(1)));
    assert!(names(&roster, at(1)).len() == 1 && roster.all_have_moved());
}

#[test]
fn a_report_far_ahead_of_its_time_silences_nobody() {
    let mut roster = roster();
    roster.take(&piece(&message("a", 1, 100, 1)), Some(at(1)));
    // Somebody sends one message under the name and incarnation of a.
    roster.take(&piece(&message("a", 1, u64::MAX, 9)), Some(at(2)));
    assert_eq!(dropped(&roster, Dropped::Ahead), 1);
    roster.take(&piece(&message("a", 1, 101, 1)), Some(at(3)));
    assert_eq!((names(&roster, at(3)), dropped(&roster, Dropped::Stale)), (vec![("a".into(), at(0))], 0));
    // Who did not hear for long takes what has come meanwhile.
    roster.take(&piece(&message("a", 1, 118, 1)), Some(at(8)));
    assert_eq!(names(&roster, at(8)), [("a".into(), at(0))]);
}

#[test]
fn a_member_whose_name_somebody_used_is_heard_again_after_three_periods() {
    let mut roster = roster();
    // Both stood there before anybody looked.
    roster.take(&piece(&message("a", 1, 100, 1)), None);
    roster.take(&piece(&message("a", 1, u64::MAX, 9)), None);
    let both = |roster: &mut Roster, second: u64| {
        roster.take(&piece(&message("a", 1, 100 + second / 2, 1)), Some(at(second)));
        roster.take(&piece(&message("a", 1, u64::MAX, 9)), Some(at(second)));
    };
    (1..=4).for_each(|second| both(&mut roster, second));
    assert_eq!(names(&roster, at(4)), [("a".into(), at(0))]);
    assert_eq!(roster.live(at(4))[0].message.sequence, 102);
    // What stands still below is no sign of life.
    let mut dead = self::roster();
    dead.take(&piece(&message("b", 1, 9, 1)), Some(at(1)));
    for second in 2..60 {
        dead.take(&piece(&message("b", 1, 5, 1)), Some(at(second)));
        dead.take(&piece(&message("b", 1, 3, 1)), Some(at(second)));
    }
    assert_eq!(names(&dead, at(60)), []);
}

#[test]
fn what_this_start_has_not_told_yet_is_not_its_own() {
    let mut roster = roster();
    roster.sent(3);
    roster.take(&piece(&message("own", 50, 4, 1)), Some(at(1)));
    assert_eq!((roster.echo(), dropped(&roster, Dropped::Ahead)), (None, 1));
    roster.take(&piece(&message("own", 50, 3, 1)), Some(at(1)));
    assert_eq!(roster.echo(), Some(3));
}

#[test]
fn of_two_starts_of_another_member_the_first_is_believed_while_it_lives() {
    let mut roster = roster();
    roster.take(&piece(&message("a", 1, 7, 1)), Some(at(1)));
    roster.take(&piece(&message("a", 2, 1, 3)), Some(at(2)));
    assert_eq!((dropped(&roster, Dropped::Twin), roster.live(at(2))[0].message.incarnation), (1, 1));
    roster.take(&piece(&message("a", 2, 5, 3)), Some(at(20)));
    assert_eq!(roster.live(at(20))[0].message.incarnation, 2);
}

#[test]
fn of_two_of_the_own_name_the_one_that_was_there_first_is_the_elder() {
    let mut roster = roster();
    roster.take(&piece(&message("own", 99, 1_000, 1)), Some(at(1)));
    assert!(roster.elder(5, at(1)).is_some(), "it has told a thousand");
    assert!(roster.elder(5_000, at(1)).is_none(), "this one has told five thousand");
    assert!(roster.elder(1_001, at(1)).is_none(), "as old, and its incarnation is higher");
    assert!(roster.twin(at(1)).is_some() && roster.twin(at(60)).is_none(), "and it has gone");
    assert!(roster.live(at(1)).is_empty(), "it is not taken for this one");
}

#[test]
fn nobody_tells_under_the_name_of_another() {
    let mut roster = roster();
    let sender = |name: &str| Some(name.to_owned());
    roster.take(&Piece { sender: sender("b"), ..piece(&message("a.x", 1, 1, 1)) }, Some(at(1)));
    assert_eq!(dropped(&roster, Dropped::Name), 1);
    roster.take(&Piece { sender: sender("a_x"), ..piece(&message("a.x", 1, 1, 1)) }, Some(at(1)));
    assert_eq!(roster.live(at(1)).len(), 1);
}

#[test]
fn a_flood_of_names_is_bounded_and_the_dead_make_room() {
    let mut roster = roster();
    for number in 0..2_000 {
        roster.take(&piece(&message(&format!("m{number}"), 1, 1, 0)), Some(at(1)));
    }
    assert_eq!((roster.live(at(1)).len(), dropped(&roster, Dropped::Crowd)), (MEMBERS_MAX, 976));
    roster.take(&piece(&message("late", 1, 1, 0)), Some(at(60)));
    assert_eq!(names(&roster, at(60)), [("late".into(), at(0))]);
}
