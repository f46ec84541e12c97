//! Locks of the model server.

use super::script::Command;
use std::collections::HashMap;

/// What connections hold that others may wait for: by row or name, whose it is. A connection is known by its number.
#[derive(Debug, Default)]
pub struct Locks {
    rows: HashMap<u64, usize>,
    pub names: HashMap<u64, usize>,
    /// What was killed and has not heard of it: the number, and whether its connection is to end.
    pub killed: Option<(u64, bool)>,
}

impl Locks {
    pub fn holds(&self, who: usize) -> bool {
        self.rows.values().chain(self.names.values()).any(|owner| *owner == who)
    }

    /// Whether the lock that a command wants is its connection's, now or already.
    pub fn takes(&mut self, who: usize, command: &Command) -> bool {
        match command {
            Command::Update(key) => *self.rows.entry(*key).or_insert(who) == who,
            Command::GetLock(name) => *self.names.entry(*name).or_insert(who) == who,
            _ => true,
        }
    }

    pub fn drop_rows(&mut self, who: usize) {
        self.rows.retain(|_, owner| *owner != who);
    }

    pub fn drop_all(&mut self, who: usize) {
        self.drop_rows(who);
        self.names.retain(|_, owner| *owner != who);
    }
}
