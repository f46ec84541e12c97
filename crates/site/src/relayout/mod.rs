//! A table is built anew in place by the server, so that its rows and indexes lie in the order of their keys.

mod error;
mod facts;
mod in_place;
mod session;

pub use error::RelayoutError;
pub use facts::{Facts, tables};
pub use in_place::{Done, Waits};

use crate::server::{Control, Target, TargetError, quoted};
use evenkeel_os::stop::Stop;

pub struct Relayout<'a> {
    pub target: &'a Target,
    /// Ends it early: the table is as it was then.
    pub stop: &'a Stop,
}

impl Relayout<'_> {
    /// Builds a table anew.
    ///
    /// # Errors
    /// Why it is refused, or what the server said. The table is as it was.
    pub fn run(&self, facts: &Facts, tell: &mut dyn FnMut(&str)) -> Result<Done, RelayoutError> {
        if let Some(error) = facts.refusal() {
            return Err(error);
        }
        if self.stop.is_set() {
            return Err(RelayoutError::Server(TargetError::Stopped));
        }
        let mut control = Control::connect_until(self.target, self.stop)?;
        session::prepare(&mut control)?;
        let done = in_place::run(&mut control, &facts.table, tell)?;
        // The statistics are of the old pages, and so would be the plans; a server that makes none now will later.
        let _ = control.query(&format!("ANALYZE TABLE {}", quoted(&facts.table)));
        Ok(done)
    }
}
