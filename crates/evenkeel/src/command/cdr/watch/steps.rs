//! The steps of one file, in their order; what is done is not done again where a later one is tried once more.

use super::held;
use super::passage::{AuditOfFile, Left, Passage};
use crate::clock::Clock;
use crate::{failure, out};
use evenkeel_haul::input::Identity;
use evenkeel_haul::watch::{Chain, Moved, Trouble, WatchError, move_to};
use std::path::{Path, PathBuf};

/// What takes a file through its steps.
pub struct Steps<'a> {
    pub chain: Chain<'a>,
    pub clock: Clock,
    /// The folder of files that are done.
    pub done: Option<&'a Path>,
}

impl Steps<'_> {
    /// One attempt at all steps that are not done yet.
    pub fn attempt(&self, path: &Path, passage: &mut Passage) -> Result<(), WatchError> {
        let _turn = self.chain.turn()?;
        self.load(path, passage)?;
        if !passage.is_known() {
            self.audit(path, passage)?;
            self.dispatch(passage)?;
            self.retire(passage)?;
        }
        let is_clean = passage.audit.as_ref().is_none_or(|audit| audit.total() == 0);
        if let Some(loaded) = passage.identity().filter(|_| is_clean) {
            passage.left = self.put_away(path, loaded);
        }
        Ok(())
    }

    fn load(&self, path: &Path, passage: &mut Passage) -> Result<(), WatchError> {
        if passage.loaded.is_some() {
            return Ok(());
        }
        let begin = self.clock.now();
        let loaded = self.chain.load(path, &mut |_| {});
        passage.load += self.clock.now() - begin;
        passage.is_retried |= loaded.is_err();
        let loaded = loaded?;
        loaded.notes.iter().for_each(|note| out::tell(&format!("{note}\n")));
        passage.loaded = Some(loaded);
        Ok(())
    }

    /// Holds the file against its table while its rows are still there, before they go to many.
    fn audit(&self, path: &Path, passage: &mut Passage) -> Result<(), WatchError> {
        let Some(loaded) = passage.loaded.as_ref().filter(|_| passage.audit.is_none()) else { return Ok(()) };
        let identity = passage.identity();
        let is_same = || Identity::of(path) == identity;
        let begin = self.clock.now();
        let report = match is_same() {
            true => self.chain.audit(path, loaded, passage.is_retried),
            false => Ok(None),
        };
        passage.audit_time += self.clock.now() - begin;
        let is_unlike = !is_same();
        let report = match report {
            // Who changes, damages or takes away a file meanwhile may have been met by the audit; what was loaded goes on all the same.
            Err(error) if is_of_writer(error.trouble(path), is_unlike) => {
                passage.is_unlike = true;
                return Ok(());
            }
            report => report?,
        };
        // What was written to the file since then is not to be found missing: it is loaded and audited once it has settled.
        let Some(report) = report.filter(|report| !is_unlike || report.total() == 0) else {
            passage.is_unlike = is_unlike && self.chain.audit;
            return Ok(());
        };
        let mut audit =
            AuditOfFile { found: report.found.clone(), unchecked: report.unchecked, named_in: None };
        if audit.total() > 0 {
            audit.named_in = Some(held::note(&self.chain.rejects, path, &report)?);
        }
        passage.audit = Some(audit);
        Ok(())
    }

    fn dispatch(&self, passage: &mut Passage) -> Result<(), WatchError> {
        if passage.dispatched.is_some() || passage.not_dispatched.is_some() {
            return Ok(());
        }
        if let Some(note) = held::find(&self.chain.rejects)? {
            passage.not_dispatched = Some(held::why(&note));
            return Ok(());
        }
        let begin = self.clock.now();
        let outcome = self.chain.dispatch(&mut |_| {});
        passage.dispatch += self.clock.now() - begin;
        match outcome {
            Err(error) if error.trouble(Path::new("")) == Trouble::Bad => {
                passage.not_dispatched = Some(failure::line(&error.into()));
            }
            outcome => passage.dispatched = Some(outcome?),
        }
        Ok(())
    }

    fn retire(&self, passage: &mut Passage) -> Result<(), WatchError> {
        if passage.retired.is_some() || passage.not_dispatched.is_some() {
            return Ok(());
        }
        let begin = self.clock.now();
        let outcome = self.chain.retire(&mut |_| {});
        passage.retire += self.clock.now() - begin;
        match outcome {
            Err(error) if error.trouble(Path::new("")) == Trouble::Bad => {
                passage.not_retired = Some(failure::line(&error.into()));
            }
            outcome => passage.retired = outcome?,
        }
        Ok(())
    }

    /// Moves a file that is done, if that was asked for. One that cannot be moved is known to be done all the same.
    fn put_away(&self, path: &Path, loaded: Identity) -> Left {
        let is_same = || Identity::of(path).is_none_or(|found| found == loaded);
        let Some(folder) = self.done else {
            return if is_same() { Left::AsItWas } else { Left::Changed };
        };
        match move_to(path, folder, loaded) {
            Ok(Moved::To(_)) => Left::AsItWas,
            Ok(Moved::Changed) => Left::Changed,
            Err(error) => Left::Unmoved(error.to_string()),
        }
    }

    /// The file with what holds back the dispatches of this table, if there is one.
    pub fn held(&self) -> Result<Option<PathBuf>, WatchError> {
        Ok(held::find(&self.chain.rejects)?)
    }
}

/// Whether an audit failed for what somebody did to the file; only then is that no fault of the file or the server.
fn is_of_writer(trouble: Trouble, is_unlike: bool) -> bool {
    trouble == Trouble::Changed || (is_unlike && matches!(trouble, Trouble::Bad | Trouble::Gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_that_met_a_writer_is_told_from_one_that_failed() {
        assert!(is_of_writer(Trouble::Changed, true) && is_of_writer(Trouble::Changed, false));
        assert!(is_of_writer(Trouble::Bad, true) && is_of_writer(Trouble::Gone, true));
        assert!(!is_of_writer(Trouble::Bad, false) && !is_of_writer(Trouble::Away, true));
    }
}
