//! The roster knows which members were heard, what they reported, and how long ago.

use super::Piece;
use super::message::{Dropped, Message, token};
use evenkeel_core::Nanos;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// At most so many members of an array are listened to.
const MEMBERS_MAX: usize = 1_024;
/// Periods of silence after which a member is gone.
pub const SILENT_PERIODS: u64 = 3;
/// Reports by which one of two of a name must be ahead to be the elder; else the lower incarnation is.
const AHEAD: u64 = 2;

/// Messages of a live member that may be missing between two that came, beside twice as many as there were periods between them.
/// One that is further ahead was not sent by that member; taken in, it would make everything that the member sends look old.
const MISSING: u64 = 16;

/// One start of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    /// A random number, drawn at its start.
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

    /// Whether this start of this member sent the message.
    pub fn has_sent(&self, message: &Message) -> bool {
        message.member == self.name && message.incarnation == self.incarnation
    }
}

/// The latest message of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    pub message: Message,
    /// How long ago it was heard here.
    pub age: Nanos,
}

/// The latest message of a member, and when it came; `None` where it stood there before the first look.
#[derive(Clone, Debug)]
struct Latest {
    message: Message,
    at: Option<Nanos>,
    /// The highest sequence number below this one's that came after it; 0 where none did.
    below: u64,
}

impl Latest {
    fn new(message: Message, at: Option<Nanos>) -> Self {
        Self { message, at, below: 0 }
    }

    /// Whether a report of the same start comes after this one; `Ok(false)` where it is this one.
    fn is_followed_by(&mut self, sequence: u64, period: Nanos, now: Nanos) -> Result<bool, Dropped> {
        let (last, is_live) = (self.message.sequence, self.is_live(period, now));
        match sequence.cmp(&last) {
            // A slot is read again and again.
            Ordering::Equal => Ok(false),
            Ordering::Greater if is_live && sequence - last > self.room(now) => Err(Dropped::Ahead),
            Ordering::Greater => Ok(true),
            // This one stands still, and below it somebody goes on counting: that is the member.
            Ordering::Less if !is_live && self.below > 0 && sequence > self.below => Ok(true),
            Ordering::Less => {
                self.below = self.below.max(sequence);
                Err(Dropped::Stale)
            }
        }
    }

    /// How far ahead the next report may be.
    fn room(&self, now: Nanos) -> u64 {
        let age = self.at.map_or(Nanos::ZERO, |at| now - at);
        MISSING + 2 * (age.0 / self.message.period.0.max(1))
    }

    /// Whether it is of a member that is there, for a listener with such a period.
    fn is_live(&self, period: Nanos, now: Nanos) -> bool {
        let bound = Nanos(SILENT_PERIODS.saturating_mul(self.message.period.max(period).0));
        !self.message.leaves && self.at.is_some_and(|at| now - at <= bound)
    }
}

#[derive(Clone, Debug)]
pub struct Roster {
    own: Identity,
    period: Nanos,
    members: BTreeMap<String, Latest>,
    /// The sequence number of the last message of this start.
    sequence: u64,
    /// Another start under the own name.
    twin: Option<Latest>,
    dropped: [u64; Dropped::ALL.len()],
}

impl Roster {
    /// The roster of a member that reports once a period. Nobody was heard yet.
    pub fn new(own: Identity, period: Nanos) -> Self {
        Self {
            own,
            period,
            members: BTreeMap::new(),
            sequence: 0,
            twin: None,
            dropped: [0; Dropped::ALL.len()],
        }
    }

    /// Another period from now on.
    pub fn set_period(&mut self, period: Nanos) {
        self.period = period;
    }

    /// This start sends the message with this sequence number, and none above it yet.
    pub fn sent(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    pub fn take(&mut self, piece: &Piece, at: Option<Nanos>) {
        if let Err(why) = Message::decode(&piece.bytes).and_then(|message| self.accept(message, piece, at)) {
            self.dropped[why as usize] += 1;
        }
    }

    fn accept(&mut self, message: Message, piece: &Piece, at: Option<Nanos>) -> Result<(), Dropped> {
        if piece.sender.as_ref().is_some_and(|sender| *sender != token(&message.member)) {
            return Err(Dropped::Name);
        }
        if message.member == self.own.name && message.incarnation != self.own.incarnation {
            return self.meet(message, at);
        }
        let (period, now) = (self.period, at.unwrap_or(Nanos::ZERO));
        if self.own.has_sent(&message) && message.sequence > self.sequence {
            return Err(Dropped::Ahead);
        }
        match self.members.get_mut(&message.member) {
            Some(known) if known.message.incarnation == message.incarnation => {
                if !known.is_followed_by(message.sequence, period, now)? {
                    return Ok(());
                }
            }
            Some(known) if known.is_live(period, now) => return Err(Dropped::Twin),
            Some(_) => {}
            None => self.make_room(now)?,
        }
        self.members.insert(message.member.clone(), Latest::new(message, at));
        Ok(())
    }

    /// Forgets the dead where there are as many members as are listened to.
    fn make_room(&mut self, now: Nanos) -> Result<(), Dropped> {
        if self.members.len() >= MEMBERS_MAX {
            self.members.retain(|_, latest| latest.is_live(self.period, now));
        }
        if self.members.len() >= MEMBERS_MAX { Err(Dropped::Crowd) } else { Ok(()) }
    }

    /// Somebody else has the own name.
    fn meet(&mut self, message: Message, at: Option<Nanos>) -> Result<(), Dropped> {
        let is_known = self.twin.as_ref().is_some_and(|known| {
            known.message.incarnation == message.incarnation && known.message.sequence >= message.sequence
        });
        if is_known {
            return Ok(());
        }
        self.twin = Some(Latest::new(message, at));
        if at.is_some() { Err(Dropped::Twin) } else { Ok(()) }
    }

    /// The live members by name. Who leaves, or was silent for three periods, is none.
    pub fn live(&self, now: Nanos) -> Vec<Heard> {
        let live = self.members.values().filter(|latest| latest.is_live(self.period, now));
        let heard = |latest: &Latest| Heard {
            message: latest.message.clone(),
            age: latest.at.map_or(Nanos::ZERO, |at| now - at),
        };
        live.map(heard).collect()
    }

    /// Whether all that stood there before anybody looked was replaced or taken back since: nobody is in doubt.
    pub fn all_have_moved(&self) -> bool {
        self.members.values().chain(&self.twin).all(|latest| latest.at.is_some() || latest.message.leaves)
    }

    /// The latest of the own reports that came back, by its sequence number.
    pub fn echo(&self) -> Option<u64> {
        self.members.get(&self.own.name).map(|latest| latest.message.sequence)
    }

    pub fn twin(&self, now: Nanos) -> Option<&Message> {
        self.twin.as_ref().filter(|twin| twin.is_live(self.period, now)).map(|twin| &twin.message)
    }

    /// The same where it was there before this one, which is at this sequence number.
    pub fn elder(&self, sequence: u64, now: Nanos) -> Option<&Message> {
        self.twin(now).filter(|twin| match twin.sequence.abs_diff(sequence) {
            0..=AHEAD => twin.incarnation < self.own.incarnation,
            _ => twin.sequence > sequence,
        })
    }

    pub fn dropped(&self) -> [(Dropped, u64); Dropped::ALL.len()] {
        Dropped::ALL.map(|why| (why, self.dropped[why as usize]))
    }
}

#[cfg(test)]
mod tests {
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
}
