//! Workloads by name.

use super::{Workload, WorkloadError, similar, tpcw};
use std::sync::Arc;

/// A workload that can be found by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name, for example `tpcw.complex`.
    pub name: &'static str,
    /// One line on what it asks.
    pub help: &'static str,
    /// Tables it touches.
    pub tables: Vec<&'static str>,
}

/// All workloads that come with Evenkeel: the three statements of the study, the three mixes, then every
/// statement of TPC-W.
pub fn catalog() -> Vec<Entry> {
    tpcw::catalog()
}

/// The workload of this name on a TPC-W database: a [`Scale`](crate::data::tpcw::Scale) for one that is as
/// populated, a [`tpcw::Database`] for one that others have added to.
///
/// # Errors
/// [`WorkloadError::Unknown`] with the names that are near.
pub fn find(name: &str, database: impl Into<tpcw::Database>) -> Result<Arc<dyn Workload>, WorkloadError> {
    tpcw::find(name, database.into()).ok_or_else(|| {
        let entries = catalog();
        let near = similar(name, entries.iter().map(|entry| entry.name));
        WorkloadError::Unknown { name: name.to_owned(), near: near.into_iter().map(str::to_owned).collect() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tpcw::Scale;

    #[test]
    fn every_entry_is_found_under_its_name() {
        let scale = Scale::new(1, 1_000).unwrap();
        for entry in catalog() {
            let workload = find(entry.name, scale).unwrap();
            assert_eq!(workload.name(), entry.name);
            assert!(!entry.help.is_empty() && !entry.help.contains('\n'), "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_name_lists_near_ones() {
        let error = find("tpcw.complx", Scale::new(1, 1_000).unwrap()).err().unwrap();
        assert_eq!(error.to_string(), "unknown workload `tpcw.complx`, did you mean `tpcw.complex`?");
    }
}
