//! What was taken is added to a day table, so that a cut at any moment can be undone.
//!
//! A table that was made for these records, and has none of anybody else, is emptied and begun again. From one that had records before, a rerun takes out all that
//! are like one that comes in, and puts back those of them that were there before: they are kept aside in a table of their own.

use super::journal::{self, Entry, State};
use super::names::Names;
use super::which::Which;
use super::work::Work;
use super::{DispatchError, Progress, Shape};
use crate::table::quoted;
use evenkeel_site::server::{Control, row_hash, sum_of_hashes};

/// How many rows, and a sum over them that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: u64,
    pub checksum: u128,
}

/// The SHA-256 of a row's values, as an expression.
fn hash(shape: &Shape) -> String {
    let is_float =
        |name: &String| shape.columns.iter().any(|(other, kind)| other == name && kind.starts_with("float"));
    let columns: Vec<(String, bool)> =
        shape.given.iter().map(|name| (quoted(name), is_float(name))).collect();
    row_hash(columns.iter().map(|(name, is_float)| (name.as_str(), *is_float)))
}

/// Adds the rows of a table up: by the first 64 bits of their hashes.
pub(super) fn sum(
    control: &mut Control,
    shape: &Shape,
    table: &str,
    which: &str,
) -> Result<Sum, DispatchError> {
    let hash = hash(shape);
    let rows = control.query(&format!(
        "SELECT COUNT(*), {}, COALESCE(SUM({hash} IS NULL), 0) FROM {} WHERE {which}",
        sum_of_hashes(&hash),
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

/// Repairs a table if its server was killed while it wrote to it: without transactions that can leave an index that does not fit
/// its rows, which the repair at the next opening does not always see.
pub(super) fn mend(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let mut verdict = |what: &str| -> Result<String, DispatchError> {
        let rows = control.query(&format!("{what} TABLE {}", quoted(table)))?;
        let last = rows.rows.last().and_then(|row| row.last().cloned().flatten());
        Ok(last.unwrap_or_default())
    };
    let is_well = |text: &str| matches!(text, "OK" | "Table is already up to date");
    if is_well(&verdict("CHECK")?) {
        return Ok(());
    }
    verdict("REPAIR")?;
    match verdict("CHECK")? {
        text if is_well(&text) => Ok(()),
        text => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: format!("is damaged, and REPAIR TABLE does not help: {text}"),
            hint: "bring it back from a backup: the records of the dispatch that was cut are still where they came from",
        }),
    }
}

/// Adds the records of an entry to its day table; how many.
pub(super) fn append(work: &mut Work<'_>, entry: &Entry) -> Result<u64, DispatchError> {
    let Names { taken, both, .. } = Names::of(&work.job.table);
    let which = Which::of(entry.day, &work.by);
    (work.report)(&Progress::Step(format!("filling {}", entry.table)));
    // A table that was to be made, and had records of somebody else, is noted with them.
    let had_others = entry.before.0 > 0;
    let before = match (entry.state, entry.created) {
        (State::Copying, created) if !created || had_others => undo(work, entry, &which)?,
        (_, true) => begin_anew(work, entry, &which)?,
        (_, false) => prepare(work, entry, &which)?,
    };
    work.copy(&taken, &which, &entry.table)?;
    let wanted = sum(work.control, &work.source, &taken, &which.sql(&work.by))?;
    let found = sum(work.control, &work.source, &entry.table, "TRUE")?;
    let expected = Sum { count: before.count + wanted.count, checksum: before.checksum + wanted.checksum };
    if found != expected {
        return Err(disagree(&entry.table, found, expected));
    }
    if entry.created {
        work.add_indexes(&entry.table)?;
    }
    work.close(entry.id, &format!(", records = {}", wanted.count))?;
    work.control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&both)))?;
    Ok(wanted.count)
}

fn disagree(table: &str, found: Sum, expected: Sum) -> DispatchError {
    let what = match found.count == expected.count {
        false => format!("it has {} records and should have {}", found.count, expected.count),
        true => format!("its {} records are not those that it should have", found.count),
    };
    DispatchError::Disagree { table: table.to_owned(), what }
}

/// Which rows of the day table are like one of those that come in.
fn alike(work: &Work<'_>, which: &Which) -> String {
    let Names { taken, .. } = Names::of(&work.job.table);
    let hash = hash(&work.source);
    format!(
        "JOIN (SELECT DISTINCT {hash} AS evenkeel_hash FROM {} WHERE {}) AS coming ON {hash} = coming.evenkeel_hash",
        quoted(&taken),
        which.sql(&work.by)
    )
}

/// Makes the day table, or empties it of what a dispatch that was cut had put in; says what it has. Somebody else may have filled it since, such
/// as the dispatch of another source: his records stay.
fn begin_anew(work: &mut Work<'_>, entry: &Entry, which: &Which) -> Result<Sum, DispatchError> {
    work.ready(&entry.table)?;
    mend(work.control, &entry.table)?;
    // A sum also refuses records that are too large to be told from others.
    let all = sum(work.control, &work.source, &entry.table, "TRUE")?.count;
    if all == 0 {
        work.control.exec(&journal::change(entry.id, State::Copying, ""))?;
        return Ok(Sum::default());
    }
    // Nothing of ours is in there before the journal says that it may be.
    if entry.is_untouched() {
        return prepare(work, entry, which);
    }
    let sql = format!("SELECT COUNT(*) FROM {} AS there {}", quoted(&entry.table), alike(work, which));
    let ours = journal::number(work.control.query_value(&sql)?);
    if ours == 0 {
        return prepare(work, entry, which);
    }
    if ours < all || journal::has_others(work.control, entry)? {
        let what = format!(
            "of its {all} records {ours} are like those of a dispatch that was cut, and somebody else has filled it too since, so that nobody can tell whose those are"
        );
        return Err(DispatchError::Disagree { table: entry.table.clone(), what });
    }
    work.control.exec(&format!("TRUNCATE TABLE {}", quoted(&entry.table)))?;
    work.control.exec(&journal::change(entry.id, State::Copying, ""))?;
    Ok(Sum::default())
}

/// Keeps aside what a rerun could not tell from what comes in, and notes what the day table is like.
fn prepare(work: &mut Work<'_>, entry: &Entry, which: &Which) -> Result<Sum, DispatchError> {
    let (table, both) = (quoted(&entry.table), quoted(&Names::of(&work.job.table).both));
    work.ready(&entry.table)?;
    work.control.exec(&format!("DROP TABLE IF EXISTS {both}"))?;
    work.control.exec(&format!("CREATE TABLE {both} LIKE {table}"))?;
    let (list, alike) = (work.source.list(), alike(work, which));
    work.control.exec(&format!("INSERT INTO {both} ({list}) SELECT {list} FROM {table} AS there {alike}"))?;
    let before = sum(work.control, &work.source, &entry.table, "TRUE")?;
    let more = format!(", records_before = {}, checksum_before = '{}'", before.count, before.checksum);
    work.control.exec(&journal::change(entry.id, State::Copying, &more))?;
    Ok(before)
}

/// Takes out of the day table what a dispatch that was cut had put in.
fn undo(work: &mut Work<'_>, entry: &Entry, which: &Which) -> Result<Sum, DispatchError> {
    let (table, both) = (quoted(&entry.table), quoted(&Names::of(&work.job.table).both));
    let (list, alike) = (work.source.list(), alike(work, which));
    mend(work.control, &entry.table)?;
    mend(work.control, &Names::of(&work.job.table).both)?;
    work.control.exec(&format!("DELETE there FROM {table} AS there {alike}"))?;
    work.control.exec(&format!("INSERT INTO {table} ({list}) SELECT {list} FROM {both}"))?;
    let found = sum(work.control, &work.source, &entry.table, "TRUE")?;
    let expected = Sum { count: entry.before.0, checksum: entry.before.1.parse().unwrap_or_default() };
    match found == expected {
        true => Ok(expected),
        false => Err(disagree(&entry.table, found, expected)),
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
            engine: "MyISAM".to_owned(),
            columns: kinds.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
            given: ["f", "d"].map(str::to_owned).to_vec(),
            create: Create::parse("CREATE TABLE `t` (\n  `f` float\n) ENGINE=MyISAM").unwrap(),
            partitioned: None,
        };
        let sql = hash(&shape);
        assert!(sql.contains("CAST(`f` + 0e0 AS BINARY)") && sql.contains("CAST(`d` AS BINARY)"), "{sql}");
        assert!(!sql.contains("`g`"), "{sql}");
    }
}
