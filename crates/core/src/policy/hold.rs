//! What a session may hold that others wait for; commands and error codes by what they mean for that.

use super::act::Act;
use crate::admission::Outcome;

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

/// A command, as far as holds differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// SQL text, which has to be read to know what it does.
    Query,
    /// Prepares a statement; takes no lock that outlives it, and its EXECUTE asks.
    Prepare,
    /// Runs a prepared statement, once or for an array.
    Execute,
    /// Forgets a statement; not answered.
    Close,
    /// Back to the state after login, or another account.
    Reset,
    /// Needs no permit and is answered.
    Aside,
    /// Needs no permit and is not answered.
    Silent,
    /// Old commands that act on data.
    Other,
    /// Not known; the server will answer something.
    Unknown,
}

impl Code {
    pub fn of(byte: u8) -> Self {
        match byte {
            0x03 => Self::Query,
            0x16 => Self::Prepare,
            0x17 | 0xfa => Self::Execute,
            0x19 => Self::Close,
            // COM_CHANGE_USER and COM_RESET_CONNECTION.
            0x11 | 0x1f => Self::Reset,
            // COM_QUIT and COM_STMT_SEND_LONG_DATA.
            0x01 | 0x18 => Self::Silent,
            // INIT_DB, SHUTDOWN, STATISTICS, PROCESS_INFO, PROCESS_KILL, DEBUG, PING,
            // BINLOG_DUMP, TABLE_DUMP, REGISTER_SLAVE, STMT_RESET, SET_OPTION, STMT_FETCH, BINLOG_DUMP_GTID,
            // CLONE, SUBSCRIBE_GROUP_REPLICATION.
            0x02 | 0x08..=0x0a | 0x0c..=0x0e | 0x12 | 0x13 | 0x15 | 0x1a..=0x1c | 0x1e | 0x20 | 0x21 => {
                Self::Aside
            }
            // FIELD_LIST, which works out constants of views; CREATE_DB, DROP_DB, REFRESH.
            0x04..=0x07 => Self::Other,
            _ => Self::Unknown,
        }
    }

    pub fn bypasses(self) -> bool {
        matches!(self, Self::Prepare | Self::Close | Self::Reset | Self::Aside | Self::Silent)
    }

    pub fn is_answered(self) -> bool {
        !matches!(self, Self::Close | Self::Silent)
    }

    /// Whether its end is that of a unit of work.
    pub fn is_work(self) -> bool {
        matches!(self, Self::Query | Self::Execute | Self::Other)
    }
}

/// The server rolled the whole transaction back: deadlock, also as XA and cluster conflicts report it.
pub(super) fn ends_transaction(error: u16) -> bool {
    const LOCK_DEADLOCK: u16 = 1213;
    error == LOCK_DEADLOCK
}

/// There is no such prepared statement, or the command was too short to name one.
pub(super) fn is_unknown_statement(error: u16) -> bool {
    const UNKNOWN_STATEMENT: u16 = 1243;
    const MALFORMED_PACKET: u16 = 1835;
    matches!(error, UNKNOWN_STATEMENT | MALFORMED_PACKET)
}

/// What an error says about the server.
pub(super) fn outcome(error: u16) -> Outcome {
    match error {
        // Deadlock, lock wait, XA branch rolled back for either; changed since it was read (MariaDB).
        1213 | 1205 | 1402 | 1613 | 1614 | 1020 => Outcome::RolledBack,
        // Out of memory, sort memory, connections, threads, resources, lock table; statement time-outs.
        1037 | 1038 | 1040 | 1041 | 1135 | 1203 | 1206 | 1226 | 1969 | 3024 => Outcome::Overload,
        _ => Outcome::Ignored,
    }
}

pub(super) fn worse(one: Outcome, other: Outcome) -> Outcome {
    if one == Outcome::Ignored { other } else { one }
}
