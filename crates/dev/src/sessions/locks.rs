//! What connections of the model server hold that others may wait for.

use super::script::Command;
use std::collections::{HashMap, HashSet};

/// Whom a lock belongs to, and how often he has taken it.
type Owners = HashMap<u64, (usize, u32)>;

/// What is locked, by whom. A connection is known by its number.
#[derive(Debug, Default)]
pub struct Locks {
    rows: HashMap<u64, usize>,
    names: Owners,
    tables: Option<usize>,
    /// Open handlers, which nobody else has to wait for here, though at a real server some do.
    handlers: HashMap<usize, u32>,
    /// Whoever has locks of these kinds.
    solid: HashSet<(Solid, usize)>,
}

/// Locks of a whole server, and those of a transaction that somebody else coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Solid {
    Global,
    Backup,
    Xa,
}

impl Locks {
    /// Whether a connection holds what others may wait for.
    pub fn holds(&self, who: usize) -> bool {
        let names = self.names.values().map(|(owner, _)| owner);
        let locked = self.rows.values().chain(names).chain(&self.tables).any(|owner| *owner == who);
        locked || self.handlers.contains_key(&who) || self.holds_server(who)
    }

    /// Whether it holds locks of a whole server, or such of an XA transaction.
    fn holds_server(&self, who: usize) -> bool {
        self.solid.iter().any(|(_, owner)| *owner == who)
    }

    /// Whether it holds what costs nothing, or could seem to: all but rows.
    pub fn holds_cheap(&self, who: usize) -> bool {
        let named = self.names.values().any(|(owner, _)| *owner == who);
        named || self.tables == Some(who) || self.handlers.contains_key(&who) || self.holds_server(who)
    }

    /// Whether it has this one.
    pub fn has(&self, solid: Solid, who: usize) -> bool {
        self.solid.contains(&(solid, who))
    }

    pub fn set(&mut self, solid: Solid, who: usize, held: bool) {
        match held {
            true => self.solid.insert((solid, who)),
            false => self.solid.remove(&(solid, who)),
        };
    }

    /// Whether the lock that a command wants is its connection's, now or already.
    pub fn takes(&mut self, who: usize, command: &Command) -> bool {
        match command {
            Command::Update(key) => *self.rows.entry(*key).or_insert(who) == who,
            Command::GetLock(name) | Command::SecondOfTwo(name) | Command::LockThenXa(name) => {
                self.names.entry(*name).or_insert((who, 0)).0 == who
            }
            Command::LockTables => *self.tables.get_or_insert(who) == who,
            _ => true,
        }
    }

    /// A named lock that was its owner's already is one more time.
    pub fn count(&mut self, name: u64) {
        if let Some((_, times)) = self.names.get_mut(&name) {
            *times += 1;
        }
    }

    /// Gives a named lock back once; false where it is not that connection's.
    pub fn release(&mut self, who: usize, name: u64) -> bool {
        let Some((_, times)) = self.names.get_mut(&name).filter(|(owner, _)| *owner == who) else {
            return false;
        };
        *times -= 1;
        if *times == 0 {
            self.names.remove(&name);
        }
        true
    }

    pub fn drop_names(&mut self, who: usize) {
        self.names.retain(|_, (owner, _)| *owner != who);
    }

    pub fn drop_rows(&mut self, who: usize) {
        self.rows.retain(|_, owner| *owner != who);
    }

    pub fn drop_tables(&mut self, who: usize) {
        self.tables = self.tables.filter(|owner| *owner != who);
    }

    pub fn open_handler(&mut self, who: usize) {
        *self.handlers.entry(who).or_insert(0) += 1;
    }

    /// False where none was open.
    pub fn close_handler(&mut self, who: usize) -> bool {
        let Some(open) = self.handlers.get_mut(&who) else { return false };
        *open -= 1;
        if *open == 0 {
            self.handlers.remove(&who);
        }
        true
    }

    pub fn drop_all(&mut self, who: usize) {
        self.drop_rows(who);
        self.drop_names(who);
        self.drop_tables(who);
        self.handlers.remove(&who);
        self.solid.retain(|(_, owner)| *owner != who);
    }
}
