//! What stands in a column, and what cannot be told of it.

use super::columns::Column;
use evenkeel_wire::record::{Blank, Check, Field, Kind, RecordType, Trim};
use std::collections::{BTreeMap, HashSet};

/// Digits side by side that may well be several fields.
const MANY: usize = 8;
/// Records of which each has a value of its own: as many as no chance gives.
const DISTINCT: usize = 100;

/// The fields of a type; says what is in doubt.
pub(super) fn record_type(
    records: &[&[u8]],
    columns: &[Column],
    doubts: &mut Vec<(usize, String)>,
) -> RecordType {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut fields = Vec::new();
    for column in columns {
        let values = Values::of(records, column);
        let word = values.word(column);
        let number = numbers.entry(word).or_default();
        *number += 1;
        let field = Field {
            name: format!("{word}{number}"),
            start: column.start,
            width: column.width,
            most: column.width,
            kind: values.kind(column),
            trim: Trim::Both,
            blank: if word == "text" || word == "filler" { Blank::Empty } else { Blank::Null },
            check: Check::None,
            pattern: None,
            kept: word != "filler",
        };
        doubts.extend(values.doubts(column, &field.name).into_iter().map(|what| (column.start, what)));
        fields.push(field);
    }
    RecordType { name: "records".to_owned(), is: Vec::new(), fields, key: Vec::new() }
}

/// The values of a column.
struct Values<'a> {
    /// Without their padding; those that are not blank.
    there: Vec<&'a [u8]>,
    all: usize,
    /// Whether some have blanks before them.
    is_right: bool,
}

impl<'a> Values<'a> {
    fn of(records: &[&'a [u8]], column: &Column) -> Self {
        let raw = records.iter().map(|record| &record[column.start..column.end()]);
        let there: Vec<&[u8]> =
            raw.clone().map(|value| value.trim_ascii()).filter(|value| !value.is_empty()).collect();
        let is_right = raw.clone().any(|value| value.starts_with(b" ") && !value.ends_with(b" "));
        Self { there, all: records.len(), is_right }
    }

    /// Values that are not as they should be; few of them are dirt.
    fn others(&self, fits: impl Fn(&[u8]) -> bool) -> usize {
        self.there.iter().filter(|value| !fits(value)).count()
    }

    fn are(&self, fits: impl Fn(&[u8]) -> bool) -> bool {
        !self.there.is_empty() && self.others(fits) * 500 <= self.there.len()
    }

    fn kind(&self, column: &Column) -> Kind {
        match () {
            () if column.is_time => Kind::Time,
            // A number that begins with a zero is a code, and one that stands to the left is one, as a rule.
            () if self.is_right && self.are(is_integer) => Kind::Integer,
            () if self.are(is_decimal) && self.there.iter().any(|value| value.contains(&b'.')) => {
                Kind::Decimal
            }
            () => Kind::Text,
        }
    }

    fn word(&self, column: &Column) -> &'static str {
        match self.kind(column) {
            _ if self.there.is_empty() => "filler",
            Kind::Time => "time",
            Kind::Integer => "integer",
            Kind::Decimal | Kind::Scaled(_) => "decimal",
            Kind::Text => "text",
        }
    }

    fn doubts(&self, column: &Column, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        if self.there.is_empty() {
            found.push(format!("{name} is blank in all {} records, and is left out", self.all));
            return found;
        }
        if column.by_spread {
            found.push(format!(
                "{name} begins where digits change less: nothing else parts it from the digits before"
            ));
        }
        if column.by_blanks {
            found.push(format!("blanks before {name} may belong to the field before it"));
        }
        let is_full = self.there.iter().all(|value| value.len() == column.width && is_digits(value));
        if !column.is_time && is_full && column.width >= MANY {
            found.push(format!(
                "{name} has {} digits and never a blank: two fields side by side cannot be told apart",
                column.width
            ));
        }
        let odd = match self.kind(column) {
            Kind::Integer => self.others(is_integer),
            Kind::Decimal | Kind::Scaled(_) => self.others(is_decimal),
            Kind::Time => self.others(evenkeel_wire::record::is_time),
            Kind::Text => 0,
        };
        if odd > 0 {
            found.push(format!(
                "{odd} of {} values of {name} are something else, and their records will be refused",
                self.there.len()
            ));
        }
        if self.is_distinct() {
            found.push(format!("{name} is another one in each record: key = [\"{name}\"] would have records refused that come twice"));
        }
        found
    }

    /// Whether each record has a number of its own.
    fn is_distinct(&self) -> bool {
        let mut seen = HashSet::new();
        self.all >= DISTINCT
            && self.there.len() == self.all
            && self.is_right
            && self.there.iter().all(|value| seen.insert(*value))
    }
}

fn is_digits(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

fn is_integer(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").or_else(|| value.strip_prefix(b"+")).unwrap_or(value);
    is_digits(digits) && (digits.len() == 1 || !digits.starts_with(b"0"))
}

fn is_decimal(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").or_else(|| value.strip_prefix(b"+")).unwrap_or(value);
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    points <= 1 && digits.len() > points && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}
