//! The column of a field.

use evenkeel_wire::record::{Blank, Field, Kind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub width: usize,
    pub kind: Kind,
    /// As `VARCHAR(15)`.
    pub column_type: String,
    /// Whether it may be NULL: where a blank field is.
    pub null: bool,
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
        self.column_type.starts_with("VARCHAR") || self.column_type.ends_with("TEXT")
    }
}

fn column_type(field: &Field) -> String {
    match (field.kind, field.width) {
        // No number and no instant is an empty text.
        (Kind::Text, width) => text(width),
        (Kind::Scaled(scale), width) if field.blank == Blank::Empty => text(width + scale as usize + 2),
        (_, width) if field.blank == Blank::Empty => text(width),
        (Kind::Integer, 1..=2) => "TINYINT".to_owned(),
        (Kind::Integer, 3..=4) => "SMALLINT".to_owned(),
        (Kind::Integer, 5..=6) => "MEDIUMINT".to_owned(),
        (Kind::Integer, 7..=9) => "INT".to_owned(),
        (Kind::Integer, 10..=18) => "BIGINT".to_owned(),
        (Kind::Integer, width) if width <= DIGITS.0 => format!("DECIMAL({width},0)"),
        (Kind::Integer, width) => text(width),
        (Kind::Decimal, width) => decimal(width),
        (Kind::Scaled(scale), width) if width <= DIGITS.0 => {
            format!("DECIMAL({},{scale})", width.max(scale as usize))
        }
        (Kind::Scaled(_), width) => text(width + 1),
        (Kind::Time, width) if width < INSTANT => "DATE".to_owned(),
        (Kind::Time, _) => "DATETIME".to_owned(),
    }
}

fn text(width: usize) -> String {
    match width {
        width if width <= VARCHAR => format!("VARCHAR({width})"),
        width if width <= TEXT => "TEXT".to_owned(),
        _ => "MEDIUMTEXT".to_owned(),
    }
}

/// The point may stand anywhere, so that as many digits can be behind it as before it.
fn decimal(width: usize) -> String {
    let behind = (width - 1).min(DIGITS.1);
    match width + behind {
        digits if digits <= DIGITS.0 => format!("DECIMAL({digits},{behind})"),
        _ => text(width),
    }
}
