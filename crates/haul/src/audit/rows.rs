//! The side of the tables: one connection, one instant.

use super::canon::{Canon, Scratch};
use super::entry::{Entry, Of};
use super::sums::Wanted;
use super::tables::Tables;
use crate::{HaulError, session};
use evenkeel_site::server::{Control, TargetError};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes a connection one whose text is the same everywhere, and that waits as long as the files take.
pub(crate) fn prepare(control: &mut Control) -> Result<(), TargetError> {
    session::settle(control)?;
    control.exec("SET NAMES utf8mb4")?;
    control.exec("SET SESSION sql_mode = ''").map(drop)
}

/// From now on the connection sees its tables as they are at this instant, which it says by the server's clock.
pub(super) fn freeze(control: &mut Control) -> Result<Option<String>, TargetError> {
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    control.query_value("SELECT CONCAT(UTC_TIMESTAMP(), ' UTC')")
}

/// Hands out what is noted of all rows. Ends early where the other side `failed`.
pub(super) fn read(
    control: &mut Control,
    (tables, canon): (&Tables, &Canon),
    wanted: Option<&Wanted>,
    failed: &AtomicBool,
    take: &mut dyn FnMut(&Entry) -> Result<(), HaulError>,
) -> Result<(), HaulError> {
    let mut scratch = Scratch::default();
    for number in 0..tables.found.len() {
        // What the taker says is kept here, since the connection hands on nothing but errors of reading.
        let mut refused = None;
        let read = control.for_each_row_sent(tables.select_of(number), &mut |row| {
            if failed.load(Ordering::Relaxed) {
                return Err(io::Error::other("the other side failed"));
            }
            let hashes = canon.row(row.texts(), &mut scratch).map_err(io::Error::other)?;
            if wanted.is_some_and(|wanted| !wanted.has(hashes.group)) {
                return Ok(());
            }
            let place = number as u64;
            let entry =
                Entry { group: hashes.group, of: Of::Row, row: hashes.row, record: 0, place, retired: 0 };
            take(&entry).map_err(|error| {
                refused = Some(error);
                io::Error::other("not taken")
            })
        });
        match refused {
            Some(error) => return Err(error),
            None => read.map(drop)?,
        }
    }
    Ok(())
}
