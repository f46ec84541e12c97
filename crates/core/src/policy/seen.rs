//! What is known of a command before it is sent on.

use super::hold::Code;
use super::{Act, Statement};

/// A command that was read, and not yet sent on.
#[derive(Clone, Debug)]
pub struct Seen {
    pub(super) code: Code,
    pub(super) statement: Option<Statement>,
    pub(super) closes: Option<u32>,
    /// It runs a statement that the server cannot know.
    pub(super) absent: bool,
}

impl Seen {
    /// A statement for which [`super::is_of_rows`] holds.
    pub fn of_rows() -> Self {
        Self { code: Code::Query, statement: Some(Statement::of_rows()), closes: None, absent: false }
    }

    /// The server's thread whose statement it ends.
    pub fn kills(&self) -> Option<u32> {
        let runs = matches!(self.code, Code::Query | Code::Execute);
        self.statement.as_ref().filter(|_| runs)?.kills
    }

    /// The digest of its statement; 0 where it is not known.
    pub fn digest(&self) -> u64 {
        self.statement.as_ref().map_or(0, |statement| statement.digest)
    }

    /// Whether it begins a transaction and does nothing else, so that it says nothing of that.
    pub fn only_begins(&self) -> bool {
        self.statement.as_ref().is_some_and(|statement| statement.acts == [Act::Begin])
            && self.statements() == 1
    }

    /// Whether it only reads, and locks nothing.
    pub fn reads(&self) -> bool {
        self.statement.as_ref().is_some_and(|statement| statement.reads)
    }

    /// How many statements its text has, as far as it was read.
    pub fn statements(&self) -> u32 {
        self.statement.as_ref().map_or(1, |statement| statement.statements.max(1))
    }

    /// Whether it ends the open transaction where it succeeds: COMMIT, ROLLBACK, and DDL, which commits before it begins.
    pub fn ends_transaction(&self) -> bool {
        let statement = self.statement.as_ref();
        statement
            .is_some_and(|s| s.commits || s.acts.iter().any(|act| matches!(act, Act::Commit | Act::Rollback)))
    }
}
