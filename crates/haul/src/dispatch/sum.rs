//! Sums over the rows of a table.

use super::{DispatchError, Shape};
use crate::table::quoted;
use evenkeel_site::server::Control;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: u64,
    pub checksum: u128,
}

impl Sum {
    pub fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, checksum: self.checksum + other.checksum }
    }
}

/// The SHA-256 of a row's values, as an expression: rows with the same one have the same values, as good as surely. NULL is no value, and
/// the borders of values count. A FLOAT is read as a DOUBLE, since its own text has six digits and more values than one. `CHECKSUM TABLE`
/// would not do: of tables with generated columns MariaDB 10.11 tells another sum each time.
fn hash(shape: &Shape) -> String {
    let is_float =
        |name: &String| shape.columns.iter().any(|(other, kind)| other == name && kind.starts_with("float"));
    let part = |name: &String| {
        let more = if is_float(name) { " + 0e0" } else { "" };
        let name = quoted(name);
        // A value that is too large for this is NULL here, and so is its row then: it must not pass for one that is none.
        format!("IF({name} IS NULL, 'N', CONCAT(LENGTH({name}{more}), ':', CAST({name}{more} AS BINARY)))")
    };
    format!("SHA2(CONCAT({}), 256)", shape.given.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// Adds the rows of a table up: by the first 64 bits of their hashes, which does not depend on the order and counts doubles.
pub(super) fn sum(control: &mut Control, shape: &Shape, table: &str) -> Result<Sum, DispatchError> {
    let hash = hash(shape);
    let rows = control.query(&format!(
        "SELECT COUNT(*), COALESCE(SUM(CAST(CONV(LEFT({hash}, 16), 16, 10) AS UNSIGNED)), 0), \
         COALESCE(SUM({hash} IS NULL), 0) FROM {}",
        quoted(table)
    ))?;
    let text = |place: usize| rows.rows.first().and_then(|row| row[place].clone()).unwrap_or_default();
    match (text(0).parse(), text(1).parse(), text(2).as_str()) {
        (Ok(count), Ok(checksum), "0") => Ok(Sum { count, checksum }),
        _ => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: "has records that are too large to be compared".to_owned(),
            hint: "raise max_allowed_packet at the server",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Create;

    #[test]
    fn a_float_is_hashed_by_all_of_its_digits_and_what_the_server_computes_is_not_hashed() {
        let kinds = [("f", "float"), ("d", "double"), ("g", "int(11)")];
        let shape = Shape {
            table: "t".to_owned(),
            columns: kinds.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
            given: ["f", "d"].map(str::to_owned).to_vec(),
            create: Create::parse("CREATE TABLE `t` (\n  `f` float\n) ENGINE=InnoDB").unwrap(),
        };
        let sql = hash(&shape);
        assert!(sql.contains("CAST(`f` + 0e0 AS BINARY)") && sql.contains("CAST(`d` AS BINARY)"), "{sql}");
        assert!(!sql.contains("`g`"), "{sql}");
    }
}
