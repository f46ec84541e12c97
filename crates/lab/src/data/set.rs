//! The data sets that there are, and what every one of them has: tables, sizes, rows.

use super::schema::Definition;
use super::tpcw::{Date, Scale};
use super::{dvdstore, tpcw};
use evenkeel_core::random::Seed;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSet {
    Tpcw(Scale),
    DvdStore(dvdstore::Size),
}

impl From<Scale> for DataSet {
    fn from(scale: Scale) -> Self {
        Self::Tpcw(scale)
    }
}

impl From<dvdstore::Size> for DataSet {
    fn from(size: dvdstore::Size) -> Self {
        Self::DvdStore(size)
    }
}

impl DataSet {
    /// Its name in stamps, and that of its database where nobody names one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpcw(_) => "tpcw",
            Self::DvdStore(_) => dvdstore::NAME,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Tpcw(_) => "TPC-W",
            Self::DvdStore(_) => "DVD Store",
        }
    }

    /// Version of its value rules; another version has other rows for the same seed.
    pub fn generator_version(self) -> u32 {
        match self {
            Self::Tpcw(_) => tpcw::GENERATOR_VERSION,
            Self::DvdStore(_) => dvdstore::GENERATOR_VERSION,
        }
    }

    /// Its tables in the order of [`Table`].
    pub fn tables(self) -> Vec<Table> {
        Table::of(self.name())
    }

    /// Those of them that have rows.
    pub(super) fn filled(self) -> Vec<Table> {
        self.tables().into_iter().filter(|table| self.rows_expected(*table) > 0).collect()
    }

    pub(super) fn orders(self) -> Table {
        match self {
            Self::Tpcw(_) => Table::Tpcw(tpcw::Table::Orders),
            Self::DvdStore(_) => Table::DvdStore(dvdstore::Table::Orders),
        }
    }

    /// Rows of a table, for an estimate of the work; lines of orders at their mean.
    pub fn rows_expected(self, table: Table) -> u64 {
        match (self, table) {
            (Self::Tpcw(scale), Table::Tpcw(table)) => scale.rows_expected(table),
            (Self::DvdStore(size), Table::DvdStore(table)) => size.rows_expected(table),
            _ => 0,
        }
    }

    /// The two numbers that say how big it is, with their names: what a stamp keeps.
    pub fn numbers(self) -> [(&'static str, u64); 2] {
        match self {
            Self::Tpcw(scale) => [("NUM_EBS", scale.ebs().into()), ("NUM_ITEMS", scale.items())],
            Self::DvdStore(size) => [("megabytes", size.megabytes().into()), ("products", size.products())],
        }
    }

    /// The data set of this name and these numbers; `None` for a name or size that this version does not know.
    pub(super) fn of_stamp(name: &str, numbers: [u64; 2]) -> Option<Self> {
        let first = u32::try_from(numbers[0]).ok()?;
        let set: Self = match name {
            "tpcw" => Scale::new(first, u32::try_from(numbers[1]).ok()?).ok()?.into(),
            dvdstore::NAME => dvdstore::Size::new(first).ok()?.into(),
            _ => return None,
        };
        (set.numbers()[1].1 == numbers[1]).then_some(set)
    }

    pub fn generator(self, seed: Seed, today: Date) -> Generator {
        match self {
            Self::Tpcw(scale) => Generator::Tpcw(tpcw::Generator::new(scale, seed, today)),
            Self::DvdStore(size) => Generator::DvdStore(dvdstore::Generator::new(size, seed, today)),
        }
    }
}

impl fmt::Display for DataSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tpcw(scale) => write!(formatter, "TPC-W, NUM_EBS {}, {} items", scale.ebs(), scale.items()),
            Self::DvdStore(size) => write!(
                formatter,
                "DVD Store, size {size}, {} customers, {} products",
                size.customers(),
                size.products()
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Tpcw(tpcw::Table),
    DvdStore(dvdstore::Table),
}

impl From<tpcw::Table> for Table {
    fn from(table: tpcw::Table) -> Self {
        Self::Tpcw(table)
    }
}

impl From<dvdstore::Table> for Table {
    fn from(table: dvdstore::Table) -> Self {
        Self::DvdStore(table)
    }
}

impl Table {
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    pub fn definition(self) -> &'static Definition {
        match self {
            Self::Tpcw(table) => table.definition(),
            Self::DvdStore(table) => table.definition(),
        }
    }

    /// Whether its rows stand for lines of orders.
    pub(super) fn has_lines(self) -> bool {
        use dvdstore::Table::{CustHist, OrderLines};
        matches!(self, Self::Tpcw(tpcw::Table::OrderLine) | Self::DvdStore(OrderLines | CustHist))
    }

    /// All tables of the data set of this name.
    fn of(set: &str) -> Vec<Self> {
        match set {
            dvdstore::NAME => dvdstore::Table::ALL.map(Self::DvdStore).to_vec(),
            _ => tpcw::Table::ALL.map(Self::Tpcw).to_vec(),
        }
    }

    /// The table of this name in the data set of that name; a server may keep names in small letters.
    pub fn named(set: &str, name: &str) -> Option<Self> {
        Self::of(set).into_iter().find(|table| table.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[derive(Clone, Debug)]
pub enum Generator {
    Tpcw(tpcw::Generator),
    DvdStore(dvdstore::Generator),
}

impl Generator {
    /// Appends a row to `out`, fields between tabs, no line end: row `number`, or where `line` is not zero
    /// that line of order `number`.
    pub fn write(&self, table: Table, number: u64, line: u64, out: &mut Vec<u8>) {
        match (self, table) {
            (Self::Tpcw(rows), Table::Tpcw(table)) => rows.write(table, number, line, out),
            (Self::DvdStore(rows), Table::DvdStore(table)) => rows.write(table, number, line, out),
            // A generator is asked for the tables of its own set alone.
            _ => {}
        }
    }

    pub fn lines(&self, order: u64) -> u64 {
        match self {
            Self::Tpcw(rows) => rows.lines(order),
            Self::DvdStore(rows) => rows.lines(order),
        }
    }
}

/// The key of a row: a number, or an order and a line; the line is zero where the key is one number.
pub(super) type Key = (u64, u64);

impl Generator {
    /// The keys of all rows in the order of the primary key. First lines of all TPC-W orders come before second ones; all lines of a
    /// DVD Store order come before those of the next.
    pub(super) fn keys(&self, table: Table) -> Box<dyn Iterator<Item = Key>> {
        let set: DataSet = match self {
            Self::Tpcw(rows) => rows.scale().into(),
            Self::DvdStore(rows) => rows.size().into(),
        };
        if !table.has_lines() {
            return Box::new((1..=set.rows_expected(table)).map(|number| (number, 0)));
        }
        let (orders, generator) = (1..=set.rows_expected(set.orders()), self.clone());
        match set {
            DataSet::Tpcw(_) => Box::new((1..=tpcw::LINES_MAX).flat_map(move |line| {
                let generator = generator.clone();
                let has_it = move |order: &u64| line == 1 || line <= generator.lines(*order);
                orders.clone().filter(has_it).map(move |order| (order, line))
            })),
            DataSet::DvdStore(_) => Box::new(
                orders.flat_map(move |order| (1..=generator.lines(order)).map(move |line| (order, line))),
            ),
        }
    }
}
