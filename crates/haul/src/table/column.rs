//! The column of a field.

use evenkeel_wire::record::{Blank, Field, Kind};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub width: usize,
    pub kind: Kind,
    pub column_type: ColumnType,
    /// Whether it may be NULL: where a blank field is.
    pub null: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    VarChar(usize),
    Text,
    /// The same above 65,535 bytes.
    MediumText,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal(usize, usize),
    Date,
    DateTime,
}

const VARCHAR: usize = 1000;
const TEXT: usize = 65_535;
/// Digits of a DECIMAL at most, and those behind the point.
const DIGITS: (usize, usize) = (65, 30);
/// Bytes of an instant; a day has eight.
const INSTANT: usize = 14;

impl Column {
    /// Of a field: wide enough for all that it can hold.
    pub(super) fn of(field: &Field) -> Self {
        let (name, width, kind) = (field.name.clone(), field.width, field.kind);
        Self { name, width, kind, column_type: column_type(field), null: field.blank == Blank::Null }
    }

    /// Whether it stores text, which has a character set.
    pub fn is_text(&self) -> bool {
        matches!(self.column_type, ColumnType::VarChar(_) | ColumnType::Text | ColumnType::MediumText)
    }
}

fn column_type(field: &Field) -> ColumnType {
    match (field.kind, field.width) {
        // No number and no instant is an empty text.
        (Kind::Text, width) => text(width),
        (Kind::Scaled(scale), width) if field.blank == Blank::Empty => text(width + scale as usize + 2),
        (_, width) if field.blank == Blank::Empty => text(width),
        (Kind::Integer, 1..=2) => ColumnType::TinyInt,
        (Kind::Integer, 3..=4) => ColumnType::SmallInt,
        (Kind::Integer, 5..=6) => ColumnType::MediumInt,
        (Kind::Integer, 7..=9) => ColumnType::Int,
        (Kind::Integer, 10..=18) => ColumnType::BigInt,
        (Kind::Integer, width) if width <= DIGITS.0 => ColumnType::Decimal(width, 0),
        (Kind::Integer, width) => text(width),
        (Kind::Decimal, width) => decimal(width),
        (Kind::Scaled(scale), width) if width <= DIGITS.0 => {
            ColumnType::Decimal(width.max(scale as usize), scale as usize)
        }
        (Kind::Scaled(_), width) => text(width + 1),
        (Kind::Time, width) if width < INSTANT => ColumnType::Date,
        (Kind::Time, _) => ColumnType::DateTime,
    }
}

fn text(width: usize) -> ColumnType {
    match width {
        width if width <= VARCHAR => ColumnType::VarChar(width),
        width if width <= TEXT => ColumnType::Text,
        _ => ColumnType::MediumText,
    }
}

/// The point may stand anywhere, so that as many digits can be behind it as before it.
fn decimal(width: usize) -> ColumnType {
    let behind = (width - 1).min(DIGITS.1);
    match width + behind {
        digits if digits <= DIGITS.0 => ColumnType::Decimal(digits, behind),
        _ => text(width),
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VarChar(width) => write!(f, "VARCHAR({width})"),
            Self::Text => f.write_str("TEXT"),
            Self::MediumText => f.write_str("MEDIUMTEXT"),
            Self::TinyInt => f.write_str("TINYINT"),
            Self::SmallInt => f.write_str("SMALLINT"),
            Self::MediumInt => f.write_str("MEDIUMINT"),
            Self::Int => f.write_str("INT"),
            Self::BigInt => f.write_str("BIGINT"),
            Self::Decimal(digits, behind) => write!(f, "DECIMAL({digits},{behind})"),
            Self::Date => f.write_str("DATE"),
            Self::DateTime => f.write_str("DATETIME"),
        }
    }
}
