//! Workloads by name.

use super::{Entry, Workload, dvdstore, tpcw};
use crate::data::DataSet;
use crate::data::dvdstore::Size;
use crate::data::tpcw::Scale;
use evenkeel_site::server::{Control, TargetError};
use std::sync::Arc;
use thiserror::Error;

/// All workloads that come with Evenkeel: the three statements of the study, the three mixes, every other
/// statement of TPC-W, then DVD Store.
pub fn catalog() -> Vec<Entry> {
    let mut entries = tpcw::catalog();
    entries.extend(dvdstore::catalog());
    entries
}

/// The workload of this name on a database: that of a data set as it was populated, or one that others have added to.
/// Errors: an unknown name, with those that are near, or one of a workload for other data.
pub fn find(name: &str, database: impl Into<Database>) -> Result<Arc<dyn Workload>, WorkloadError> {
    check_name(name)?;
    let (found, title) = match database.into() {
        Database::Tpcw(database) => (tpcw::find(name, database), "TPC-W"),
        Database::DvdStore(size) => (dvdstore::find(name, size), "DVD Store"),
    };
    found.ok_or_else(|| WorkloadError(format!("workload `{name}` does not go with {title} data")))
}

/// Whether there is a workload of this name.
/// Errors: an unknown name, with those that are near.
pub fn check_name(name: &str) -> Result<(), WorkloadError> {
    let entries = catalog();
    if entries.iter().any(|entry| entry.name == name) {
        return Ok(());
    }
    let near = similar(name, entries.iter().map(|entry| entry.name));
    let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
    let meant =
        if near.is_empty() { String::new() } else { format!(", did you mean {}?", near.join(" or ")) };
    Err(WorkloadError(format!("unknown workload `{name}`{meant}")))
}

/// A database by its data set, with what else a workload has to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Tpcw(tpcw::Database),
    DvdStore(Size),
}

impl From<DataSet> for Database {
    /// As populated, nothing changed since.
    fn from(set: DataSet) -> Self {
        match set {
            DataSet::Tpcw(scale) => scale.into(),
            DataSet::DvdStore(size) => Self::DvdStore(size),
        }
    }
}

impl From<Scale> for Database {
    fn from(scale: Scale) -> Self {
        Self::Tpcw(scale.into())
    }
}

impl From<Size> for Database {
    fn from(size: Size) -> Self {
        Self::DvdStore(size)
    }
}

impl From<tpcw::Database> for Database {
    fn from(database: tpcw::Database) -> Self {
        Self::Tpcw(database)
    }
}

impl Database {
    /// As it is now.
    pub fn read(set: DataSet, control: &mut Control) -> Result<Self, TargetError> {
        Ok(match set {
            DataSet::Tpcw(scale) => tpcw::Database::read(scale, control)?.into(),
            DataSet::DvdStore(size) => size.into(),
        })
    }
}

pub type Result<T, E = WorkloadError> = std::result::Result<T, E>;

/// Why a workload cannot be used, and what would be right.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct WorkloadError(pub(super) String);

/// The candidates near `name`, nearest first: few letters apart, or one part of the other (also behind the
/// last dot, so that `simple` finds `tpcw.simple`). At most five, about as near as the nearest.
pub fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .collect();
    near.sort();
    let farthest = near.first().map_or(0, |(distance, _)| distance + 1);
    near.into_iter()
        .take_while(|(distance, _)| *distance <= farthest)
        .take(5)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Letters apart; one where one name holds the other.
fn distance(name: &str, candidate: &str) -> usize {
    let last = candidate.rsplit('.').next().unwrap_or(candidate);
    let inside = name.len() >= 3 && (candidate.contains(name) || name.contains(candidate));
    let apart = edits(name, candidate).min(edits(name, last) + 1);
    if inside { apart.min(1) } else { apart }
}

/// Insertions, deletions and replacements between two words (Levenshtein).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dvdstore::Size;
    use crate::data::tpcw::Scale;

    #[test]
    fn every_entry_is_found_under_its_name() {
        let (shop, store) = (Scale::new(1, 1_000).unwrap(), Size::SMALL);
        for entry in catalog() {
            let workload = find(entry.name, shop).or_else(|_| find(entry.name, store)).unwrap();
            assert_eq!(workload.name(), entry.name);
            assert!(!entry.help.is_empty() && !entry.help.contains('\n'), "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_name_lists_near_ones() {
        let error = find("tpcw.complx", Scale::new(1, 1_000).unwrap()).err().unwrap();
        assert_eq!(error.to_string(), "unknown workload `tpcw.complx`, did you mean `tpcw.complex`?");
    }

    #[test]
    fn a_workload_on_the_data_of_another_is_refused() {
        let error = find("dvdstore", Scale::new(1, 1_000).unwrap()).err().unwrap();
        assert_eq!(error.to_string(), "workload `dvdstore` does not go with TPC-W data");
        assert!(find("tpcw.simple", Size::SMALL).is_err());
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["tpcw.simple", "tpcw.complex", "tpcw.browsing", "weight", "name"];
        for (wrong, meant) in [
            ("tpcw.simpel", Some("tpcw.simple")),
            ("simple", Some("tpcw.simple")),
            ("browsing", Some("tpcw.browsing")),
            ("wieght", Some("weight")),
            ("nam", Some("name")),
            ("zzzzzz", None),
        ] {
            assert_eq!(similar(wrong, names).first().copied(), meant, "{wrong}");
        }
    }
}
