//! A copy is filled in the order of its keys, verified, and takes the table's place in one step.
//!
//! Writers wait from the first row to the swap: a connection of its own holds the table, and nothing else. The renaming of both tables
//! waits at the server for that one, and a server lets a waiting renaming in before all who wait to write, so that no row
//! comes between the check and the swap. It would wait in vain for more than one lock: it takes them by the names of the tables, and
//! while it waits for the copy's it is not in the table's queue. What the table had is counted once more after the swap.

use super::in_place::explained;
use super::names::{beside, literal, quoted};
use super::{Done, Relayout, RelayoutError, Waits, prepare};
use crate::server::{Control, TargetError, row_hash, sum_of_hashes};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use std::time::Duration;

/// A renaming that does not come to wait within this time is not waited for.
const SWAP_PATIENCE: Nanos = Nanos::from_secs(20);

/// Rows of a table, the sum of their hashes, and how many have none.
type Sums = (String, String, String);

/// Copies a table, verifies the copy and swaps both.
pub(super) fn run(
    control: &mut Control,
    job: &Relayout<'_>,
    table: &str,
    tell: &mut dyn FnMut(&str),
) -> Result<Done, RelayoutError> {
    let (copy, before) = beside(table)?;
    refuse_left_over(control, table, &before)?;
    control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&copy)))?;
    let mut holder = Control::connect_until(job.target, job.stop)?;
    prepare(&mut holder)?;
    let columns = columns(control, table)?;
    let outcome = copied(control, &mut holder, (table, &copy, &columns), tell).and_then(|sums| {
        tell(&format!("swapping {table} and its copy"));
        swap(&mut holder, job, (table, &copy, &before))?;
        Ok(sums)
    });
    let sums = match outcome {
        Ok(sums) => sums,
        Err(error) => {
            drop(holder);
            clear(job, &copy);
            return Err(error);
        }
    };
    tell(&format!("counting what {table} had once more"));
    let had = self::sums(control, &quoted(&before), &columns)?;
    if had != sums {
        let (rows, verified) = (had.0, sums.0);
        return Err(RelayoutError::WrittenTo { table: table.to_owned(), before, rows, verified });
    }
    if !job.keep_old {
        control.exec(&format!("DROP TABLE {}", quoted(&before)))?;
    }
    Ok(Done { waits: Waits::Writers, verified_rows: sums.0.parse().ok() })
}

/// A table that has its name back from a swap is somebody's until he says otherwise: it may be the only one with these rows.
fn refuse_left_over(control: &mut Control, table: &str, before: &str) -> Result<(), RelayoutError> {
    match exists(control, before)? {
        false => Ok(()),
        true => Err(RelayoutError::Refused {
            table: table.to_owned(),
            what: format!("was built anew before, and {before} has it as it was"),
            hint: "look whether the table is whole, drop the old one, and run the same again",
        }),
    }
}

fn exists(control: &mut Control, table: &str) -> Result<bool, RelayoutError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
        literal(table)
    );
    Ok(control.query_value(&sql)?.is_some())
}

/// Fills the copy and holds it against the table, which is locked from here on; says what both have.
fn copied(
    control: &mut Control,
    holder: &mut Control,
    (table, copy, columns): (&str, &str, &[(String, bool)]),
    tell: &mut dyn FnMut(&str),
) -> Result<Sums, RelayoutError> {
    let (old, new) = (quoted(table), quoted(copy));
    control.exec(&format!("CREATE TABLE {new} LIKE {old}"))?;
    holder.exec(&format!("LOCK TABLES {old} READ")).map_err(|error| explained(error, table))?;
    let next = next_number(control, table)?;
    tell(&format!("copying {table} in the order of its primary key"));
    let order = order(control, table)?;
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(", ");
    control.exec(&format!("INSERT INTO {new} ({names}) SELECT {names} FROM {old}{order}"))?;
    // Further indexes got their entries row by row, in no order of their own: building the copy anew sorts them.
    tell(&format!("sorting the indexes of {table}"));
    control.exec(&format!("ALTER TABLE {new} FORCE"))?;
    if let Some(next) = next {
        // A number that was given to a row that is gone is not given again.
        control.exec(&format!("ALTER TABLE {new} AUTO_INCREMENT = {next}"))?;
    }
    tell(&format!("verifying the copy of {table}"));
    let (was, is) = (sums(control, &old, columns)?, sums(control, &new, columns)?);
    match was == is && was.2 == "0" {
        true => Ok(was),
        false => {
            let what = format!("{} rows (sum {}) and not {} (sum {})", is.0, is.1, was.0, was.1);
            Err(RelayoutError::Differs { table: table.to_owned(), what })
        }
    }
}

/// What a table has; rows that are too large have no hash.
fn sums(control: &mut Control, table: &str, columns: &[(String, bool)]) -> Result<Sums, RelayoutError> {
    let hash = row_hash(columns.iter().map(|(name, is_float)| (name.as_str(), *is_float)));
    let sum = sum_of_hashes(&hash);
    let rows =
        control.query(&format!("SELECT COUNT(*), {sum}, COALESCE(SUM({hash} IS NULL), 0) FROM {table}"))?;
    let text = |place: usize| rows.rows.first().and_then(|row| row[place].clone()).unwrap_or_default();
    Ok((text(0), text(1), text(2)))
}

/// Columns with values of their own, and which of them are FLOAT.
fn columns(control: &mut Control, table: &str) -> Result<Vec<(String, bool)>, RelayoutError> {
    let rows = control.query(&format!(
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} \
         AND COALESCE(GENERATION_EXPRESSION, '') = '' ORDER BY ORDINAL_POSITION",
        literal(table)
    ))?;
    let column = |row: Vec<Option<String>>| match row.as_slice() {
        [Some(name), kind] => Some((quoted(name), kind.as_deref() == Some("float"))),
        _ => None,
    };
    Ok(rows.rows.into_iter().filter_map(column).collect())
}

/// By the primary key, which is how rows lie; without one the server numbers rows as they come.
fn order(control: &mut Control, table: &str) -> Result<String, RelayoutError> {
    let rows = control.query(&format!("SHOW INDEX FROM {} WHERE Key_name = 'PRIMARY'", quoted(table)))?;
    let Some(column) = rows.column("Column_name") else { return Ok(String::new()) };
    let names: Vec<String> = rows.rows.iter().filter_map(|row| row[column].as_deref()).map(quoted).collect();
    Ok(if names.is_empty() { String::new() } else { format!(" ORDER BY {}", names.join(", ")) })
}

/// The next number of a column that the server counts; `None` where there is none.
fn next_number(control: &mut Control, table: &str) -> Result<Option<u64>, RelayoutError> {
    let rows = control.query(&format!("SHOW CREATE TABLE {}", quoted(table)))?;
    let text =
        rows.rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten().unwrap_or_default();
    // The options of a table stand behind the last line of its columns.
    let options = text.rsplit_once("\n)").map_or("", |(_, options)| options);
    let number = options.split_once("AUTO_INCREMENT=").map_or("", |(_, rest)| rest);
    Ok(number.split(|letter: char| !letter.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()))
}

/// Has another connection rename both tables, and lets go of the table once it waits for that. A renaming that did not have to wait
/// found the lock gone with its connection; what came of that is found by the count after it.
fn swap(
    holder: &mut Control,
    job: &Relayout<'_>,
    (table, copy, before): (&str, &str, &str),
) -> Result<(), RelayoutError> {
    let mut renamer = Control::connect_until(job.target, job.stop)?;
    prepare(&mut renamer)?;
    let mut observer = Control::connect_until(job.target, job.stop)?;
    let id = renamer.id();
    let sql = format!(
        "RENAME TABLE {} TO {}, {} TO {}",
        quoted(table),
        quoted(before),
        quoted(copy),
        quoted(table)
    );
    std::thread::scope(|scope| {
        let renaming = scope.spawn(move || renamer.exec(&sql));
        let waits = await_renaming(&mut observer, id, || renaming.is_finished());
        if !matches!(waits, Ok(true)) && !renaming.is_finished() {
            // It must not come to its turn once the lock is gone.
            let _ = observer.exec(&format!("KILL {id}"));
        }
        let released = holder.exec("UNLOCK TABLES");
        let renamed = renaming.join().unwrap_or(Err(TargetError::Stopped));
        renamed.map_err(|error| explained(error, table))?;
        waits?;
        released.map(drop).map_err(RelayoutError::from)
    })
}

/// Whether the renaming waits for the lock; false where it has ended, or does not come that far.
fn await_renaming(
    observer: &mut Control,
    id: u32,
    is_over: impl Fn() -> bool,
) -> Result<bool, RelayoutError> {
    let sql = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
    let begin = monotonic();
    while !is_over() && monotonic() - begin < SWAP_PATIENCE {
        let state = observer.query_value(&sql)?.unwrap_or_default();
        if state.starts_with("Waiting for table metadata lock") {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}

/// Takes a copy away that is of no use. The connection that made it may be gone, or be told to stop.
fn clear(job: &Relayout<'_>, copy: &str) {
    let Ok(mut control) = Control::connect_to_finish(job.target, job.stop) else { return };
    let _ = prepare(&mut control);
    let _ = control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(copy)));
}
