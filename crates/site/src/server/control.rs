//! The control connection: everything that is asked of a server off the hot path.

use super::connect::{self, Patience};
use super::sentry::{Asking, AtStop, Cut, Line, Sentry};
use super::{ServerVersion, Target, TargetError};
use evenkeel_core::Nanos;
use evenkeel_os::stop::Stop;
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, LocalInfileHandler, Value};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The answer to a query; all values as text, `None` for NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// Where a column stands; names are compared without regard to case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// First value of the first row, unless it is missing or NULL.
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

/// One value of a row as the server sent it, `None` for NULL.
pub type Cell = Option<Vec<u8>>;

/// A blocking connection that is one's own: no pool, one statement at a time.
///
/// A statement may take as long as the server lets anybody in; one that is silent while it lets nobody in ends with
/// [`TargetError::Silent`] within a minute.
pub struct Control {
    conn: Conn,
    sentry: Sentry,
    target: Target,
    version: ServerVersion,
    /// How it was opened, for another one like it.
    reopen: (Stop, AtStop),
}

/// Ends the statement that somebody waits for, from another thread.
#[derive(Clone)]
pub struct HangUp {
    line: Arc<Line>,
    target: Target,
}

impl HangUp {
    /// How long the statement under way has been silent; `None` where none is.
    pub fn silent_for(&self) -> Option<Nanos> {
        self.line.silent_for()
    }

    /// Why the connection was cut; `None` where it was not.
    pub fn cut(&self) -> Option<TargetError> {
        self.line.failure(&self.target)
    }

    /// Cuts the connection. A statement under way ends with [`TargetError::Silent`].
    pub fn hang_up(&self) {
        self.line.cut(Cut::Silent(self.line.silent_for().unwrap_or_default()));
    }
}

/// The driver's connection while something is asked of it.
pub struct Driver<'a> {
    conn: &'a mut Conn,
    _asking: Asking<'a>,
}

impl Deref for Driver<'_> {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        self.conn
    }
}

impl DerefMut for Driver<'_> {
    fn deref_mut(&mut self) -> &mut Conn {
        self.conn
    }
}

impl Control {
    /// Connects within fifteen seconds for each address, or says why not.
    pub fn connect(target: &Target) -> Result<Self, TargetError> {
        Self::connect_until(target, &Stop::default())
    }

    /// The same, until somebody asks to stop: that ends the login at once, and a statement, also at the server, within
    /// three seconds, with [`TargetError::Stopped`].
    pub fn connect_until(target: &Target, stop: &Stop) -> Result<Self, TargetError> {
        Self::open(target, stop, AtStop::End)
    }

    /// The same for one who clears up after a stop: a statement goes on then, as long as the server lets anybody in.
    pub fn connect_to_finish(target: &Target, stop: &Stop) -> Result<Self, TargetError> {
        Self::open(target, stop, AtStop::Finish)
    }

    fn open(target: &Target, stop: &Stop, at_stop: AtStop) -> Result<Self, TargetError> {
        let patience = Patience { stop: stop.clone(), ..Patience::default() };
        let (conn, text) = connect::connect(target, &patience)?;
        let address = target.address.to_string();
        let text = text.unwrap_or_default();
        let version = ServerVersion::parse(&text).ok_or_else(|| TargetError::Protocol {
            address: address.clone(),
            reason: format!("version {text:?}"),
        })?;
        if !version.is_supported() {
            return Err(TargetError::TooOld { address, version: text });
        }
        let sentry = Sentry::post(&conn, target, stop, at_stop).map_err(|error| {
            TargetError::Unreachable { address, reason: format!("cannot watch the connection: {error}") }
        })?;
        Ok(Self { conn, sentry, target: target.clone(), version, reopen: (stop.clone(), at_stop) })
    }

    /// For another thread that wants to end the statement under way.
    pub fn hang_up(&self) -> HangUp {
        HangUp { line: Arc::clone(&self.sentry.line), target: self.target.clone() }
    }

    /// From now on a read or a write that waits longer than this fails: for one who can ask again elsewhere or later.
    pub fn limit_waits(&mut self, limit: Duration) {
        self.sentry.dismiss();
        connect::limit_waits(&self.conn, Some(limit));
    }

    /// The server's version.
    pub fn version(&self) -> &ServerVersion {
        &self.version
    }

    /// Where it is connected to.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The connection's number at the server, for [`Control::kill`].
    pub fn id(&self) -> u32 {
        self.conn.connection_id()
    }

    /// The driver's connection, for prepared statements and rows in binary.
    pub fn connection(&mut self) -> Driver<'_> {
        Driver { conn: &mut self.conn, _asking: self.sentry.line.asking() }
    }

    /// Why the connection was cut; `None` where it was not, and the driver's own error says what is wrong.
    pub fn cut(&self) -> Option<TargetError> {
        self.sentry.line.failure(&self.target)
    }

    /// Asks and takes all rows; not for large answers ([`Control::for_each_row`]).
    pub fn query(&mut self, sql: &str) -> Result<Rows, TargetError> {
        let (target, line) = (&self.target, &*self.sentry.line);
        let asking = line.asking();
        let mut result = self.conn.query_iter(sql).map_err(|error| explain(target, line, sql, error))?;
        let columns = result.columns().as_ref().iter().map(|column| column.name_str().into()).collect();
        let mut rows = Vec::new();
        for row in result.by_ref() {
            asking.heard();
            let row = row.map_err(|error| explain(target, line, sql, error))?;
            rows.push(row.unwrap().into_iter().map(text).collect());
        }
        Ok(Rows { columns, rows })
    }

    /// Asks and hands out row by row, as bytes, `None` for NULL; memory holds one row. `each` may end it by
    /// an error, which comes back as [`TargetError::Reader`].
    pub fn for_each_row(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(&[Cell]) -> io::Result<()>,
    ) -> Result<u64, TargetError> {
        let (target, line) = (&self.target, &*self.sentry.line);
        let asking = line.asking();
        let mut result = self.conn.query_iter(sql).map_err(|error| explain(target, line, sql, error))?;
        let mut count = 0;
        let mut values = Vec::new();
        for row in result.by_ref() {
            asking.heard();
            let row = row.map_err(|error| explain(target, line, sql, error))?;
            values.clear();
            values.extend(row.unwrap().into_iter().map(bytes));
            each(&values).map_err(TargetError::Reader)?;
            count += 1;
        }
        Ok(count)
    }

    /// First value of the first row; `None` where there is no row or it is NULL.
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, TargetError> {
        Ok(self.query(sql)?.value().map(str::to_owned))
    }

    /// Executes and returns the number of rows changed.
    pub fn exec(&mut self, sql: &str) -> Result<u64, TargetError> {
        let (target, line) = (&self.target, &*self.sentry.line);
        let _asking = line.asking();
        self.conn.query_drop(sql).map_err(|error| explain(target, line, sql, error))?;
        Ok(self.conn.affected_rows())
    }

    /// Global variables by name, in lower case.
    pub fn variables(&mut self) -> Result<BTreeMap<String, String>, TargetError> {
        let rows = self.query("SHOW GLOBAL VARIABLES")?;
        Ok(pairs(rows).map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    }

    /// Status counters by name, as the server writes them (`Threads_running`).
    pub fn status(&mut self) -> Result<BTreeMap<String, String>, TargetError> {
        Ok(pairs(self.query("SHOW GLOBAL STATUS")?).collect())
    }

    /// Whether the server still answers.
    pub fn ping(&mut self) -> Result<(), TargetError> {
        let (target, line) = (&self.target, &*self.sentry.line);
        let _asking = line.asking();
        self.conn.ping().map_err(|error| explain(target, line, "ping", error))
    }

    /// Ends another connection by its number.
    pub fn kill(&mut self, id: u32) -> Result<(), TargetError> {
        self.exec(&format!("KILL CONNECTION {id}")).map(drop)
    }

    /// Ends the statement of another connection, by that one's number; one that makes none goes on.
    pub fn kill_query(&mut self, id: u32) -> Result<(), TargetError> {
        self.exec(&format!("KILL QUERY {id}")).map(drop)
    }

    /// Executes a LOAD DATA LOCAL statement and streams `reader` to it; returns the rows loaded. The file
    /// name in the statement does not matter.
    ///
    /// Where `reader` fails the server rolls the statement back, and the control connection is a new one
    /// afterwards: session variables and temporary tables are gone.
    pub fn load_data_local(
        &mut self,
        sql: &str,
        mut reader: impl Read + Send + 'static,
    ) -> Result<u64, TargetError> {
        let failure = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&failure);
        self.conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, server| {
            copy(&mut reader, server).map_err(|error| match error {
                CopyError::Read(error) => {
                    let kind = error.kind();
                    if let Ok(mut slot) = slot.lock() {
                        *slot = Some(error);
                    }
                    kind.into()
                }
                CopyError::Write(error) => error,
            })
        })));
        let outcome = self.exec(sql);
        self.conn.set_local_infile_handler(None);
        if let Some(error) = failure.lock().ok().and_then(|mut slot| slot.take()) {
            // The server still waits for rows: only hanging up tells it that they will not come.
            *self = Self::open(&self.target, &self.reopen.0, self.reopen.1)?;
            return Err(TargetError::Reader(error));
        }
        outcome
    }
}

/// Whose error ended the copy.
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

fn copy(reader: &mut impl Read, writer: &mut impl Write) -> Result<(), CopyError> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        writer.write_all(&buffer[..count]).map_err(CopyError::Write)?;
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        other => Some(other.as_sql(true).trim_matches('\'').as_bytes().to_vec()),
    }
}

fn text(value: Value) -> Option<String> {
    bytes(value).map(|bytes| match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

fn pairs(rows: Rows) -> impl Iterator<Item = (String, String)> {
    rows.rows.into_iter().filter_map(|row| {
        let mut values = row.into_iter();
        Some((values.next()??, values.next()?.unwrap_or_default()))
    })
}

/// Turns the driver's error at a statement into ours. 1148 and 3948 (MySQL), 4166 (MariaDB): LOAD DATA LOCAL
/// is off.
fn explain(target: &Target, line: &Line, sql: &str, error: Error) -> TargetError {
    if let Some(cut) = line.failure(target) {
        return cut;
    }
    let address = target.address.to_string();
    match error {
        Error::MySqlError(error) if matches!(error.code, 1148 | 3948 | 4166) => {
            TargetError::LocalInfile { address, message: error.message }
        }
        Error::MySqlError(error) => {
            TargetError::Statement { code: error.code, message: error.message, sql: start_of(sql) }
        }
        Error::IoError(error) => TargetError::Lost { address, reason: error.to_string() },
        Error::CodecError(error) => {
            let reason = connect::io_inside(&error).map_or_else(|| error.to_string(), ToString::to_string);
            TargetError::Lost { address, reason }
        }
        Error::DriverError(error @ (DriverError::PacketOutOfSync | DriverError::UnexpectedPacket)) => {
            TargetError::Protocol { address, reason: error.to_string() }
        }
        other => TargetError::Lost { address, reason: other.to_string() },
    }
}

/// Enough of a statement to know it; an INSERT of a megabyte does not fill the screen.
fn start_of(sql: &str) -> String {
    const CHARACTERS: usize = 120;
    let mut start: String = sql.chars().take(CHARACTERS).collect();
    if start.len() < sql.len() {
        start.push_str(" ...");
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut_at_a_character() {
        assert_eq!(start_of("SELECT 1"), "SELECT 1");
        assert_eq!(start_of(&"ä".repeat(500)).chars().count(), 124);
    }

    #[test]
    fn a_failing_reader_is_told_apart_from_a_failing_server() {
        let broken = &mut io::Error::other("x");
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("disk"))
            }
        }
        assert!(matches!(copy(&mut Broken, &mut io::sink()), Err(CopyError::Read(_))), "{broken}");
        let mut full: &mut [u8] = &mut [];
        assert!(matches!(copy(&mut io::repeat(1), &mut full), Err(CopyError::Write(_))));
    }
}
