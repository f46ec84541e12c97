//! The database that a workload asks, of whichever data set.

use super::{dvdstore, tpcw};
use crate::data::DataSet;
use crate::data::dvdstore::Size;
use crate::data::tpcw::Scale;
use evenkeel_site::server::{Control, TargetError};

/// A database by its data set, with what else a workload has to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// A database of TPC-W.
    Tpcw(tpcw::Database),
    /// Of DVD Store.
    DvdStore(dvdstore::Database),
}

impl From<DataSet> for Database {
    /// As populated, nothing changed since.
    fn from(set: DataSet) -> Self {
        match set {
            DataSet::Tpcw(scale) => scale.into(),
            DataSet::DvdStore(size) => size.into(),
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
        Self::DvdStore(size.into())
    }
}

impl From<tpcw::Database> for Database {
    fn from(database: tpcw::Database) -> Self {
        Self::Tpcw(database)
    }
}

impl From<dvdstore::Database> for Database {
    fn from(database: dvdstore::Database) -> Self {
        Self::DvdStore(database)
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
            DataSet::DvdStore(size) => dvdstore::Database::read(size, control)?.into(),
        })
    }

    /// Name of its data set for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Tpcw(_) => "TPC-W",
            Self::DvdStore(_) => "DVD Store",
        }
    }
}
