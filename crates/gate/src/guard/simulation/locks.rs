//! What connections of the model server hold that others may wait for.

use super::script::Command;
use std::collections::HashMap;

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
}

impl Locks {
    /// Whether a connection holds what others may wait for.
    pub fn holds(&self, who: usize) -> bool {
        let names = self.names.values().map(|(owner, _)| owner);
        let locked = self.rows.values().chain(names).chain(&self.tables).any(|owner| *owner == who);
        locked || self.handlers.contains_key(&who)
    }

    /// Whether it holds more than names.
    pub fn holds_solid(&self, who: usize) -> bool {
        self.tables == Some(who) || self.handlers.contains_key(&who)
    }

    /// Whether it holds a name.
    pub fn holds_name(&self, who: usize) -> bool {
        self.names.values().any(|(owner, _)| *owner == who)
    }

    /// Whether the lock that a command wants is its connection's, now or already.
    pub fn takes(&mut self, who: usize, command: &Command) -> bool {
        match command {
            Command::Update(key) => *self.rows.entry(*key).or_insert(who) == who,
            Command::GetLock(name) | Command::Two(name) => {
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
    }
}
