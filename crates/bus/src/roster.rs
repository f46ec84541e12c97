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
mod tests;
