//! File and table are compared.

use super::{Fate, Ledger, TABLE, Write};
use crate::{HaulError, refused};
use evenkeel_core::Nanos;
use evenkeel_site::server::{Cell, Control};
use std::collections::BTreeMap;
use std::ops::Range;

/// All the time of a ledger.
pub const ALWAYS: Range<Nanos> = Nanos::ZERO..Nanos(u64::MAX);
/// Writes of each kind that are named.
const NAMED: usize = 100;

/// What should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Acknowledged, and not there.
    Lost,
    /// There more than once.
    Doubled,
    /// Stored before a write that its writer had made earlier.
    OutOfOrder,
    /// There, although the server had refused it.
    StoredThoughRefused,
    /// There with another content.
    Altered,
    /// There, and never sent.
    NeverSent,
}

/// What the comparison of a ledger with its table gave.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Account {
    pub sent: u64,
    pub acknowledged: u64,
    pub refused: u64,
    /// Writes whose answer did not come.
    pub unknown: u64,
    /// Of these, those that are there. Neither is wrong.
    pub unknown_and_there: u64,
    pub rows: u64,
    /// When the first lost write was acknowledged, seconds since the start.
    pub first_lost_s: Option<f64>,
    /// Longest time without an acknowledged write.
    pub outage_s: f64,
    /// Writes that failed, by the server's code; those without an answer are code 0.
    pub errors: BTreeMap<u16, u64>,
    /// How many writes of each kind.
    pub found: BTreeMap<Finding, u64>,
    /// The first hundred of each.
    pub named: BTreeMap<Finding, Vec<Write>>,
}

impl Account {
    /// Whether each acknowledged write is there once, in order, and nothing else. Where there was none, nothing is shown.
    pub fn is_right(&self) -> bool {
        self.found.is_empty() && self.acknowledged > 0
    }

    pub fn count(&self, finding: Finding) -> u64 {
        self.found.get(&finding).copied().unwrap_or_default()
    }

    fn find(&mut self, finding: Finding, write: Write) {
        *self.found.entry(finding).or_default() += 1;
        let named = self.named.entry(finding).or_default();
        if named.len() < NAMED {
            named.push(write);
        }
    }
}

/// Compares a ledger with the table in the connection's database.
/// Errors: there is no table, it is of another ledger, or the server does not answer.
pub fn audit(control: &mut Control, ledger: &Ledger) -> Result<Account, HaulError> {
    check_table(control, ledger)?;
    let mut tally = Tally::new(ledger);
    let sql = format!("SELECT writer, number, body FROM {TABLE} ORDER BY place");
    control.for_each_row(&sql, &mut |row| {
        tally.row(row);
        Ok(())
    })?;
    Ok(tally.end())
}

fn check_table(control: &mut Control, ledger: &Ledger) -> Result<(), HaulError> {
    let comment = control.query_value(&format!(
        "SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{TABLE}'"
    ))?;
    let id = &ledger.id;
    match comment {
        Some(comment) if comment == format!("evenkeel ledger {id}") => Ok(()),
        Some(comment) => {
            let what = format!("table {TABLE} is of another ledger: {comment:?}, not {id}");
            Err(refused(what, "give the ledger and the database of the same run").into())
        }
        None => {
            let what = format!("there is no table {TABLE}");
            Err(refused(what, "name the database that the writers wrote to").into())
        }
    }
}

struct Tally<'a> {
    ledger: &'a Ledger,
    account: Account,
    /// How often each write is there.
    times: BTreeMap<Write, u32>,
    /// The highest number so far of each writer.
    last: BTreeMap<u32, u64>,
}

impl<'a> Tally<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        Self { ledger, account: Account::default(), times: BTreeMap::new(), last: BTreeMap::new() }
    }

    fn row(&mut self, row: &[Cell]) {
        self.account.rows += 1;
        let text = |index: usize| {
            row.get(index).and_then(Option::as_deref).map(String::from_utf8_lossy).unwrap_or_default()
        };
        let (Ok(writer), Ok(number)) = (text(0).parse(), text(1).parse()) else { return };
        let write = Write { writer, number };
        if !self.ledger.entries.contains_key(&write) {
            return self.account.find(Finding::NeverSent, write);
        }
        let times = self.times.entry(write).or_default();
        *times += 1;
        match *times {
            1 => {}
            2 => return self.account.find(Finding::Doubled, write),
            _ => return,
        }
        if text(2) != write.body() {
            self.account.find(Finding::Altered, write);
        }
        let last = self.last.entry(writer).or_default();
        if number < *last {
            self.account.find(Finding::OutOfOrder, write);
        }
        *last = number.max(*last);
    }

    fn end(mut self) -> Account {
        for (write, entry) in &self.ledger.entries {
            let is_there = self.times.contains_key(write);
            self.account.sent += 1;
            match entry.fate {
                Fate::Acknowledged => self.account.acknowledged += 1,
                Fate::Refused(_) => self.account.refused += 1,
                Fate::Unknown => self.account.unknown += 1,
            }
            match (entry.fate, is_there) {
                (Fate::Acknowledged, false) => {
                    let at = entry.ended.unwrap_or_default().as_secs_f64();
                    let first = self.account.first_lost_s.get_or_insert(at);
                    *first = first.min(at);
                    self.account.find(Finding::Lost, *write);
                }
                (Fate::Refused(_), true) => self.account.find(Finding::StoredThoughRefused, *write),
                (Fate::Unknown, true) => self.account.unknown_and_there += 1,
                _ => {}
            }
        }
        let gap = self.ledger.longest_gap(ALWAYS);
        self.account.outage_s = gap.map_or(0.0, |(begin, end)| (end - begin).as_secs_f64());
        self.account.errors = self.ledger.errors();
        self.account
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    fn write(number: u64) -> Write {
        Write { writer: 0, number }
    }

    /// Of writes 1, 2 and 3 that were acknowledged, 4 refused and 5 unknown, these are there in this order.
    fn account(there: &[u64]) -> Account {
        let fates =
            [Fate::Acknowledged, Fate::Acknowledged, Fate::Acknowledged, Fate::Refused(1205), Fate::Unknown];
        let entry = |fate| Entry { arrival: Nanos::ZERO, sent: Nanos::ZERO, ended: None, fate };
        let entries = (1..).map(write).zip(fates.map(entry)).collect();
        let ledger = Ledger { id: "a".into(), entries, down: Vec::new() };
        let mut tally = Tally::new(&ledger);
        for number in there {
            let texts = ["0".to_owned(), number.to_string(), write(*number).body()];
            tally.row(&texts.map(|text| Some(text.into_bytes())));
        }
        tally.end()
    }

    #[test]
    fn each_acknowledged_write_once_is_right_whatever_became_of_unknown_ones() {
        assert!(account(&[1, 2, 3]).is_right());
        let account = account(&[1, 2, 3, 5]);
        assert!(account.is_right());
        assert_eq!((account.unknown, account.unknown_and_there, account.rows), (1, 1, 4));
    }

    #[test]
    fn each_kind_is_found_and_named() {
        for (there, finding, named) in [
            (&[1, 3][..], Finding::Lost, 2),
            (&[1, 2, 2, 3], Finding::Doubled, 2),
            (&[1, 2, 2, 2, 3], Finding::Doubled, 2),
            (&[2, 1, 3], Finding::OutOfOrder, 1),
            (&[1, 2, 3, 4], Finding::StoredThoughRefused, 4),
            (&[1, 2, 3, 9], Finding::NeverSent, 9),
        ] {
            let account = account(there);
            assert_eq!(account.found, BTreeMap::from([(finding, 1)]), "{there:?}");
            assert_eq!(account.named[&finding], [write(named)]);
        }
    }

    #[test]
    fn another_content_is_altered() {
        let ledger = Ledger {
            entries: BTreeMap::from([(
                write(1),
                Entry { arrival: Nanos::ZERO, sent: Nanos::ZERO, ended: None, fate: Fate::Acknowledged },
            )]),
            ..Ledger::default()
        };
        let mut tally = Tally::new(&ledger);
        tally.row(&["0", "1", "something"].map(|text| Some(text.as_bytes().to_vec())));
        assert_eq!(tally.end().count(Finding::Altered), 1);
    }
}
