//! The control connection carries everything that is asked of a server off the hot path.

use super::connect::{self, Patience};
use super::sentry::{AtStop, Cut, Line, Sentry};
use super::session::{EachRow, Outcome, Session, SessionError};
use super::{ServerVersion, Target, TargetError};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_wire::{Parameter, ProtocolError, Row};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of an answer that is kept as a whole: what servers say of themselves takes less than one.
const ANSWER_MAX: usize = 256 << 20;
/// What keeping a value costs besides its own bytes.
const VALUE_BYTES: usize = 32;
/// ER_WRONG_ARGUMENTS, what a server says where the parameters of a statement are too few or too many.
const WRONG_ARGUMENTS: u16 = 1210;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// A column of the first row.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.rows.first()?.get(self.column(name)?)?.as_deref()
    }

    /// Names with their values.
    pub(super) fn pairs(self) -> impl Iterator<Item = (String, String)> {
        self.rows.into_iter().filter_map(|row| {
            let mut values = row.into_iter();
            Some((values.next()??, values.next()?.unwrap_or_default()))
        })
    }
}

/// One value of a row as the server sent it, `None` for NULL.
pub type Cell = Option<Vec<u8>>;

/// What a server may have set for all sessions otherwise: fewer rows of an answer than there are, and transactions that nobody ends.
const PLAIN: &str = "SET SESSION sql_select_limit = 18446744073709551615, autocommit = 1";

/// A blocking connection that is one's own: no pool, one statement at a time.
///
/// A statement may take as long as the server lets anybody in; one that is silent while it lets nobody in ends with
/// [`TargetError::Silent`] within a minute.
pub struct Control {
    session: Session,
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

/// Gets the rows of an answer as they were sent; an error says that one of them is malformed.
pub type RowTaker<'a> = &'a mut dyn FnMut(&Row<'_>) -> Result<(), ProtocolError>;

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

    /// The same for one who goes elsewhere where a server is silent for so long, at its login or later.
    pub fn connect_within(target: &Target, limit: Duration) -> Result<Self, TargetError> {
        let patience = Patience { limit, ..Patience::default() };
        let mut control = Self::open_with(target, &patience, AtStop::End)?;
        control.limit_waits(limit);
        Ok(control)
    }

    /// The same for one who clears up after a stop: a statement goes on then, as long as the server lets anybody in.
    pub fn connect_to_finish(target: &Target, stop: &Stop) -> Result<Self, TargetError> {
        Self::open(target, stop, AtStop::Finish)
    }

    fn open(target: &Target, stop: &Stop, at_stop: AtStop) -> Result<Self, TargetError> {
        Self::open_with(target, &Patience { stop: stop.clone(), ..Patience::default() }, at_stop)
    }

    fn open_with(target: &Target, patience: &Patience, at_stop: AtStop) -> Result<Self, TargetError> {
        let (session, text) = connect::connect(target, patience)?;
        let stop = &patience.stop;
        let address = target.address.to_string();
        let text = text.unwrap_or_default();
        let version = ServerVersion::parse(&text).ok_or_else(|| TargetError::Protocol {
            address: address.clone(),
            reason: format!("version {text:?}"),
        })?;
        version.check(&address)?;
        let sentry = Sentry::post(&session, target, stop, at_stop).map_err(|error| {
            TargetError::Unreachable { address, reason: format!("cannot watch the connection: {error}") }
        })?;
        let mut control =
            Self { session, sentry, target: target.clone(), version, reopen: (stop.clone(), at_stop) };
        match control.exec(PLAIN) {
            // What stands between us and a server may not take it.
            Ok(_) | Err(TargetError::Statement { .. }) => Ok(control),
            Err(error) => Err(error),
        }
    }

    /// For another thread that wants to end the statement under way.
    pub fn hang_up(&self) -> HangUp {
        HangUp { line: Arc::clone(&self.sentry.line), target: self.target.clone() }
    }

    /// From now on a read or a write that waits longer than this fails: for one who can ask again elsewhere or later.
    pub fn limit_waits(&mut self, limit: Duration) {
        self.sentry.dismiss();
        // A socket that takes no limit is broken, which the next statement will tell.
        let _ = self.session.limit_waits(Some(limit).filter(|limit| !limit.is_zero()));
    }

    pub fn version(&self) -> &ServerVersion {
        &self.version
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The connection's number at the server, for [`Control::kill`].
    pub fn id(&self) -> u32 {
        self.session.id()
    }

    pub fn warnings(&self) -> u16 {
        self.session.warnings()
    }

    /// Why the connection was cut; `None` where it was not.
    pub fn cut(&self) -> Option<TargetError> {
        self.sentry.line.failure(&self.target)
    }

    /// Asks and takes all rows; not for large answers ([`Control::for_each_row`]).
    pub fn query(&mut self, sql: &str) -> Result<Rows, TargetError> {
        let mut rows = Vec::new();
        let mut keep = |row: &Row<'_>| {
            rows.push(texts(row)?);
            Ok(())
        };
        self.run(sql, Some(&mut keep))?;
        Ok(Rows { columns: self.session.names().to_vec(), rows })
    }

    /// Asks and hands out row by row, as bytes, `None` for NULL; memory holds one row. `each` may end it by
    /// an error, which comes back as [`TargetError::Reader`].
    pub fn for_each_row(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(&[Cell]) -> io::Result<()>,
    ) -> Result<u64, TargetError> {
        let (mut count, mut values) = (0, Vec::new());
        self.ask(sql, |session, heard| {
            let mut take = |row: &Row<'_>| {
                heard();
                values.clear();
                for text in row.texts() {
                    values.push(text?.map(Vec::from));
                }
                count += 1;
                each(&values).map_err(SessionError::Enough)
            };
            session.query(sql, Some(&mut take))
        })?;
        Ok(count)
    }

    /// The same, each row as it was sent: nothing is kept of it, however many there are.
    pub fn for_each_row_sent(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(&Row<'_>) -> io::Result<()>,
    ) -> Result<u64, TargetError> {
        let mut count = 0;
        self.ask(sql, |session, heard| {
            let mut take = |row: &Row<'_>| {
                heard();
                count += 1;
                each(row).map_err(SessionError::Enough)
            };
            session.query(sql, Some(&mut take))
        })?;
        Ok(count)
    }

    /// Makes a statement in text. The rows of its first result go to `each`, which may keep them.
    pub fn run(&mut self, sql: &str, each: Option<RowTaker<'_>>) -> Result<Outcome, TargetError> {
        self.ask(sql, |session, heard| kept(each, heard, |each| session.query(sql, each)))
    }

    /// The same for a statement that the server prepares, and keeps for the next time.
    pub fn execute(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
        each: Option<RowTaker<'_>>,
    ) -> Result<Outcome, TargetError> {
        self.ask(sql, |session, heard| kept(each, heard, |each| session.execute(sql, parameters, each)))
    }

    /// Sends a command as a client sent it, its number first. The rows of all its results go to `each`, which keeps none.
    pub fn command(&mut self, bytes: &[u8], each: Option<RowTaker<'_>>) -> Result<Outcome, TargetError> {
        let sql = String::from_utf8_lossy(bytes.get(1..bytes.len().min(1_024)).unwrap_or_default());
        self.ask(&sql, |session, heard| {
            let Some(each) = each else { return session.command(bytes, None) };
            let mut take = |row: &Row<'_>| {
                heard();
                Ok(each(row)?)
            };
            session.command(bytes, Some(&mut take))
        })
    }

    /// Has the server look at a statement that is not made, and keep it for [`Control::execute`].
    pub fn prepare(&mut self, sql: &str) -> Result<(), TargetError> {
        self.ask(sql, |session, _| session.prepare(sql)).map(drop)
    }

    /// Does something with the session while its sentry watches; `sql` is what an error names. What is done calls the
    /// function that it gets with each row that comes.
    fn ask<T>(
        &mut self,
        sql: &str,
        what: impl FnOnce(&mut Session, &dyn Fn()) -> Result<T, SessionError>,
    ) -> Result<T, TargetError> {
        let line = &*self.sentry.line;
        let asking = line.asking();
        what(&mut self.session, &|| asking.heard()).map_err(|error| explain(&self.target, line, sql, error))
    }

    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>, TargetError> {
        Ok(self.query(sql)?.value().map(str::to_owned))
    }

    pub fn exec(&mut self, sql: &str) -> Result<u64, TargetError> {
        self.ask(sql, |session, _| session.query(sql, None)).map(|outcome| outcome.affected_rows)
    }

    /// Global variables by name, in lower case.
    pub fn variables(&mut self) -> Result<BTreeMap<String, String>, TargetError> {
        let rows = self.query("SHOW GLOBAL VARIABLES")?;
        Ok(rows.pairs().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    }

    /// Status counters by name, as the server writes them (`Threads_running`).
    pub fn status(&mut self) -> Result<BTreeMap<String, String>, TargetError> {
        Ok(self.query("SHOW GLOBAL STATUS")?.pairs().collect())
    }

    /// Whether the server still answers.
    pub fn ping(&mut self) -> Result<(), TargetError> {
        self.ask("ping", |session, _| session.ping())
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
    pub fn load_data_local(&mut self, sql: &str, mut reader: impl Read) -> Result<u64, TargetError> {
        let outcome = self.ask(sql, |session, _| session.load(sql, &mut reader));
        if matches!(outcome, Err(TargetError::Reader(_))) {
            // The server still waited for rows: only hanging up has told it that they will not come.
            *self = Self::open(&self.target, &self.reopen.0, self.reopen.1)?;
        }
        outcome.map(|outcome| outcome.affected_rows)
    }
}

/// What is left of the memory for an answer.
struct Room(usize);

impl Room {
    fn take(&mut self, row: &Row<'_>) -> Result<(), SessionError> {
        let wanted = row.size() + VALUE_BYTES * row.width();
        self.0 = self.0.checked_sub(wanted).ok_or(SessionError::TooLarge(ANSWER_MAX))?;
        Ok(())
    }
}

/// Asks with a taker of rows that may keep them, which has its limit.
fn kept<T>(
    each: Option<RowTaker<'_>>,
    heard: &dyn Fn(),
    ask: impl FnOnce(Option<EachRow<'_>>) -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    let Some(each) = each else { return ask(None) };
    let mut room = Room(ANSWER_MAX);
    ask(Some(&mut |row| {
        heard();
        room.take(row)?;
        Ok(each(row)?)
    }))
}

fn texts(row: &Row<'_>) -> Result<Vec<Option<String>>, ProtocolError> {
    row.texts().map(|text| Ok(text?.map(|text| String::from_utf8_lossy(text).into_owned()))).collect()
}

/// Says what is wrong with a statement. 1148 and 3948 (MySQL), 4166 (MariaDB): LOAD DATA LOCAL is off.
fn explain(target: &Target, line: &Line, sql: &str, error: SessionError) -> TargetError {
    if let Some(cut) = line.failure(target) {
        return cut;
    }
    let address = target.address.to_string();
    match error {
        SessionError::Server(error) if matches!(error.code, 1148 | 3948 | 4166) => {
            TargetError::LocalInfile { address, message: error.text }
        }
        SessionError::Server(error) => {
            TargetError::Statement { code: error.code, message: error.text, sql: start_of(sql) }
        }
        SessionError::Parameters { .. } => {
            TargetError::Statement { code: WRONG_ARGUMENTS, message: error.to_string(), sql: start_of(sql) }
        }
        SessionError::File(error) | SessionError::Enough(error) => TargetError::Reader(error),
        SessionError::Protocol(ProtocolError::TooLarge { .. }) => {
            TargetError::Lost { address, reason: error.to_string() }
        }
        SessionError::Protocol(error) => TargetError::Protocol { address, reason: error.to_string() },
        other => {
            let reason = format!("{other}, while waiting for the answer to {:?}", start_of(sql));
            TargetError::Lost { address, reason }
        }
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
