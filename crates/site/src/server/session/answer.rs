//! An answer of the server is taken apart while it comes.

use super::SessionError;
use super::prepared::Handle;
use evenkeel_wire::{Completion, Event, Row};
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
    /// What the server may ask for.
    pub file: Option<&'a mut dyn Read>,
    pub wanted: Option<u8>,
    outcome: Outcome,
    /// Does not end the session, so that the rest of the answer is read first.
    failure: Option<SessionError>,
}

impl<'a> Taking<'a> {
    pub fn new(each: Option<EachRow<'a>>) -> Self {
        Self { each, file: None, wanted: None, outcome: Outcome::default(), failure: None }
    }

    /// That of a statement that may ask for a file.
    pub fn of_file(file: &'a mut dyn Read) -> Self {
        Self { file: Some(file), ..Self::new(None) }
    }

    pub fn wants_rows(&self) -> bool {
        self.each.is_some()
    }

    /// One thing that the answer says.
    ///
    /// # Errors
    /// Those that end the session.
    pub fn take(&mut self, event: Event<'_>) -> Result<(), SessionError> {
        match event {
            Event::Row(row) => {
                let taken = self.each.as_mut().map_or(Ok(()), |each| each(&row));
                return taken.or_else(|error| self.fail(error));
            }
            Event::RowsEnd { rows, ok } => {
                // What else a procedure brings is counted and not handed out.
                self.each = None;
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
