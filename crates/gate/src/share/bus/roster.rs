//! Who was heard, what, and how long ago.

use super::Piece;
use super::message::{Dropped, Told, token};
use evenkeel_core::Nanos;
use std::collections::BTreeMap;

/// Most members of an array that are listened to.
const MEMBERS_MAX: usize = 1_024;
/// Periods of silence after which a member is gone.
pub const SILENT_PERIODS: u64 = 3;
/// Reports by which one of two of a name must be ahead to be the elder; else the lower incarnation is.
const AHEAD: u64 = 2;

/// Who a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Drawn at its start.
    pub incarnation: u64,
}

impl Identity {
    /// A start of the member of this name.
    pub fn new(name: &str) -> Self {
        use std::hash::{BuildHasher, Hasher};
        // Keys of a hash map are drawn by the system for each process and differ within it.
        let incarnation = std::collections::hash_map::RandomState::new().build_hasher().finish();
        Self { name: name.to_owned(), incarnation }
    }

    /// Whether this start of this member told it.
    pub fn has_told(&self, told: &Told) -> bool {
        told.member == self.name && told.incarnation == self.incarnation
    }
}

/// The latest of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// What it told.
    pub told: Told,
    /// How long ago it was heard here.
    pub age: Nanos,
}

/// The latest of a member, and when it came; `None` where it stood there before anybody looked.
#[derive(Clone, Debug)]
struct Latest {
    told: Told,
    at: Option<Nanos>,
}

impl Latest {
    /// Whether it is of a member that is there, for a listener with such a period.
    fn is_live(&self, period: Nanos, now: Nanos) -> bool {
        let bound = Nanos(SILENT_PERIODS.saturating_mul(self.told.period.max(period).0));
        !self.told.leaves && self.at.is_some_and(|at| now - at <= bound)
    }
}

/// Reports by member. Time is an argument: this host's clock alone says how old a report is.
#[derive(Clone, Debug)]
pub struct Roster {
    own: Identity,
    period: Nanos,
    members: BTreeMap<String, Latest>,
    /// Another start under the own name.
    twin: Option<Latest>,
    dropped: [u64; Dropped::ALL.len()],
}

impl Roster {
    /// Of a member who tells once a period; nobody was heard yet.
    pub fn new(own: Identity, period: Nanos) -> Self {
        Self { own, period, members: BTreeMap::new(), twin: None, dropped: [0; Dropped::ALL.len()] }
    }

    /// Another period from now on.
    pub fn set_period(&mut self, period: Nanos) {
        self.period = period;
    }

    /// Takes what came at this instant; `None` where it stood there before anybody looked.
    pub fn take(&mut self, piece: &Piece, at: Option<Nanos>) {
        if let Err(why) = Told::decode(&piece.bytes).and_then(|told| self.accept(told, piece, at)) {
            self.dropped[why as usize] += 1;
        }
    }

    fn accept(&mut self, told: Told, piece: &Piece, at: Option<Nanos>) -> Result<(), Dropped> {
        if piece.sender.as_ref().is_some_and(|sender| *sender != token(&told.member)) {
            return Err(Dropped::Name);
        }
        if told.member == self.own.name && told.incarnation != self.own.incarnation {
            return self.meet(told, at);
        }
        let (period, now) = (self.period, at.unwrap_or(Nanos::ZERO));
        match self.members.get(&told.member) {
            Some(known) if known.told.incarnation == told.incarnation => {
                match known.told.sequence.cmp(&told.sequence) {
                    std::cmp::Ordering::Less => {}
                    // A slot is read again and again.
                    std::cmp::Ordering::Equal => return Ok(()),
                    std::cmp::Ordering::Greater => return Err(Dropped::Stale),
                }
            }
            Some(known) if known.is_live(period, now) => return Err(Dropped::Twin),
            Some(_) => {}
            None if self.members.len() >= MEMBERS_MAX => {
                self.members.retain(|_, latest| latest.is_live(period, now));
                if self.members.len() >= MEMBERS_MAX {
                    return Err(Dropped::Crowd);
                }
            }
            None => {}
        }
        self.members.insert(told.member.clone(), Latest { told, at });
        Ok(())
    }

    /// Somebody else has the own name.
    fn meet(&mut self, told: Told, at: Option<Nanos>) -> Result<(), Dropped> {
        let is_known = self.twin.as_ref().is_some_and(|known| {
            known.told.incarnation == told.incarnation && known.told.sequence >= told.sequence
        });
        if is_known {
            return Ok(());
        }
        self.twin = Some(Latest { told, at });
        if at.is_some() { Err(Dropped::Twin) } else { Ok(()) }
    }

    /// The live members by name. Who leaves, or was silent for three periods, is none.
    pub fn live(&self, now: Nanos) -> Vec<Heard> {
        let live = self.members.values().filter(|latest| latest.is_live(self.period, now));
        let heard = |latest: &Latest| Heard {
            told: latest.told.clone(),
            age: latest.at.map_or(Nanos::ZERO, |at| now - at),
        };
        live.map(heard).collect()
    }

    /// Whether all that stood there before anybody looked was replaced or taken back since: nobody is in doubt.
    pub fn all_have_moved(&self) -> bool {
        self.members.values().chain(&self.twin).all(|latest| latest.at.is_some() || latest.told.leaves)
    }

    /// The latest of the own reports that came back, by its sequence number.
    pub fn echo(&self) -> Option<u64> {
        self.members.get(&self.own.name).map(|latest| latest.told.sequence)
    }

    /// Another live member of the own name.
    pub fn twin(&self, now: Nanos) -> Option<&Told> {
        self.twin.as_ref().filter(|twin| twin.is_live(self.period, now)).map(|twin| &twin.told)
    }

    /// The same where it was there before this one, which has told so many reports.
    pub fn elder(&self, told: u64, now: Nanos) -> Option<&Told> {
        self.twin(now).filter(|twin| match twin.sequence.abs_diff(told) {
            0..=AHEAD => twin.incarnation < self.own.incarnation,
            _ => twin.sequence > told,
        })
    }

    /// How many reports were dropped for each reason.
    pub fn dropped(&self) -> [(Dropped, u64); Dropped::ALL.len()] {
        Dropped::ALL.map(|why| (why, self.dropped[why as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::told;
    use super::*;

    const PERIOD: Nanos = Nanos::from_secs(2);

    fn roster() -> Roster {
        Roster::new(Identity { name: "own".into(), incarnation: 50 }, PERIOD)
    }

    fn piece(told: &Told) -> Piece {
        Piece { bytes: told.encode(), sender: None }
    }

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    fn dropped(roster: &Roster, why: Dropped) -> u64 {
        roster.dropped()[why as usize].1
    }

    fn names(roster: &Roster, now: Nanos) -> Vec<(String, Nanos)> {
        roster.live(now).into_iter().map(|heard| (heard.told.member, heard.age)).collect()
    }

    #[test]
    fn a_member_is_live_for_three_periods_after_its_last_report() {
        let mut roster = roster();
        roster.take(&piece(&told("a", 1, 1, 1)), Some(at(10)));
        roster.take(&piece(&told("b", 1, 1, 1)), Some(at(12)));
        assert_eq!(names(&roster, at(16)), [("a".into(), at(6)), ("b".into(), at(4))]);
        assert_eq!(names(&roster, at(17)), [("b".into(), at(5))]);
        // The same slot read again is no news.
        roster.take(&piece(&told("a", 1, 1, 1)), Some(at(17)));
        assert_eq!(names(&roster, at(17)), [("b".into(), at(5))]);
        roster.take(&piece(&Told { leaves: true, ..told("b", 1, 2, 0) }), Some(at(17)));
        assert_eq!(names(&roster, at(17)), []);
    }

    #[test]
    fn what_is_older_than_what_was_heard_is_dropped() {
        let mut roster = roster();
        roster.take(&piece(&told("a", 1, 7, 1)), Some(at(1)));
        roster.take(&piece(&told("a", 1, 6, 1)), Some(at(2)));
        assert_eq!((dropped(&roster, Dropped::Stale), names(&roster, at(2))[0].1), (1, at(1)));
    }

    #[test]
    fn what_stood_there_before_anybody_looked_is_no_sign_of_life() {
        let mut roster = roster();
        roster.take(&piece(&told("a", 1, 7, 1)), None);
        assert!(names(&roster, at(0)).is_empty() && !roster.all_have_moved());
        roster.take(&piece(&told("a", 1, 8, 1)), Some(at(1)));
        assert!(names(&roster, at(1)).len() == 1 && roster.all_have_moved());
    }

    #[test]
    fn of_two_starts_of_another_member_the_first_is_believed_while_it_lives() {
        let mut roster = roster();
        roster.take(&piece(&told("a", 1, 7, 1)), Some(at(1)));
        roster.take(&piece(&told("a", 2, 1, 3)), Some(at(2)));
        assert_eq!((dropped(&roster, Dropped::Twin), roster.live(at(2))[0].told.incarnation), (1, 1));
        roster.take(&piece(&told("a", 2, 5, 3)), Some(at(20)));
        assert_eq!(roster.live(at(20))[0].told.incarnation, 2);
    }

    #[test]
    fn of_two_of_the_own_name_the_one_that_was_there_first_is_the_elder() {
        let mut roster = roster();
        roster.take(&piece(&told("own", 99, 1_000, 1)), Some(at(1)));
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
        roster.take(&Piece { sender: sender("b"), ..piece(&told("a.x", 1, 1, 1)) }, Some(at(1)));
        assert_eq!(dropped(&roster, Dropped::Name), 1);
        roster.take(&Piece { sender: sender("a_x"), ..piece(&told("a.x", 1, 1, 1)) }, Some(at(1)));
        assert_eq!(roster.live(at(1)).len(), 1);
    }

    #[test]
    fn a_flood_of_names_is_bounded_and_the_dead_make_room() {
        let mut roster = roster();
        for number in 0..2_000 {
            roster.take(&piece(&told(&format!("m{number}"), 1, 1, 0)), Some(at(1)));
        }
        assert_eq!((roster.live(at(1)).len(), dropped(&roster, Dropped::Crowd)), (MEMBERS_MAX, 976));
        roster.take(&piece(&told("late", 1, 1, 0)), Some(at(60)));
        assert_eq!(names(&roster, at(60)), [("late".into(), at(0))]);
    }
}
