//! A table is built anew, so that its rows and indexes lie in the order of their keys: in place by the server, or as a copy that is
//! verified and then takes the table's place.

mod error;
mod facts;
mod fresh;
mod how;
mod in_place;
mod names;
mod session;
mod sums;
mod swap;

pub use error::RelayoutError;
pub use facts::{Facts, tables};
pub use how::{Done, How, Relayout, Waits};
pub use names::{BEFORE, COPY};

use crate::server::{Control, TargetError, quoted};

impl Relayout<'_> {
    /// Builds a table anew.
    ///
    /// # Errors
    /// What cannot be kept, by name; what the server said. The table is as it was, unless the error says that the copy has its
    /// place.
    pub fn run(&self, facts: &Facts, tell: &mut dyn FnMut(&str)) -> Result<Done, RelayoutError> {
        if let Some(error) = facts.refusal(self.how) {
            return Err(error);
        }
        self.proceed()?;
        let mut control = Control::connect_until(self.target, self.stop)?;
        session::prepare(&mut control)?;
        let done = match self.how {
            How::InPlace => in_place::run(&mut control, &facts.table, tell),
            How::Fresh => fresh::run(&mut control, self, &facts.table, tell),
        }?;
        // The statistics are of the old pages, and so would be the plans; a server that makes none now will later.
        let _ = control.query(&format!("ANALYZE TABLE {}", quoted(&facts.table)));
        Ok(done)
    }

    /// Ends where somebody asked to stop: a statement that takes less than a second is not broken off.
    fn proceed(&self) -> Result<(), RelayoutError> {
        match self.stop.is_set() {
            true => Err(RelayoutError::Server(TargetError::Stopped)),
            false => Ok(()),
        }
    }
}
