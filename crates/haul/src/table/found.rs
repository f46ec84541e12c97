//! A table that is there already, held against a layout.

use super::{Column, Engine, Table, literal};
use crate::layout::LayoutFile;
use crate::{HaulError, Refused, refused};
use evenkeel_site::server::{Control, Flavor, TargetError};
use evenkeel_wire::record::{Charset, Field, Kind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    /// `BASE TABLE`, `VIEW` and the like.
    pub kind: String,
    /// Its engine, as the server writes it.
    pub engine: String,
    pub columns: Vec<FoundColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundColumn {
    pub name: String,
    /// Its type without sizes, as `varchar`.
    pub data_type: String,
    /// Its type as a whole, as `varchar(15)`.
    pub full_type: String,
    /// Characters at most; `None` where it stores no text.
    pub characters: Option<u64>,
    /// Digits of a number, those behind the point among them, and those alone.
    pub digits: Option<(u64, u64)>,
    /// Character set of a text.
    pub charset: Option<String>,
    pub null: bool,
    /// Whether a row that says nothing of it is complete.
    pub fills_itself: bool,
    /// Computed of other columns.
    pub is_generated: bool,
}

const COLUMNS: &str = "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, \
     CHARACTER_SET_NAME, IS_NULLABLE, COLUMN_DEFAULT, EXTRA FROM information_schema.COLUMNS \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ";

impl Found {
    /// Reads a table of the connection's database; `None` where there is none of that name.
    pub fn read(control: &mut Control, name: &str) -> Result<Option<Self>, TargetError> {
        let named = literal(name.as_bytes());
        let tables = control.query(&format!(
            "SELECT TABLE_TYPE, COALESCE(ENGINE, '') FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = CONVERT({named} USING utf8)"
        ))?;
        let Some([Some(kind), Some(engine)]) = tables.rows.first().map(Vec::as_slice) else {
            return Ok(None);
        };
        let columns =
            control.query(&format!("{COLUMNS}CONVERT({named} USING utf8) ORDER BY ORDINAL_POSITION"))?;
        let columns = columns.rows.iter().filter_map(|row| FoundColumn::of(row)).collect();
        Ok(Some(Self { name: name.to_owned(), kind: kind.clone(), engine: engine.clone(), columns }))
    }

    /// Whether it takes all that the fields of a table's layout can hold; its engine.
    pub fn check(&self, table: &Table) -> Result<Engine, Refused> {
        let (name, kind) = (&self.name, &self.kind);
        let other = |what: String| refused(what, "name another table by --table");
        if kind != "BASE TABLE" {
            return Err(other(format!("rows cannot be loaded into {name}: its type is {kind}")));
        }
        let unknown = || {
            let engine = &self.engine;
            other(format!("table {name} has engine {engine}; rows are loaded into InnoDB, MyISAM and Aria"))
        };
        let engine = Engine::of(&self.engine).ok_or_else(unknown)?;
        let unfit = |what: String| {
            refused(
                what,
                "alter the table, correct the layout, or name another table by --table; --print-table shows one that fits",
            )
        };
        for column in &table.columns {
            let is = |found: &&FoundColumn| found.name.eq_ignore_ascii_case(&column.name);
            let (field, width) = (&column.name, column.width);
            let missing =
                || unfit(format!("table {name} has no column `{field}` for the field of that name"));
            let found = self.columns.iter().find(is).ok_or_else(missing)?;
            found.check(column, table.charset).map_err(|problem| {
                let column = &found.full_type;
                unfit(format!(
                    "field {field} has {width} bytes, and column {name}.{field} is {column}: {problem}"
                ))
            })?;
        }
        let filled = |found: &FoundColumn| {
            found.fills_itself
                || table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&found.name))
        };
        match self.columns.iter().find(|found| !filled(found)) {
            None => Ok(engine),
            Some(found) => {
                Err(unfit(format!("column {name}.{} has no default, and no field has that name", found.name)))
            }
        }
    }
}

impl FoundColumn {
    fn of(row: &[Option<String>]) -> Option<Self> {
        let [name, data_type, full_type, characters, precision, scale, charset, null, default, extra] = row
        else {
            return None;
        };
        let number = |text: &Option<String>| text.as_ref()?.parse::<u64>().ok();
        let null = null.as_deref() == Some("YES");
        let extra = extra.clone().unwrap_or_default().to_lowercase();
        Some(Self {
            name: name.clone()?,
            data_type: data_type.clone()?.to_lowercase(),
            full_type: full_type.clone()?,
            characters: number(characters),
            digits: number(precision).map(|digits| (digits, number(scale).unwrap_or(0))),
            charset: charset.clone(),
            null,
            is_generated: extra.contains("generated") && !extra.contains("default_generated"),
            fills_itself: null
                || default.is_some()
                || extra.contains("auto_increment")
                || extra.contains("generated"),
        })
    }

    /// What of a field does not fit into it.
    fn check(&self, column: &Column, charset: Charset) -> Result<(), &'static str> {
        if self.is_generated {
            return Err("the server generates it: take `skip = true` for that field");
        }
        if column.null && !self.null {
            return Err("a blank field is NULL, which it does not take");
        }
        match (self.characters, column.kind) {
            (Some(characters), _) if characters < column.width as u64 => Err("it is too narrow"),
            (Some(_), Kind::Text) => self.takes(charset),
            (Some(_), _) => Ok(()),
            (None, Kind::Integer) => self.fits_integer(column.width),
            (None, Kind::Decimal) => self.fits_decimal(column.width as u64, None),
            (None, Kind::Scaled(scale)) => self.fits_decimal(column.width as u64, Some(u64::from(scale))),
            (None, Kind::Time) => match self.data_type.as_str() {
                "datetime" => Ok(()),
                "date" if column.width < 14 => Ok(()),
                "date" => Err("it has no place for the time of the day"),
                "timestamp" if column.width >= 14 => Ok(()),
                "timestamp" => Err("it is an instant, and a day is none"),
                "bigint" => Ok(()),
                _ => Err("it does not store times"),
            },
            (None, Kind::Text) => match self.data_type.as_str() {
                "binary" | "varbinary" | "blob" | "mediumblob" | "longblob" => Ok(()),
                _ => Err("it does not store text"),
            },
        }
    }

    fn takes(&self, charset: Charset) -> Result<(), &'static str> {
        match (charset, self.charset.as_deref().unwrap_or("binary")) {
            (_, "binary" | "utf8mb4") | (Charset::Ascii, _) => Ok(()),
            (Charset::Latin1, "ascii") => Err("its character set lacks letters of latin1"),
            (Charset::Latin1, _) => Ok(()),
            (Charset::Utf8, _) => Err("its character set lacks letters of utf8mb4"),
        }
    }

    /// Digits that every whole number may have that it stores.
    fn whole_digits(&self) -> Option<u64> {
        Some(match (self.data_type.as_str(), self.digits) {
            ("tinyint", _) => 2,
            ("smallint", _) => 4,
            ("mediumint", _) => 6,
            ("int", _) => 9,
            ("bigint", _) => 18,
            ("decimal", Some((digits, behind))) => digits.saturating_sub(behind),
            _ => return None,
        })
    }

    fn fits_integer(&self, width: usize) -> Result<(), &'static str> {
        match self.whole_digits() {
            Some(digits) if digits >= width as u64 => Ok(()),
            Some(_) => Err("a number of that many digits is too large for it"),
            None => Err("it does not store whole numbers exactly"),
        }
    }

    /// A point takes a byte of the field unless it has a scale. That numbers with more digits behind the point come is left to the load
    /// otherwise, which looks at the server's warnings.
    fn fits_decimal(&self, width: u64, scale: Option<u64>) -> Result<(), &'static str> {
        match (self.digits.filter(|_| self.data_type == "decimal"), scale) {
            (Some((digits, _)), None) if digits + 1 >= width => Ok(()),
            (Some((_, behind)), Some(scale)) if behind < scale => {
                Err("it has too few digits behind the point")
            }
            (Some((digits, behind)), Some(scale)) if digits + scale >= width + behind => Ok(()),
            (Some(_), _) => Err("a number of that many digits is too large for it"),
            (None, _) => Err("it does not store decimal numbers exactly"),
        }
    }
}

/// The layout for tables of its types that are there: what goes to a TIMESTAMP column is an instant in UTC, as the session is to be.
pub(crate) fn with_timestamps(
    control: &mut Control,
    file: &LayoutFile,
    tables: &[(usize, &str)],
) -> Result<LayoutFile, HaulError> {
    let mut file = file.clone();
    let version = control.version();
    let is_long = version.flavor == Flavor::MariaDb && version.numbers >= (11, 5, 0);
    let until = if is_long { *b"21060207062815" } else { *b"20380119031407" };
    control.exec("SET SESSION time_zone = '+00:00'")?;
    for (index, name) in tables {
        let Some(found) = Found::read(control, name)? else { continue };
        for column in found.columns.iter().filter(|column| column.data_type == "timestamp") {
            let is_it =
                |field: &&Field| field.kind == Kind::Time && field.name.eq_ignore_ascii_case(&column.name);
            let Some(field) =
                file.layout.types()[*index].fields.iter().find(is_it).map(|field| field.name.clone())
            else {
                continue;
            };
            let Some(zone) = &file.zone else {
                let what = format!(
                    "column {name}.{field} is a TIMESTAMP, so the layout has to name the time zone of the records"
                );
                return Err(refused(
                    what,
                    "add a line at the top of the layout: zone = \"UTC\", or the zone of the records' clock",
                )
                .into());
            };
            file.layout = file.layout.in_utc(*index, &field, zone, until);
        }
    }
    Ok(file)
}

/// A table's name as the server knows it: in small letters where it takes `Calls` and `calls` for one table. By this name the
/// manifest, the journal and their locks know it, so that no spelling makes a second table of it.
pub(crate) fn folded(control: &mut Control, name: &str) -> Result<String, TargetError> {
    let found = control.query_value("SELECT @@lower_case_table_names")?;
    Ok(match found.as_deref() {
        None | Some("0") => name.to_owned(),
        Some(_) => name.to_lowercase(),
    })
}
