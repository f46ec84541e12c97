//! A sandbox that nobody uses: its server has ended, or is about to.

use crate::sandbox::SandboxError;
use crate::sandbox::paths::Paths;
use crate::sandbox::process::ProcessId;
use crate::sandbox::record::Record;
use std::time::Duration;

/// A killed server is taken apart by the kernel, which has all its memory to give back.
const KILLED_PATIENCE: Duration = Duration::from_secs(60);

/// The record of a sandbox that does not run, if there is one.
pub(super) fn load_stopped(paths: &Paths) -> Result<Option<Record>, SandboxError> {
    let record = Record::load(paths)?;
    let running = record.as_ref().and_then(|record| Some((record, record.live()?)));
    match running {
        Some((record, id)) if !is_ending(paths, record, id) => {
            Err(SandboxError::AlreadyRunning { name: paths.name.clone(), pid: id.pid })
        }
        _ => Ok(record),
    }
}

/// Waits for the end of a server whose evenkeel was killed: the kernel killed it too, and it may take a moment. Whoever lives
/// holds the lock; a detached server is to go on.
fn is_ending(paths: &Paths, record: &Record, id: ProcessId) -> bool {
    if record.detached {
        return false;
    }
    let Ok(_nobody_begins_meanwhile) = paths.lock() else { return false };
    id.wait(KILLED_PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// Notes of a sandbox whose server is this process.
    fn noted(home: &std::path::Path, detached: bool) -> (Paths, Child) {
        let server = Command::new("sleep").arg("600").spawn().unwrap();
        let paths = Paths::new(home, "a").unwrap();
        paths.create().unwrap();
        let mut record = Record::new(home.join("s"), String::new());
        record.detached = detached;
        record.set_running(ProcessId::of(server.id() as i32), &[]);
        record.save(&paths).unwrap();
        (paths, server)
    }

    fn end(mut server: Child) {
        server.kill().unwrap();
        server.wait().unwrap();
    }

    fn runs_already(paths: &Paths) -> bool {
        matches!(load_stopped(paths), Err(SandboxError::AlreadyRunning { .. }))
    }

    #[test]
    fn a_server_whose_evenkeel_was_killed_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let (paths, server) = noted(home.path(), false);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            end(server);
        });
        assert!(load_stopped(&paths).unwrap().is_some());
        killer.join().unwrap();
    }

    #[test]
    fn a_server_that_somebody_holds_or_that_is_to_go_on_runs_already() {
        let home = tempfile::tempdir().unwrap();
        let (paths, server) = noted(home.path(), true);
        assert!(runs_already(&paths));
        end(server);
        assert!(load_stopped(&paths).unwrap().is_some());

        let (paths, server) = noted(home.path(), false);
        let held = paths.lock().unwrap();
        assert!(runs_already(&paths));
        drop(held);
        end(server);
    }
}
