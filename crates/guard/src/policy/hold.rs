//! What a session may hold that others wait for.

use super::act::Act;

/// Named locks beyond this number are one lock without a name.
const NAMES_MAX: usize = 16;

/// Everything that a session may hold. In doubt it is held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    pub transaction: bool,
    /// An XA transaction was started, and not yet committed or rolled back; perhaps it is prepared.
    pub xa: bool,
    pub tables: bool,
    pub global: bool,
    pub backup: bool,
    /// GET_LOCK: hash of the name, and how often it was taken.
    pub(super) names: Vec<(u64, u16)>,
    /// GET_LOCK of names that are not known.
    unnamed: bool,
    /// Text ran that was not read.
    doubt: bool,
}

impl Hold {
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether the server says itself that it holds something, which is then under a permit: an open transaction. All else
    /// is read from texts, and all of a client's sessions could pass the queue by it: names, tables and BACKUP LOCK cost
    /// nothing, and a comment that the server passes over may sound like any lock.
    pub fn is_solid(&self) -> bool {
        self.transaction
    }

    /// A step was done.
    pub fn apply(&mut self, act: Act) {
        match act {
            // A transaction ends LOCK TABLES. That it could begin shows that no XA transaction is attached.
            Act::Begin => (self.tables, self.xa) = (false, false),
            Act::Commit | Act::Rollback | Act::Call => {}
            Act::LockTables => self.tables = true,
            Act::LockGlobal => self.global = true,
            Act::UnlockTables => (self.tables, self.global) = (false, false),
            Act::LockBackup => self.backup = true,
            Act::UnlockBackup => self.backup = false,
            Act::LockName(name) => self.lock(name),
            Act::LockSome => self.unnamed = true,
            Act::UnlockName(name) => self.unlock(name),
            // Perhaps another one than ours: what was taken counts as held.
            Act::UnlockSome => {}
            Act::UnlockNames => (self.names, self.unnamed) = (Vec::new(), false),
            Act::XaStart => self.xa = true,
            Act::XaEnd => self.xa = false,
            Act::OpenHandler | Act::Hidden | Act::Doubt => self.doubt = true,
        }
    }

    fn lock(&mut self, name: u64) {
        match self.names.iter().position(|(known, _)| *known == name) {
            Some(index) => self.names[index].1 = self.names[index].1.saturating_add(1),
            None if self.names.len() < NAMES_MAX => self.names.push((name, 1)),
            None => self.unnamed = true,
        }
    }

    fn unlock(&mut self, name: u64) {
        if let Some(index) = self.names.iter().position(|(known, _)| *known == name) {
            self.names[index].1 -= 1;
            if self.names[index].1 == 0 {
                self.names.swap_remove(index);
            }
        }
    }
}
