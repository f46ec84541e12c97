//! The stamp: a small table that says what a database holds and how it came there.

use super::content::{Content, checksum};
use super::error::DataError;
use super::set::{DataSet, Table};
use super::spec::{DataSpec, Via};
use super::tpcw::Date;
use evenkeel_core::random::Seed;
use evenkeel_os::clock;
use evenkeel_site::server::Control;
use serde_json::{Map, Value, json};
use std::fmt;
use std::str::FromStr;

/// Version of the stamp's own layout.
const STAMP_VERSION: u32 = 1;

/// How far a data set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Being made, or left half finished.
    Building,
    /// As its seed says.
    Ready,
    /// Complete, then changed by a write run.
    Written,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Ready => "ready",
            Self::Written => "written",
        }
    }
}

/// What a database holds: one row of the table [`Stamp::TABLE`]. Its columns `ebs` and `items` hold
/// [`DataSet::numbers`], under the names that they had when TPC-W was the only data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// How far it is.
    pub state: State,
    /// Version of the value rules.
    pub generator_version: u32,
    /// Which data set, and how big.
    pub set: DataSet,
    /// Randomness of the rows.
    pub seed: Seed,
    /// Day of the population.
    pub today: Date,
    /// How the rows came in.
    pub via: Via,
    /// Content of each table as generated; empty while building.
    pub tables: Vec<(Table, Content)>,
    /// Version of the tool that made it.
    pub tool_version: String,
    /// Seconds since 1970 at the end of the work; zero while building.
    pub finished_at: u64,
}

impl Stamp {
    /// Name of the table.
    pub const TABLE: &str = "evenkeel_stamp";

    /// Reads the stamp of the connection's default database; `None` where there is none.
    pub fn read(control: &mut Control) -> Result<Option<Self>, DataError> {
        let database = control.query_value("SELECT DATABASE()")?.unwrap_or_default();
        let exists = control.query_value(&format!(
            "SELECT 1 FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name = '{}'",
            Self::TABLE
        ))?;
        if exists.is_none() {
            return Ok(None);
        }
        let answer = control.query(&format!("SELECT {COLUMNS} FROM {} WHERE id = 1", Self::TABLE))?;
        let Some(row) = answer.rows.into_iter().next() else { return Ok(None) };
        Fields { database, row }.stamp().map(Some)
    }

    /// Notes that the rows are no longer those of the seed; called before a run that writes. Without a
    /// stamp there is nothing to note.
    pub fn mark_written(control: &mut Control) -> Result<(), DataError> {
        if Self::read(control)?.is_some() {
            control.exec(&format!("UPDATE {} SET state = '{}'", Self::TABLE, State::Written.name()))?;
        }
        Ok(())
    }

    /// Rows of all tables.
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

    /// The same data set, finished now.
    pub(super) fn finished(self, tables: Vec<(Table, Content)>) -> Self {
        Self { state: State::Ready, tables, finished_at: clock::unix_time().as_secs(), ..self }
    }

    /// Writes it to a table of this name, making the table where it is missing.
    pub(super) fn write(&self, control: &mut Control, table: &str) -> Result<(), DataError> {
        control.exec(&format!("CREATE TABLE IF NOT EXISTS `{table}` {DEFINITION}"))?;
        control.exec(&format!("REPLACE INTO `{table}` (id,{COLUMNS}) VALUES (1,{})", self.values()))?;
        Ok(())
    }

    /// The values of [`COLUMNS`]; numbers, fixed words, a version and JSON, none with a single quote.
    fn values(&self) -> String {
        let [(_, first), (_, second)] = self.set.numbers();
        format!(
            "{STAMP_VERSION},'{}','{}',{},{},{},{},'{}','{}','{}','{:016x}','{}',{}",
            self.set.name(),
            self.state.name(),
            self.generator_version,
            first,
            second,
            self.seed.0,
            self.today,
            self.via,
            tables_to_json(&self.tables),
            self.checksum(),
            self.tool_version,
            self.finished_at
        )
    }
}

const COLUMNS: &str = "stamp_version,data_set,state,generator_version,ebs,items,seed,today,via,tables,\
     checksum,tool_version,finished_at";

const DEFINITION: &str = "(id int NOT NULL PRIMARY KEY, stamp_version int NOT NULL, \
     data_set varchar(16) NOT NULL, state varchar(16) NOT NULL, generator_version int NOT NULL, \
     ebs int NOT NULL, items int NOT NULL, seed bigint unsigned NOT NULL, today date NOT NULL, \
     via varchar(16) NOT NULL, tables text NOT NULL, checksum char(16) NOT NULL, \
     tool_version varchar(32) NOT NULL, finished_at bigint NOT NULL)";

fn tables_to_json(tables: &[(Table, Content)]) -> Value {
    let entry = |(table, content): &(Table, Content)| {
        (table.name().to_owned(), json!({"rows": content.rows, "crc_sum": content.crc_sum}))
    };
    Value::Object(tables.iter().map(entry).collect::<Map<_, _>>())
}

/// The tables in the order of [`Table`], whatever the order in the text.
fn tables_from_json(set: &str, text: &str) -> Option<Vec<(Table, Content)>> {
    let Value::Object(entries) = serde_json::from_str(text).ok()? else { return None };
    let mut tables = Vec::new();
    for (name, entry) in &entries {
        let number = |key: &str| entry.get(key).and_then(Value::as_u64);
        let content = Content { rows: number("rows")?, crc_sum: number("crc_sum")? };
        tables.push((Table::named(set, name)?, content));
    }
    tables.sort_by_key(|(table, _)| *table);
    Some(tables)
}

/// A row of the stamp table as text.
struct Fields {
    database: String,
    row: Vec<Option<String>>,
}

impl Fields {
    fn stamp(&self) -> Result<Stamp, DataError> {
        // A later layout may mean anything by the other columns.
        self.read("stamp_version", |text| (text == STAMP_VERSION.to_string()).then_some(()))?;
        let name =
            self.read("data_set", |text| DataSet::NAMES.iter().find(|name| **name == text).copied())?;
        let first = self.number("ebs")?;
        Ok(Stamp {
            state: self.read("state", |text| {
                [State::Building, State::Ready, State::Written].into_iter().find(|state| state.name() == text)
            })?,
            generator_version: self.number("generator_version")?,
            set: self.read("items", |text| DataSet::of_stamp(name, [first, text.parse().ok()?]))?,
            seed: Seed(self.number("seed")?),
            today: self.number("today")?,
            via: self.number("via")?,
            tables: self.read("tables", |text| tables_from_json(name, text))?,
            tool_version: self.read("tool_version", |text| Some(text.to_owned()))?,
            finished_at: self.number("finished_at")?,
        })
    }

    fn number<T: FromStr>(&self, column: &'static str) -> Result<T, DataError> {
        self.read(column, |text| text.parse().ok())
    }

    fn read<T>(&self, column: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<T, DataError> {
        let index = COLUMNS.split(',').position(|name| name == column);
        let value = index.and_then(|index| self.row.get(index)).cloned().flatten().unwrap_or_default();
        parse(&value).ok_or_else(|| DataError::Stamp { database: self.database.clone(), column, value })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { set, seed, today, via, .. } = self;
        let (rows, checksum) = (self.rows(), self.checksum());
        write!(formatter, "{set}, seed {}, {today}, via {via}: {rows} rows, checksum {checksum:016x}", seed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::dvdstore;
    use super::super::tpcw::{self, Scale};
    use super::*;

    fn stamp() -> Stamp {
        let set = Scale::new(2, 1_000).unwrap().into();
        let spec = DataSpec { set, seed: Seed(u64::MAX), today: None, via: Via::Load, threads: 1 };
        let content = Content { rows: 92, crc_sum: 7 };
        Stamp::building(&spec, Date::new(2026, 1, 15)).finished(vec![(tpcw::Table::Country.into(), content)])
    }

    /// The row that the server would give back for [`Stamp::values`].
    fn row(stamp: &Stamp) -> Vec<Option<String>> {
        let json = tables_to_json(&stamp.tables).to_string();
        let values = stamp.values().replace(&json, "JSON");
        values.split(',').map(|value| Some(value.trim_matches('\'').replace("JSON", &json))).collect()
    }

    #[test]
    fn a_stamp_is_read_back_as_it_was_written() {
        let stamp = stamp();
        let fields = Fields { database: "tpcw".to_owned(), row: row(&stamp) };
        assert_eq!(fields.stamp().unwrap(), stamp);
        let set = dvdstore::Size::new(50).unwrap().into();
        let stamp = Stamp { set, tables: Vec::new(), ..stamp };
        let fields = Fields { database: "ds2".to_owned(), row: row(&stamp) };
        assert_eq!(fields.stamp().unwrap(), stamp);
    }

    #[test]
    fn a_data_set_that_this_version_does_not_know_is_refused_by_name() {
        let mut row = row(&stamp());
        row[1] = Some("tpcx".to_owned());
        let error = Fields { database: "shop".to_owned(), row }.stamp().unwrap_err().to_string();
        assert!(error.contains("shop has data_set = \"tpcx\""), "{error}");
    }

    #[test]
    fn a_stamp_of_another_layout_is_refused_by_name_and_value() {
        let mut row = row(&stamp());
        row[0] = Some("2".to_owned());
        let error = Fields { database: "shop".to_owned(), row }.stamp().unwrap_err().to_string();
        assert!(error.contains("shop has stamp_version = \"2\""), "{error}");
    }

    #[test]
    fn no_value_of_a_stamp_holds_a_quote() {
        assert_eq!(stamp().values().matches('\'').count() % 2, 0);
        assert!(!tables_to_json(&stamp().tables).to_string().contains('\''));
    }
}
