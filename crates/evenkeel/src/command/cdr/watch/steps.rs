//! The steps of one file, in their order; what is done is not done again where a later one is tried once more.

use super::super::audit;
use super::line::{AuditOfFile, Left, Passage};
use crate::view::http::{Page, Server};
use crate::view::metric::{Text, metrics};
use crate::{failure, out};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_haul::HaulError;
use evenkeel_haul::audit::Report;
use evenkeel_haul::input::Identity;
use evenkeel_haul::watch::{Chain, Moved, Trouble, WatchError, move_to};
use evenkeel_os::Latest;
use evenkeel_os::clock::Clock;
use serde_json::json;
use std::io;
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
            audit.named_in = Some(note(&self.chain.rejects, path, &report)?);
        }
        passage.audit = Some(audit);
        Ok(())
    }

    fn dispatch(&self, passage: &mut Passage) -> Result<(), WatchError> {
        if passage.dispatched.is_some() || passage.not_dispatched.is_some() {
            return Ok(());
        }
        if let Some(note) = find(&self.chain.rejects)? {
            passage.not_dispatched = Some(why(&note));
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
        Ok(find(&self.chain.rejects)?)
    }
}

/// Whether an audit failed for what somebody did to the file; only then is that no fault of the file or the server.
fn is_of_writer(trouble: Trouble, is_unlike: bool) -> bool {
    trouble == Trouble::Changed || (is_unlike && matches!(trouble, Trouble::Bad | Trouble::Gone))
}

// What an audit found stands in a file, and while that is there nothing of the table is dispatched.
//
// Rows that are not as their file says are in one table, beside the rows of that file alone; once they are in the tables of their
// days they are hard to tell. A file is seen by whoever looks after the folder, is seen by each watch, and lasts over restarts.

/// What the names of such files end with.
const ENDING: &str = ".audit";

/// Writes what was found of a file to `FILE.audit` in the folder of rejects; its path.
pub fn note(rejects: &Path, path: &Path, report: &Report) -> Result<PathBuf, HaulError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let note = rejects.join(format!("{name}{ENDING}"));
    let text = format!("{}\n{}", path.display(), audit::findings(report));
    evenkeel_os::replace(&note, text.as_bytes()).map_err(HaulError::io("write", &note))?;
    Ok(note)
}

/// The first of such files.
pub fn find(rejects: &Path) -> Result<Option<PathBuf>, HaulError> {
    let mut found: Vec<PathBuf> = Vec::new();
    let entries = match rejects.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(HaulError::io("read", rejects))?,
    };
    for entry in entries {
        let path = entry.map_err(HaulError::io("read", rejects))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(ENDING) && !name.starts_with('.') {
            found.push(path);
        }
    }
    Ok(found.into_iter().min())
}

/// Why nothing is dispatched, and how to go on.
pub fn why(note: &Path) -> String {
    format!(
        "{} lists what an audit found: check it, repair the table, and remove that file to go on",
        note.display()
    )
}

/// Serves the latest counts until what it returns is dropped.
pub fn serve(address: &str, latest: &Latest<Counts>, clock: &Clock) -> Result<Server> {
    let (latest, clock) = (latest.clone(), *clock);
    let server = Server::start(address, move |path| match (path, latest.get()) {
        ("/metrics", Some(counts)) => Page::metrics(text(&counts, clock.now())),
        _ => Page::text(404, "there is /metrics\n"),
    })?;
    out::tell(&format!("metrics at http://{}/metrics\n", server.address()));
    Ok(server)
}

/// What has been done since the start.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// When they are read.
    pub now: Nanos,
    /// Files that went through.
    pub done: u64,
    /// Files that could not be loaded.
    pub failed: u64,
    /// Records of files that went through, and what became of them.
    pub records: u64,
    pub rows: u64,
    pub rejects: u64,
    /// Records that went to day tables.
    pub moved: u64,
    /// Files that were held against their table after the load, and what was found.
    pub audited: u64,
    pub audit_findings: u64,
    /// Day tables that were too old, and records that went with them.
    pub dropped_tables: u64,
    pub dropped_records: u64,
    /// Time in each step.
    pub load: Nanos,
    pub audit: Nanos,
    pub dispatch: Nanos,
    pub retire: Nanos,
    /// Files that wait, whole or not.
    pub waiting: usize,
    /// When the one was seen first that waits longest.
    pub oldest: Option<Nanos>,
    /// When a file went through last, seconds since 1970.
    pub last_success: Option<f64>,
    /// Whether the server is waited for.
    pub is_away: bool,
    /// Whether nothing is dispatched since an audit found something.
    pub is_held: bool,
}

/// All metrics, as of `now`.
pub fn text(counts: &Counts, now: Nanos) -> String {
    let mut out = Text::new("evenkeel_watch_");
    out.add(METRICS, &Counts { now, ..counts.clone() });
    out.done()
}

metrics! { METRICS: |c: Counts|
    counter "files_done_total" "Files that went through." => c.done;
    counter "files_failed_total" "Files that could not be loaded." => c.failed;
    counter "records_total" "Records of files that went through." => c.records;
    counter "rows_total" "Rows among them." => c.rows;
    counter "rejects_total" "Rejects among them." => c.rejects;
    counter "moved_records_total" "Records that went to day tables." => c.moved;
    counter "audited_files_total" "Files audited after the load." => c.audited;
    counter "audit_findings_total" "Records found lost, doubled, altered or otherwise wrong." =>
        c.audit_findings;
    counter "dropped_tables_total" "Day tables that were too old." => c.dropped_tables;
    counter "dropped_records_total" "Records in them." => c.dropped_records;
    counter "step_seconds_total" "Time in each step." => json!({ "step": {
        "load": c.load.as_secs_f64(), "audit": c.audit.as_secs_f64(),
        "dispatch": c.dispatch.as_secs_f64(), "retire": c.retire.as_secs_f64(),
    } });
    gauge "files_waiting" "Files that wait, whole or not." => c.waiting;
    gauge "oldest_waiting_seconds" "Time since the oldest waiting file was first seen; 0 if none." =>
        c.oldest.map_or(0.0, |first| (c.now - first).as_secs_f64());
    gauge "last_success_timestamp_seconds" "When a file went through last, seconds since 1970." =>
        c.last_success;
    gauge "server_away" "1 while the server is waited for." => c.is_away;
    gauge "dispatch_held" "1 while nothing is dispatched since an audit found something." => c.is_held;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_audit_that_met_a_writer_is_told_from_one_that_failed() {
        assert!(is_of_writer(Trouble::Changed, true) && is_of_writer(Trouble::Changed, false));
        assert!(is_of_writer(Trouble::Bad, true) && is_of_writer(Trouble::Gone, true));
        assert!(!is_of_writer(Trouble::Bad, false) && !is_of_writer(Trouble::Away, true));
    }

    #[test]
    fn the_first_note_is_found_and_nothing_else_is_one() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a.cdr.rejects", ".b.cdr.audit", "audit"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        assert_eq!(find(home.path()).unwrap(), None);
        for name in ["d.cdr.audit", "c.cdr.audit"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        assert_eq!(find(home.path()).unwrap(), Some(home.path().join("c.cdr.audit")));
        assert_eq!(find(&home.path().join("none")).unwrap(), None);
    }
}
