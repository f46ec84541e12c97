//! A database that is made for a measurement and dropped with it.

use crate::table::{literal, quoted};
use crate::{HaulError, session};
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// What the names of such databases begin with.
const PREFIX: &str = "evenkeel_advise_";

/// The database; dropped with this.
pub(super) struct Scratch {
    /// The server with this database.
    pub target: Target,
    /// Holds a lock of the database's name, by which others see that somebody uses it.
    pub control: Control,
    name: String,
}

impl Scratch {
    /// Makes it, and drops those that a killed measurement has left.
    pub fn make(target: &Target, stop: &Stop) -> Result<Self, HaulError> {
        let outside = Target { database: None, ..target.clone() };
        let mut control = Control::connect_to_finish(&outside, stop)?;
        session::settle(&mut control)?;
        let left = control.query("SHOW DATABASES LIKE 'evenkeel\\_advise\\_%'")?;
        for name in left.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
            let free = control.query_value(&format!("SELECT IS_FREE_LOCK({})", literal(name.as_bytes())))?;
            if free.as_deref() == Some("1") {
                control.exec(&format!("DROP DATABASE IF EXISTS {}", quoted(&name)))?;
            }
        }
        let unique = control.query_value("SELECT UUID()")?.unwrap_or_default();
        let name = format!("{PREFIX}{:016x}", xxh3_64(unique.as_bytes()));
        control.query_value(&format!("SELECT GET_LOCK({}, 0)", literal(name.as_bytes())))?;
        control.exec(&format!("CREATE DATABASE {}", quoted(&name)))?;
        let target = Target { database: Some(name.clone()), ..target.clone() };
        Ok(Self { target, control, name })
    }

    /// Drops a table, and forgets what was loaded into any.
    pub fn clear(&mut self, table: &str) -> Result<(), HaulError> {
        for table in [table, crate::load::FILES, crate::load::PARTS] {
            let name = format!("{}.{}", quoted(&self.name), quoted(table));
            self.control.exec(&format!("DROP TABLE IF EXISTS {name}"))?;
        }
        Ok(())
    }

    /// Bytes of a table with its indexes.
    pub fn bytes(&mut self, table: &str) -> Result<u64, HaulError> {
        self.control.query(&format!("ANALYZE TABLE {}.{}", quoted(&self.name), quoted(table)))?;
        let bytes = self.control.query_value(&format!(
            "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = CONVERT({} USING utf8) \
             AND TABLE_NAME = CONVERT({} USING utf8)",
            literal(self.name.as_bytes()),
            literal(table.as_bytes())
        ))?;
        Ok(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }
}

/// How long a server is waited for that rolls back what was cut: longer than it takes for any sample.
const ROLLED_BACK: Duration = Duration::from_secs(300);
/// From one look at the connections to the next.
const NAP: Duration = Duration::from_millis(5);

/// Ends the connection that loads now into the database of a connection, and says which it was; `None` where none does.
pub(super) fn kill_load(control: &mut Control) -> Result<Option<u32>, HaulError> {
    let id = control.query_value(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'LOAD DATA LOCAL%' LIMIT 1",
    )?;
    let Some(id) = id.and_then(|id| id.parse().ok()) else { return Ok(None) };
    match control.kill(id) {
        Ok(()) => Ok(Some(id)),
        // ER_NO_SUCH_THREAD: it has ended meanwhile.
        Err(error) if error.code() == Some(1094) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits until a connection that was killed is gone: it stays as long as the server rolls back what it did, and until then a table
/// that will be empty may have rows, and locks on them.
pub(super) fn await_end(control: &mut Control, id: u32) -> Result<(), HaulError> {
    let began = monotonic();
    let sql = format!("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {id}");
    while control.query_value(&sql)?.is_some() && Duration::from(monotonic() - began) < ROLLED_BACK {
        std::thread::sleep(NAP);
    }
    Ok(())
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Where the server is gone, the next measurement drops it.
        let _ = self.control.exec(&format!("DROP DATABASE IF EXISTS {}", quoted(&self.name)));
    }
}
