//! How far the server is with a rebuild, seen by a second connection, and its replicas behind it.

use crate::server::{Control, Target, TargetError, literal};
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

/// Two looks a second cost a server nothing.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const END_EVERY: Duration = Duration::from_millis(20);

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    pub elapsed_s: f64,
    /// Bytes of the file that the server builds; `None` where they cannot be seen.
    pub built_bytes: Option<u64>,
    /// Of the bytes that it will have.
    pub share: Option<f64>,
}

/// What a relayout tells while it works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told<'a> {
    Step(&'a str),
    Progress(Progress),
}

/// Who looks at a rebuild from outside.
pub(super) struct Watch<'a> {
    pub target: &'a Target,
    /// The folder of the database, where it is on this machine.
    pub folder: Option<PathBuf>,
    /// Bytes of the file after the rebuild, about.
    pub rebuilt_bytes: u64,
    pub stop: &'a Stop,
}

impl Watch<'_> {
    /// Makes a statement that takes long, and tells how far it is.
    pub fn exec(
        &self,
        control: &mut Control,
        sql: &str,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<u64, TargetError> {
        let begin = monotonic();
        // Without a second connection only the time is told.
        let mut looker = Control::connect_until(self.target, self.stop).ok();
        thread::scope(|scope| {
            let work = scope.spawn(|| control.exec(sql));
            let mut looked = begin;
            while !work.is_finished() {
                thread::sleep(END_EVERY);
                if (monotonic() - looked).as_secs_f64() >= LOOK_EVERY.as_secs_f64() {
                    looked = monotonic();
                    let elapsed_s = (looked - begin).as_secs_f64();
                    tell(Told::Progress(self.look(looker.as_mut(), elapsed_s)));
                }
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn look(&self, looker: Option<&mut Control>, elapsed_s: f64) -> Progress {
        let of_folder = self.folder.as_deref().and_then(built_in);
        let built_bytes = of_folder.or_else(|| self.built(looker?));
        let known = built_bytes.filter(|_| self.rebuilt_bytes > 0);
        let share = known.map(|bytes| (bytes as f64 / self.rebuilt_bytes as f64).min(0.99));
        Progress { elapsed_s, built_bytes, share }
    }

    /// The file that is built, as MariaDB lists it; MySQL does not list it before it is done.
    fn built(&self, looker: &mut Control) -> Option<u64> {
        let database = literal(self.target.database.as_deref()?.as_bytes());
        let sql = format!(
            "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE LEFT(NAME, CHAR_LENGTH({database}) + 5) = \
             CONCAT({database}, '/#sql')"
        );
        looker.query_value(&sql).ok()??.parse().ok()
    }
}

/// Bytes of the files that a rebuild makes in the folder of a database.
fn built_in(folder: &Path) -> Option<u64> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let built = files.filter(|file| file.file_name().to_string_lossy().starts_with("#sql"));
    let sizes: Vec<u64> = built.filter_map(|file| file.metadata().ok()).map(|file| file.len()).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_a_rebuild_makes_are_counted_and_no_others() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(built_in(home.path()), None);
        for (name, bytes) in [("item.ibd", 7), ("#sql-alter-1.ibd", 30), ("#sql-ib2.ibd", 12)] {
            fs::write(home.path().join(name), vec![0; bytes]).unwrap();
        }
        assert_eq!(built_in(home.path()), Some(42));
    }
}
