//! The database that a workload asks, of whichever data set.

use super::tpcw;
use crate::data::DataSet;
use crate::data::dvdstore::Size;
use crate::data::tpcw::Scale;
use evenkeel_site::server::{Control, TargetError};

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
    ///
    /// # Errors
    /// Whatever stops the query, a missing table for one.
    pub fn read(set: DataSet, control: &mut Control) -> Result<Self, TargetError> {
        Ok(match set {
            DataSet::Tpcw(scale) => tpcw::Database::read(scale, control)?.into(),
            DataSet::DvdStore(size) => size.into(),
        })
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Tpcw(_) => "TPC-W",
            Self::DvdStore(_) => "DVD Store",
        }
    }
}
