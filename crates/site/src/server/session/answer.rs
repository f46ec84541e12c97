//! An answer of the server is taken apart while it comes.

use evenkeel_os::tls::TlsError;
use evenkeel_wire::{Completion, Event, LoginError, ProtocolError, Row, ServerError};
use std::io;
use std::io::Read;

/// Gets the rows of an answer, one by one; after an error it gets no more.
pub(in crate::server) type EachRow<'a> = &'a mut dyn FnMut(&Row<'_>) -> Result<(), SessionError>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows that came back.
    pub rows: u64,
    pub affected_rows: u64,
    pub last_insert_id: u64,
    /// Warnings that SHOW WARNINGS would list.
    pub warnings: u16,
    pub(super) prepared: Option<Handle>,
}

impl Outcome {
    /// How the server knows the statement that was prepared.
    pub fn statement(&self) -> Option<u32> {
        self.prepared.map(|handle| handle.statement)
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> u16 {
        self.prepared.map_or(0, |handle| handle.parameters)
    }

    fn note(&mut self, ok: &Completion) {
        self.affected_rows += ok.affected_rows;
        if ok.last_insert_id != 0 {
            self.last_insert_id = ok.last_insert_id;
        }
        self.warnings = ok.warnings;
    }
}

pub(super) struct Taking<'a> {
    each: Option<EachRow<'a>>,
    /// The rows of further results are handed out too.
    all: bool,
    /// What the server may ask for.
    pub file: Option<&'a mut dyn Read>,
    pub wanted: Option<u8>,
    outcome: Outcome,
    /// Does not end the session, so that the rest of the answer is read first.
    failure: Option<SessionError>,
}

impl<'a> Taking<'a> {
    pub fn new(each: Option<EachRow<'a>>) -> Self {
        Self { each, all: false, file: None, wanted: None, outcome: Outcome::default(), failure: None }
    }

    /// That of a statement whose results are all handed out.
    pub fn of_all(each: Option<EachRow<'a>>) -> Self {
        Self { all: true, ..Self::new(each) }
    }

    /// That of a statement that may ask for a file.
    pub fn of_file(file: &'a mut dyn Read) -> Self {
        Self { file: Some(file), ..Self::new(None) }
    }

    pub fn wants_rows(&self) -> bool {
        self.each.is_some()
    }

    /// One thing that the answer says.
    pub fn take(&mut self, event: Event<'_>) -> Result<(), SessionError> {
        match event {
            Event::Row(row) => {
                let taken = self.each.as_mut().map_or(Ok(()), |each| each(&row));
                return taken.or_else(|error| self.fail(error));
            }
            Event::RowsEnd { rows, ok } => {
                // What else a procedure brings is counted and not handed out.
                if !self.all {
                    self.each = None;
                }
                self.outcome.rows += rows;
                self.outcome.warnings = ok.warnings;
            }
            Event::Ok(ok) => self.outcome.note(&ok),
            Event::Prepared { statement, parameters } => {
                self.outcome.prepared = Some(Handle { statement, parameters });
            }
            Event::FileWanted { sequence } => self.wanted = Some(sequence),
            Event::Error(error) => return self.fail(error.into()),
            Event::Columns(_) => {}
        }
        Ok(())
    }

    fn fail(&mut self, error: SessionError) -> Result<(), SessionError> {
        if error.ends_session() {
            return Err(error);
        }
        self.each = None;
        self.failure.get_or_insert(error);
        Ok(())
    }

    pub fn end(self) -> Result<Outcome, SessionError> {
        self.failure.map_or(Ok(self.outcome), Err)
    }
}

/// Why a session cannot be had, or a statement does not work. It becomes a `TargetError`, which says where, and what was asked.
#[derive(Debug, thiserror::Error)]
pub(in crate::server) enum SessionError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Login(LoginError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    File(io::Error),
    #[error(transparent)]
    Enough(io::Error),
    #[error("answer above the limit of {0} bytes")]
    TooLarge(usize),
    #[error("statement takes {expected} parameters, got {found}")]
    Parameters { expected: usize, found: usize },
}

impl SessionError {
    /// Whether nothing more can be asked.
    pub fn ends_session(&self) -> bool {
        !matches!(self, Self::Server(_) | Self::Enough(_) | Self::Parameters { .. })
    }
}

impl From<LoginError> for SessionError {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Server(error) => Self::Server(error),
            LoginError::Protocol(error) => Self::Protocol(error),
            other => Self::Login(other),
        }
    }
}

/// Statements kept at a time: more than a workload has, and few among the 16,382 that a server holds.
const KEPT: usize = 32;

/// How the server knows a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Handle {
    pub statement: u32,
    pub parameters: u16,
}

/// The statements of a session, the one used last at the end.
#[derive(Default)]
pub(super) struct Prepared(Vec<(String, Handle)>);

impl Prepared {
    /// One that is there already; it is the one used last now.
    pub fn find(&mut self, sql: &str) -> Option<Handle> {
        let at = self.0.iter().position(|(known, _)| known == sql)?;
        self.0[at..].rotate_left(1);
        self.0.last().map(|&(_, handle)| handle)
    }

    /// Makes room for one more: the one that was used longest ago goes where there are many, and has to be closed.
    pub fn make_room(&mut self) -> Option<Handle> {
        (self.0.len() >= KEPT).then(|| self.0.remove(0).1)
    }

    /// Keeps one that was just prepared.
    pub fn keep(&mut self, sql: &str, handle: Handle) {
        self.0.push((sql.to_owned(), handle));
    }
}
