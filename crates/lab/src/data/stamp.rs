//! The stamp: a small table that says what a database holds and how it came there.

use super::session::{DataError, Result};
use super::set::{DataSet, Table};
use super::stream::{Content, checksum};
use super::tpcw::Date;
use evenkeel_core::random::Seed;
use evenkeel_os::clock;
use evenkeel_site::server::Control;
use evenkeel_site::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Version of the stamp's own layout.
const STAMP_VERSION: u32 = 1;

words! {
    /// How far a data set is.
    State {
        /// Being made, or left half finished.
        Building = "building",
        /// As its seed says.
        Ready = "ready",
        /// Complete, then changed by a write run.
        Written = "written",
    }
}

/// What a database holds: one row of the table [`Stamp::TABLE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub state: State,
    pub generator_version: u32,
    pub set: DataSet,
    pub seed: Seed,
    pub today: Date,
    pub via: Via,
    /// Content of each table as generated; empty while building.
    pub tables: Vec<(Table, Content)>,
    pub tool_version: String,
    /// Seconds since 1970 at the end of the work; zero while building.
    pub finished_at: u64,
}

impl Stamp {
    pub const TABLE: &str = "evenkeel_stamp";

    /// Reads the stamp of the connection's default database; `None` where there is none.
    pub fn read(control: &mut Control) -> Result<Option<Self>> {
        let exists = control.query_value(&format!(
            "SELECT 1 FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name = '{}'",
            Self::TABLE
        ))?;
        if exists.is_none() {
            return Ok(None);
        }
        let answer = control.query(&format!("SELECT {COLUMNS} FROM {} WHERE id = 1", Self::TABLE))?;
        let Some(row) = answer.rows.first() else { return Ok(None) };
        let texts: Vec<&str> = row.iter().map(|text| text.as_deref().unwrap_or_default()).collect();
        let unknown = || DataError::Stamp { database: database_of(control), stamp: texts.join(" ") };
        Self::of(&texts).map(Some).ok_or_else(unknown)
    }

    /// Notes that the rows are no longer those of the seed; called before a run that writes. Without a
    /// stamp there is nothing to note.
    pub fn mark_written(control: &mut Control) -> Result<()> {
        if Self::read(control)?.is_some() {
            control.exec(&format!("UPDATE {} SET state = '{}'", Self::TABLE, State::Written))?;
        }
        Ok(())
    }

    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, content)| content.rows).sum()
    }

    /// One number for the content of all tables; equal for the same generator version, scale, seed and
    /// day, whatever the way in and the number of threads.
    pub fn checksum(&self) -> u64 {
        checksum(&self.tables)
    }

    /// The stamp of a data set whose making begins.
    pub(super) fn building(spec: &DataSpec, today: Date) -> Self {
        Self {
            state: State::Building,
            generator_version: spec.set.generator_version(),
            set: spec.set,
            seed: spec.seed,
            today,
            via: spec.via,
            tables: Vec::new(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            finished_at: 0,
        }
    }

    pub(super) fn finished(self, tables: Vec<(Table, Content)>) -> Self {
        Self { state: State::Ready, tables, finished_at: clock::unix_time().as_secs(), ..self }
    }

    /// Writes it, making its table where that is missing.
    pub(super) fn write(&self, control: &mut Control) -> Result<()> {
        let table = Self::TABLE;
        control.exec(&format!("CREATE TABLE IF NOT EXISTS {table} {DEFINITION}"))?;
        // Fixed words and JSON of numbers, days and versions: none has a quote.
        let [set, state, stamp] = self.texts();
        let sql = format!("REPLACE INTO {table} (id, {COLUMNS}) VALUES (1, '{set}', '{state}', '{stamp}')");
        control.exec(&sql)?;
        Ok(())
    }

    fn texts(&self) -> [String; 3] {
        let content =
            |(table, content): &(Table, Content)| (table.name().to_owned(), (content.rows, content.crc_sum));
        let stored = Stored {
            version: STAMP_VERSION,
            generator_version: self.generator_version,
            numbers: self.set.numbers().map(|(_, number)| number),
            seed: self.seed.0,
            today: self.today.to_string(),
            via: self.via,
            tables: self.tables.iter().map(content).collect(),
            tool_version: self.tool_version.clone(),
            finished_at: self.finished_at,
        };
        let stored = serde_json::to_string(&stored).expect("numbers and texts are JSON");
        [self.set.name().to_owned(), self.state.to_string(), stored]
    }

    /// What the values of [`COLUMNS`] say; `None` where another version wrote them.
    fn of(texts: &[&str]) -> Option<Self> {
        let [set, state, stored] = texts else { return None };
        let stored: Stored = serde_json::from_str(stored).ok()?;
        if stored.version != STAMP_VERSION {
            return None;
        }
        let content = |(name, (rows, crc_sum)): (String, (u64, u64))| {
            Some((Table::named(set, &name)?, Content { rows, crc_sum }))
        };
        let mut tables: Vec<_> = stored.tables.into_iter().map(content).collect::<Option<_>>()?;
        tables.sort_by_key(|(table, _)| *table);
        Some(Self {
            state: state.parse().ok()?,
            generator_version: stored.generator_version,
            set: DataSet::of_stamp(set, stored.numbers)?,
            seed: Seed(stored.seed),
            today: stored.today.parse().ok()?,
            via: stored.via,
            tables,
            tool_version: stored.tool_version,
            finished_at: stored.finished_at,
        })
    }
}

const COLUMNS: &str = "data_set, state, stamp";

const DEFINITION: &str = "(id int NOT NULL PRIMARY KEY, data_set varchar(16) NOT NULL, \
     state varchar(16) NOT NULL, stamp text NOT NULL)";

/// What a stamp says besides data set and state, as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    generator_version: u32,
    numbers: [u64; 2],
    seed: u64,
    today: String,
    via: Via,
    /// Rows and checksum of each table.
    tables: BTreeMap<String, (u64, u64)>,
    tool_version: String,
    finished_at: u64,
}

pub(super) fn database_of(control: &Control) -> String {
    control.target().database.clone().unwrap_or_default()
}

impl fmt::Display for Stamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { set, seed, today, via, .. } = self;
        let (rows, checksum) = (self.rows(), self.checksum());
        write!(formatter, "{set}, seed {}, {today}, via {via}: {rows} rows, checksum {checksum:016x}", seed.0)
    }
}

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

#[cfg(test)]
mod tests {
    use super::super::dvdstore;
    use super::super::tpcw::{self, Scale};
    use super::*;

    fn stamp() -> Stamp {
        let set = Scale::new(2, 1_000).unwrap().into();
        let spec = DataSpec { set, seed: Seed(u64::MAX), today: None, via: Via::Load, threads: 1 };
        let content = |rows| Content { rows, crc_sum: 7 };
        let tables = [(tpcw::Table::Author, 25), (tpcw::Table::Address, 92)]
            .map(|(table, rows)| (Table::from(table), content(rows)));
        let mut stamp = Stamp::building(&spec, Date::new(2026, 1, 15)).finished(tables.to_vec());
        stamp.tables.sort_by_key(|(table, _)| *table);
        stamp
    }

    fn read(texts: &[String; 3]) -> Option<Stamp> {
        Stamp::of(&texts.each_ref().map(String::as_str))
    }

    #[test]
    fn a_stamp_is_read_back_as_it_was_written() {
        let stamp = stamp();
        let set = dvdstore::Size::new(50).unwrap().into();
        for stamp in [stamp.clone(), Stamp { set, tables: Vec::new(), ..stamp }] {
            assert_eq!(read(&stamp.texts()), Some(stamp));
        }
    }

    #[test]
    fn a_stamp_of_another_version_is_not_read_and_none_has_a_quote() {
        let [set, state, stamp] = stamp().texts();
        assert!(![&set, &state, &stamp].iter().any(|text| text.contains(['\'', '\\'])));
        let other = stamp.replace("\"version\":1", "\"version\":9");
        assert!(other != stamp && read(&[set.clone(), state.clone(), other]).is_none());
        assert!(read(&["tpcx".to_owned(), state, stamp.clone()]).is_none());
        assert!(read(&[set, "gone".to_owned(), stamp]).is_none());
    }
}
