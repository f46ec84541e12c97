//! A number for each row, by which rows are held against each other where they lie.

/// The expression for the SHA-256 of a row's values: rows with the same one have the same values, as good as surely. NULL is no value, and
/// the borders of values count. Columns are quoted names, each with whether it is a FLOAT: that is read as a DOUBLE, since its own text
/// has six digits and more values than one. `CHECKSUM TABLE` would not do: of tables with generated columns MariaDB
/// 10.11 tells another sum each time.
pub fn row_hash<'a>(columns: impl Iterator<Item = (&'a str, bool)>) -> String {
    let part = |(name, is_float): (&str, bool)| {
        let more = if is_float { " + 0e0" } else { "" };
        // A value that is too large for this is NULL here, and so is its row then: it must not pass for one that is none.
        format!("IF({name} IS NULL, 'N', CONCAT(LENGTH({name}{more}), ':', CAST({name}{more} AS BINARY)))")
    };
    format!("SHA2(CONCAT({}), 256)", columns.map(part).collect::<Vec<_>>().join(", "))
}

/// The expression for the sum of such hashes over rows, by their first 64 bits: it does not depend on the order, and counts doubles.
pub fn sum_of_hashes(hash: &str) -> String {
    format!("COALESCE(SUM(CAST(CONV(LEFT({hash}, 16), 16, 10) AS UNSIGNED)), 0)")
}
