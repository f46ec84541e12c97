//! A table is built anew, so that its rows and indexes lie in the order of their keys: in place by the server, or as a copy that is
//! verified and then takes the table's place.

mod error;
mod facts;
mod fresh;
mod in_place;
mod names;

pub use error::RelayoutError;
pub use facts::{Facts, tables};
pub use names::{BEFORE, COPY};

use crate::server::{Control, Target};
use evenkeel_os::stop::Stop;
use serde::Serialize;

/// How a table is built anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// The server does it: `ALTER TABLE ... FORCE`.
    InPlace,
    /// Rows go to a new table, are verified, and the new table takes the name.
    Fresh,
}

/// Whom a relayout keeps waiting, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Nobody, but for moments at the begin and the end.
    Nobody,
    /// Who writes to the table, all the time that it takes.
    Writers,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Whom it kept waiting.
    pub waits: Waits,
    /// Rows that were counted in the old and the new table; `None` where the server alone did it.
    pub verified_rows: Option<u64>,
}

/// The work on one table.
pub struct Relayout<'a> {
    /// The server, with its database.
    pub target: &'a Target,
    /// How it is done.
    pub how: How,
    /// Whether the old table stays under another name, [`BEFORE`] and its own; only of a fresh one.
    pub keep_old: bool,
    /// Ends it early: the table is as it was then.
    pub stop: &'a Stop,
}

impl Relayout<'_> {
    /// Builds a table anew.
    ///
    /// # Errors
    /// What cannot be kept, by name; what the server said. The table is as it was, unless the error says that the copy has its
    /// place.
    pub fn run(&self, facts: &Facts, tell: &mut dyn FnMut(&str)) -> Result<Done, RelayoutError> {
        if let Some(error) = facts.refusal(self.how) {
            return Err(error);
        }
        let mut control = Control::connect_until(self.target, self.stop)?;
        prepare(&mut control)?;
        let done = match self.how {
            How::InPlace => in_place::run(&mut control, &facts.table, tell),
            How::Fresh => fresh::run(&mut control, self, &facts.table, tell),
        }?;
        // The statistics are of the old pages, and so would be the plans. It writes them down and changes no row.
        control.query(&format!("ANALYZE TABLE {}", names::quoted(&facts.table)))?;
        Ok(done)
    }
}

/// Seconds that somebody else's transaction on a table is waited for.
const LOCK_WAIT_S: u32 = 60;

/// Rows are taken as they are, also those that stricter settings would refuse today.
fn prepare(control: &mut Control) -> Result<(), RelayoutError> {
    control.exec(&format!(
        "SET SESSION lock_wait_timeout = {LOCK_WAIT_S}, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', \
         foreign_key_checks = 1, wait_timeout = 2147483"
    ))?;
    Ok(())
}
