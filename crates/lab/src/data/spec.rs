//! Which data set is wanted, and how it gets into the server.

use super::set::DataSet;
use super::tpcw::Date;
use evenkeel_core::random::Seed;
use evenkeel_site::words;
use std::str::FromStr;

words! {
    /// The way rows take into the server. The rows are the same; the storage layout is not.
    Via {
        /// One row at a time in the published order, a commit every 1,000 rows: what users' own inserts do.
        Insert = "insert",
        /// The same with all indexes there from the start, as the published study's server had to do it.
        Script = "script",
        /// In an order that has nothing to do with any key, with all indexes from the start.
        Shuffled = "shuffled",
        /// LOAD DATA LOCAL over several connections, in primary key order, indexes after.
        Load = "load",
        /// As a dump is loaded, which leaves the same pages as [`Via::Load`].
        Dump = "dump",
    }
}

impl Via {
    pub const ALL: [Self; 5] = [Self::Insert, Self::Script, Self::Shuffled, Self::Load, Self::Dump];
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of insert, script, shuffled, load and dump")]
pub struct ViaError(pub String);

impl FromStr for Via {
    type Err = ViaError;

    fn from_str(text: &str) -> Result<Self, ViaError> {
        Self::ALL.into_iter().find(|via| via.word() == text).ok_or_else(|| ViaError(text.to_owned()))
    }
}

/// A data set. Its database is the target's, or one of its own name where the target names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSpec {
    pub set: DataSet,
    pub seed: Seed,
    /// The day on which the population is said to happen. `None` takes the stamped one where a data set
    /// is there, and the clock's (UTC) where one is made.
    pub today: Option<Date>,
    pub via: Via,
    /// Connections that load at a time; at least one. Inserts use one, whatever this says.
    pub threads: usize,
}

impl DataSpec {
    /// Name of the database of TPC-W data where nobody names one.
    pub const DATABASE: &str = "tpcw";
}
