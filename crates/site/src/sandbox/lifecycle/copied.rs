//! A sandbox whose data directory is that of another one, file by file: the same pages in the same places.

use crate::copy::Snapshot;
use crate::sandbox::paths::Paths;
use crate::sandbox::record::{ProcessId, Record, new_password};
use crate::sandbox::{Domain, Events, SandboxError, SandboxEvent, SandboxSpec, image, net};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::time::Duration;

/// Copies the data of the sandbox that is to be like, which must be stopped. They appear whole or not at all.
pub(super) fn copy_data(
    spec: &SandboxSpec,
    other: &str,
    paths: &Paths,
    looks: (&Stop, Events<'_>),
) -> Result<(), SandboxError> {
    let (from, _) = stopped(spec, other, looks)?;
    if from.image().exists() {
        let reason = "has its data on a file disk, which cannot be copied from".to_owned();
        return Err(SandboxError::FileDisk { name: other.to_owned(), reason });
    }
    let copied = Snapshot::take(&from.data(), &paths.data());
    copied.map(drop).map_err(|source| SandboxError::Copy { name: other.to_owned(), source })
}

/// The password of a new sandbox: accounts are part of the data, so that of a copy is that of its original.
pub(super) fn password(spec: &SandboxSpec, looks: (&Stop, Events<'_>)) -> Result<String, SandboxError> {
    match spec.data.original() {
        Some(other) => Ok(stopped(spec, other, looks)?.1.password),
        None => new_password(),
    }
}

/// The program that a sandbox ran last, if it is still there; of a copy, that of its original.
pub(super) fn known_binary(spec: &SandboxSpec) -> Option<std::path::PathBuf> {
    let known = |name: &str| Record::load(&Paths::new(&spec.home, name).ok()?).ok()?;
    let record = known(&spec.name).or_else(|| known(spec.data.original()?))?;
    Some(record.server_binary).filter(|path| path.is_file())
}

fn stopped(
    spec: &SandboxSpec,
    name: &str,
    (stop, events): (&Stop, Events<'_>),
) -> Result<(Paths, Record), SandboxError> {
    let paths = Paths::new(&spec.home, name)?;
    let unknown = || SandboxError::Unknown { name: name.to_owned(), home: spec.home.clone() };
    let record = load_stopped(&paths, stop, events)?.ok_or_else(unknown)?;
    Ok((paths, record))
}

/// A killed server is taken apart by the kernel, which has all its memory to give back.
const KILLED_PATIENCE: Duration = Duration::from_secs(60);

/// How often somebody who asked to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The record of a sandbox that does not run, if there is one.
pub(super) fn load_stopped(
    paths: &Paths,
    stop: &Stop,
    events: Events<'_>,
) -> Result<Option<Record>, SandboxError> {
    let record = Record::load(paths)?;
    let running = record.as_ref().and_then(|record| Some((record, record.live()?)));
    match running {
        Some((record, id)) if !ends(paths, record, id, (stop, events)) => Err(match stop.is_set() {
            true => SandboxError::Stopped { name: paths.name.clone() },
            false => SandboxError::AlreadyRunning { name: paths.name.clone(), pid: id.pid },
        }),
        _ => Ok(record),
    }
}

/// Waits for the end of a server whose evenkeel was killed: the kernel killed it too, and it may take a moment. Whoever lives
/// holds the lock; a detached server is to go on.
fn ends(paths: &Paths, record: &Record, id: ProcessId, (stop, events): (&Stop, Events<'_>)) -> bool {
    if record.detached {
        return false;
    }
    let Ok(_nobody_begins_meanwhile) = paths.lock() else { return false };
    if id.wait(LOOK_EVERY) {
        return true;
    }
    events(SandboxEvent::Note(format!(
        "waiting for the end of process {}, whose evenkeel was killed",
        id.pid
    )));
    let clock = Clock::start();
    while !stop.is_set() && Duration::from(clock.now()) < KILLED_PATIENCE {
        if id.wait(LOOK_EVERY) {
            return true;
        }
    }
    false
}

/// Whether this machine can have it, as far as that is known before anything is made.
pub(super) fn check_domain(domain: &Domain) -> Result<(), SandboxError> {
    domain.check()?;
    domain.net.map_or(Ok(()), net::check)?;
    domain.file_disk.map_or(Ok(()), image::check)
}

/// Data are where they were made: on a file disk of this size and kind, or in none.
pub(super) fn check_file_disk(
    paths: &Paths,
    record: &Record,
    spec: &SandboxSpec,
) -> Result<(), SandboxError> {
    let refuse = |reason| Err(SandboxError::FileDisk { name: paths.name.clone(), reason });
    match (record.domain.file_disk, spec.domain.file_disk) {
        (Some(made), wanted) if paths.image().exists() && wanted != Some(made) => {
            refuse(format!("has its data on a file disk: start it with file-disk={made}"))
        }
        (_, Some(_)) if !paths.image().exists() && paths.data().exists() => {
            refuse("has its data in no file disk".to_owned())
        }
        _ => Ok(()),
    }
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

    fn stopped(paths: &Paths) -> Result<Option<Record>, SandboxError> {
        load_stopped(paths, &Stop::default(), &mut |_| {})
    }

    fn runs_already(paths: &Paths) -> bool {
        matches!(stopped(paths), Err(SandboxError::AlreadyRunning { .. }))
    }

    #[test]
    fn a_server_whose_evenkeel_was_killed_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let (paths, server) = noted(home.path(), false);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            end(server);
        });
        assert!(stopped(&paths).unwrap().is_some());
        killer.join().unwrap();
    }

    #[test]
    fn one_that_does_not_end_is_waited_for_until_somebody_asks_to_stop() {
        let home = tempfile::tempdir().unwrap();
        let (paths, server) = noted(home.path(), false);
        let (stop, mut told) = (Stop::default(), Vec::new());
        stop.set();
        let found = load_stopped(&paths, &stop, &mut |event| told.push(event));
        assert!(matches!(found, Err(SandboxError::Stopped { .. })));
        let text = format!("waiting for the end of process {}, whose evenkeel was killed", server.id());
        assert_eq!(told, [SandboxEvent::Note(text)]);
        end(server);
    }

    #[test]
    fn a_server_that_somebody_holds_or_that_is_to_go_on_runs_already() {
        let home = tempfile::tempdir().unwrap();
        let (paths, server) = noted(home.path(), true);
        assert!(runs_already(&paths));
        end(server);
        assert!(stopped(&paths).unwrap().is_some());

        let (paths, server) = noted(home.path(), false);
        let held = paths.lock().unwrap();
        assert!(runs_already(&paths));
        drop(held);
        end(server);
    }
}
