//! A copy is filled in the order of its keys, verified, and takes the table's place in one step.
//!
//! A connection of its own holds the table from the first row to the swap, so that writers wait. Whatever became of the swap, what the old
//! table has and how it is made is held against the copy once more before it is dropped: a server may let in somebody who waited for longer
//! than we do, such as one who changes the table.

use super::facts::{foreign_keys, one, triggers};
use super::names::{beside, named};
use super::session::{LOCK_WAIT_S, STUCK_S, explained, prepare, wait_for};
use super::sums::{Columns, Sums, made, next_number, sums, without_name};
use super::swap::swap;
use super::{Done, How, Relayout, RelayoutError, Waits};
use crate::server::{Control, TargetError, quoted};

/// Seconds that the end of a statement that we have ended ourselves is waited for.
const CLEAR_WAIT_S: u32 = 10;

/// Copies a table, verifies the copy and swaps both.
pub(super) fn run(
    control: &mut Control,
    job: &Relayout<'_>,
    table: &str,
    tell: &mut dyn FnMut(&str),
) -> Result<Done, RelayoutError> {
    let lock = alone(control, table)?;
    let (copy, before) = beside(table);
    drop_ours(control, table, &copy)?;
    let mut holder = Control::connect_until(job.target, job.stop)?;
    prepare(&mut holder)?;
    let outcome = copied(control, &mut holder, job, (table, &copy), tell).and_then(|copied| {
        job.proceed()?;
        check_alone(control, table, &lock)?;
        tell(&format!("swapping {table} and its copy"));
        swap(&mut holder, job, (table, &copy, &before))?;
        Ok(copied)
    });
    let copied = match outcome {
        Ok(copied) => copied,
        Err(error) => {
            drop(holder);
            return Err(match clear(control, job, table, &lock) {
                Ok(()) => error,
                // Whoever has the lock now has a copy of his own there, unless it is a statement of ours that is being rolled back on a
                // connection that was cut.
                Err(RelayoutError::Busy(_)) if !error.is_cut() => error,
                Err(_) => RelayoutError::Remains { copy, error: Box::new(error) },
            });
        }
    };
    drop(holder);
    finish(job, (table, &before), &copied, tell).map_err(|error| left(error, table, &before))?;
    Ok(Done { waits: Waits::Writers, verified_rows: Some(copied.sums.rows) })
}

/// Drops a copy that an earlier relayout left. One that is made otherwise than the table is somebody's own, whatever its name.
fn drop_ours(control: &mut Control, table: &str, copy: &str) -> Result<(), RelayoutError> {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
        named(copy)
    );
    if control.query_value(&sql)?.as_deref() == Some("0") {
        return Ok(());
    }
    if without_name(&made(control, copy)?) != without_name(&made(control, table)?) {
        return Err(RelayoutError::Refused {
            table: table.to_owned(),
            what: format!("needs the name {copy} for its copy, and another table or view has that name"),
            hint: "rename that one, or drop it if an earlier relayout left it; or relayout in place (without --fresh)",
        });
    }
    control.exec(&format!("DROP TABLE {}", quoted(copy)))?;
    Ok(())
}

/// Refuses a table of which the copy lacks something, by the line that tells of it.
fn carries(control: &mut Control, (table, made_so): (&str, &str), copy: &str) -> Result<(), RelayoutError> {
    let (whole, copied) = (without_name(made_so), without_name(&made(control, copy)?));
    let lost = whole.lines().zip(copied.lines()).find(|(line, own)| line != own);
    if whole == copied {
        return Ok(());
    }
    Err(RelayoutError::Refused {
        table: table.to_owned(),
        what: format!(
            "has something that CREATE TABLE ... LIKE does not copy: {}",
            lost.map_or_else(String::new, |(line, _)| line.trim().to_owned())
        ),
        hint: "relayout it in place (without --fresh), which keeps it",
    })
}

fn clear(control: &mut Control, job: &Relayout<'_>, table: &str, lock: &str) -> Result<(), RelayoutError> {
    let mut again = Control::connect_to_finish(job.target, job.stop)?;
    wait_for(&mut again, CLEAR_WAIT_S)?;
    if check_alone(control, table, lock).is_err() {
        // The server gives the lock back once the statement is rolled back that it was told to end.
        await_alone(&mut again, table, CLEAR_WAIT_S)?;
    }
    again.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&beside(table).0)))?;
    Ok(())
}

/// What failed after the swap is told with that it was made.
fn left(error: RelayoutError, table: &str, before: &str) -> RelayoutError {
    match error {
        error @ RelayoutError::Changed { .. } => error,
        // It says that nothing was changed, which is no longer so.
        RelayoutError::Held { seconds, .. } => RelayoutError::Left {
            table: table.to_owned(),
            before: before.to_owned(),
            what: format!("another client held it for longer than {seconds} s"),
        },
        error => RelayoutError::Left {
            table: table.to_owned(),
            before: before.to_owned(),
            what: error.to_string(),
        },
    }
}

struct Copied {
    columns: Columns,
    sums: Sums,
    made: String,
}

/// Keeps others from building the same table anew as long as this connection lasts; says how the lock is called.
fn alone(control: &mut Control, table: &str) -> Result<String, RelayoutError> {
    await_alone(control, table, 0)
}

/// The same, where somebody who has the lock is waited for.
fn await_alone(control: &mut Control, table: &str, seconds: u32) -> Result<String, RelayoutError> {
    let name = control.query_value(&format!(
        "SELECT CONCAT('evenkeel_relayout_', LEFT(SHA2(CONCAT(DATABASE(), '.', {}), 256), 40))",
        named(table)
    ))?;
    let name = name.unwrap_or_default();
    match control.query_value(&format!("SELECT GET_LOCK('{name}', {seconds})"))?.as_deref() {
        Some("1") => Ok(name),
        _ => Err(RelayoutError::Busy(table.to_owned())),
    }
}

fn check_alone(control: &mut Control, table: &str, lock: &str) -> Result<(), RelayoutError> {
    match control.query_value(&format!("SELECT IS_USED_LOCK('{lock}') = CONNECTION_ID()"))?.as_deref() {
        Some("1") => Ok(()),
        _ => Err(RelayoutError::Busy(table.to_owned())),
    }
}

/// Fills the copy and holds it against the table, which is locked from here on; says what both have.
fn copied(
    control: &mut Control,
    holder: &mut Control,
    job: &Relayout<'_>,
    (table, copy): (&str, &str),
    tell: &mut dyn FnMut(&str),
) -> Result<Copied, RelayoutError> {
    let (old, new) = (quoted(table), quoted(copy));
    holder.exec(&format!("LOCK TABLES {old} READ")).map_err(|error| explained(error, table))?;
    // What hangs on it may have come since somebody asked first.
    if let Some(error) = one(control, table)?.refusal(How::Fresh) {
        return Err(error);
    }
    wait_for(control, STUCK_S)?;
    let stuck = |error: TargetError| match explained(error, table) {
        RelayoutError::Held { .. } => RelayoutError::Stuck(table.to_owned()),
        error => error,
    };
    control.exec(&format!("CREATE TABLE {new} LIKE {old}")).map_err(stuck)?;
    let (made, order) = (made(holder, table)?, order(holder, table)?);
    carries(control, (table, &made), copy)?;
    tell(&format!("copying {table} in the order of its primary key"));
    let columns = Columns::of(holder, table)?;
    let names = columns.names();
    control.exec(&format!("INSERT INTO {new} ({names}) SELECT {names} FROM {old}{order}")).map_err(stuck)?;
    job.proceed()?;
    wait_for(control, LOCK_WAIT_S)?;
    let mut work = |sql: String| control.exec(&sql).map_err(|error| explained(error, table));
    // Further indexes got their entries row by row, in no order of their own: building the copy anew sorts them.
    tell(&format!("sorting the indexes of {table}"));
    work(format!("ALTER TABLE {new} FORCE"))?;
    if let Some(next) = next_number(&made) {
        // A number that was given to a row that is gone is not given again.
        work(format!("ALTER TABLE {new} AUTO_INCREMENT = {next}"))?;
    }
    job.proceed()?;
    tell(&format!("verifying the copy of {table}"));
    let (was, is) = (sums(holder, table, &columns)?, sums(control, copy, &columns)?);
    match was == is {
        true => Ok(Copied { columns, sums: was, made: without_name(&made) }),
        false => {
            let what = format!("{} rows (sum {}) and not {} (sum {})", is.rows, is.sum, was.rows, was.sum);
            Err(RelayoutError::Differs { table: table.to_owned(), what })
        }
    }
}

/// By the primary key, which is how rows lie; without one the server numbers rows as they come.
fn order(control: &mut Control, table: &str) -> Result<String, RelayoutError> {
    let rows = control.query(&format!("SHOW INDEX FROM {} WHERE Key_name = 'PRIMARY'", quoted(table)))?;
    let Some(column) = rows.column("Column_name") else { return Ok(String::new()) };
    let names: Vec<String> = rows.rows.iter().filter_map(|row| row[column].as_deref()).map(quoted).collect();
    Ok(if names.is_empty() { String::new() } else { format!(" ORDER BY {}", names.join(", ")) })
}

/// Looks at the old table once more, and drops it unless it is to stay. Whoever asked to stop meanwhile gets a table that is whole.
fn finish(
    job: &Relayout<'_>,
    (table, before): (&str, &str),
    copied: &Copied,
    tell: &mut dyn FnMut(&str),
) -> Result<(), RelayoutError> {
    tell(&format!("checking {table} once more"));
    let mut control = Control::connect_to_finish(job.target, job.stop)?;
    prepare(&mut control)?;
    let changed =
        |what: String| RelayoutError::Changed { table: table.to_owned(), before: before.to_owned(), what };
    if without_name(&made(&mut control, before)?) != copied.made {
        return Err(changed("was altered".to_owned()));
    }
    if let Some(name) = triggers(&mut control, before)?.first() {
        return Err(changed(format!("got trigger {name}")));
    }
    if let Some(key) = foreign_keys(&mut control, before)?.0.first() {
        return Err(changed(format!("got foreign key {key}")));
    }
    let had = sums(&mut control, before, &copied.columns)?;
    if had != copied.sums {
        return Err(changed(format!(
            "was written to ({} rows, and {} verified)",
            had.rows, copied.sums.rows
        )));
    }
    if !job.keep_old {
        control.exec(&format!("DROP TABLE {}", quoted(before)))?;
    }
    Ok(())
}
