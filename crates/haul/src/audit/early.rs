//! Sums over the records of files, taken by a load while it converts them: the audit behind it need not read the files again.

use super::records::{Noted, Noting, Records};
use super::sums::Sums;
use super::tables::{Canon, Tables};
use crate::HaulError;
use crate::convert::Duplicates;
use crate::input::Identity;
use crate::layout::LayoutFile;
use crate::table::Table;
use evenkeel_os::Stop;
use evenkeel_site::server::Control;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A load hashes to its end.
static NEVER_FAILS: AtomicBool = AtomicBool::new(false);

/// The tables of each record type, and the form of their values.
pub(crate) struct Hashing(Vec<(Tables, Canon)>);

impl Hashing {
    /// Of nothing, where nobody wants an audit.
    pub const NONE: Self = Self(Vec::new());

    pub fn of(control: &mut Control, file: &LayoutFile, tables: &[Table]) -> Result<Self, HaulError> {
        let types = tables.iter().zip(file.layout.types()).map(|(table, of)| {
            let tables = Tables::find(control, std::slice::from_ref(&table.name), of, false)?;
            let canon = tables.canon(&file.layout, of)?;
            Ok((tables, canon))
        });
        types.collect::<Result<_, HaulError>>().map(Self)
    }

    pub fn records<'a>(
        &'a self,
        file: &'a LayoutFile,
        inputs: &'a [PathBuf],
        duplicates: Duplicates,
        stop: &'a Stop,
    ) -> Vec<Records<'a>> {
        let of = |(record_type, (tables, canon)): (usize, &'a (Tables, Canon))| Records {
            file,
            record_type,
            inputs,
            identities: Vec::new(),
            corrected: &[],
            canon,
            tables,
            has_keys: duplicates == Duplicates::Refuse,
            names_exactly: true,
            stop,
        };
        self.0.iter().enumerate().map(of).collect()
    }

    /// No sums yet; the files are what they were when they were looked at.
    pub fn begin(&self, identities: &[Option<Identity>]) -> Vec<Early> {
        let of = |(_, canon): &(Tables, Canon)| {
            let (canon, identities) = (canon.clone(), identities.to_vec());
            Early { canon, identities, sums: Sums::default(), other_types: 0 }
        };
        self.0.iter().map(of).collect()
    }
}

impl<'a> Noting<'a, 'a> {
    /// Notes all records of an input of a load.
    pub(crate) fn all(of: &'a Records<'a>, number: u32) -> Self {
        Self { of, number, wanted: None, failed: &NEVER_FAILS }
    }
}

/// Sums over all records of one type, and in which form and of which files.
#[derive(Clone, Debug)]
pub(crate) struct Early {
    pub(super) canon: Canon,
    pub(super) identities: Vec<Option<Identity>>,
    pub(super) sums: Sums,
    pub(super) other_types: u64,
}

impl Early {
    pub fn add(&mut self, noted: &Noted) {
        self.other_types += noted.other_types;
        noted.entries.iter().for_each(|entry| self.sums.add(entry));
    }

    pub(super) fn is_of(&self, records: &Records<'_>) -> bool {
        let has_corrections = records.corrected.iter().any(|all| !all.is_empty());
        self.canon == *records.canon && self.identities == records.identities && !has_corrections
    }
}
