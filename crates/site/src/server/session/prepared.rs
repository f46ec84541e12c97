//! Statements that the server keeps for a session, by their text.

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
