//! How a table is built anew, and what came of it.

use crate::server::Target;
use evenkeel_os::stop::Stop;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// The server does it: `ALTER TABLE ... FORCE`.
    InPlace,
    /// Rows go to a new table, are verified, and the new table takes the name.
    Fresh,
}

/// Whom a relayout keeps waiting while it builds. At its end everybody waits for a moment, or for who is at the table then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Nobody, but for moments at the begin and the end.
    Nobody,
    /// Who writes to the table, all the time that it takes.
    Writers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    pub waits: Waits,
    /// Rows that were counted in the old and the new table; `None` where the server alone did it.
    pub verified_rows: Option<u64>,
}

pub struct Relayout<'a> {
    pub target: &'a Target,
    pub how: How,
    /// Whether the old table stays under another name ([`BEFORE`](super::BEFORE) behind its own); only of a fresh one.
    pub keep_old: bool,
    /// Ends it early: the table is as it was then, unless the copy has its place already.
    pub stop: &'a Stop,
}
