//! A server is waited for until it answers, or it is found out why it does not.

use super::cgroup::Groups;
use super::diagnosis::{Log, diagnose, hopeless};
use super::error::Failure;
use super::paths::Paths;
use super::server::Server;
use super::{SandboxError, image, net};
use crate::Survivor;
use crate::server::{Control, Target, TargetError};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// Recovery after a crash may take minutes, and the log says how far it is; a log that stands still this
/// long is a server that hangs.
const SILENCE: Duration = Duration::from_secs(120);

pub(super) struct Startup<'a> {
    pub name: &'a str,
    pub server: &'a Server,
    pub groups: &'a Groups,
    /// Processes that the kernel had killed in these groups before this start.
    pub oom_before: u64,
    pub log: &'a Log,
    pub port: u16,
    /// Where it is to listen.
    pub bind: Ipv4Addr,
}

impl Startup<'_> {
    /// Returns when the server answers `target`, and nobody else.
    pub(super) fn wait(&self, target: &Target, stop: &Stop) -> Result<(), SandboxError> {
        let clock = Clock::start();
        let (mut size, mut grown) = (0, clock.now());
        loop {
            if stop.is_set() {
                return Err(SandboxError::Stopped { name: self.name.into() });
            }
            if !self.server.id.is_alive() {
                return Err(self.failed(self.failure()));
            }
            match Control::connect_until(target, stop) {
                Ok(mut control) => {
                    return match self.check_private(&mut control, target, stop) {
                        Err(SandboxError::Target(TargetError::Stopped)) => {
                            Err(SandboxError::Stopped { name: self.name.into() })
                        }
                        checked => checked,
                    };
                }
                Err(error) if is_not_yet(&error) => {}
                Err(error) => return Err(error.into()),
            }
            if self.log.size() != size {
                (size, grown) = (self.log.size(), clock.now());
                if let Some(failure) = hopeless(&self.log.text(), self.port) {
                    return Err(self.failed(failure));
                }
            }
            if Duration::from(clock.now() - grown) > SILENCE {
                return Err(self.failed(Failure::Silent(SILENCE.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whatever its settings have made of it: it lets in nobody who has a wrong password, and nobody from elsewhere.
    fn check_private(&self, control: &mut Control, target: &Target, stop: &Stop) -> Result<(), SandboxError> {
        let stranger = Target { password: Some("another one".into()), database: None, ..target.clone() };
        let open = match Control::connect_until(&stranger, stop) {
            Err(TargetError::Login { .. }) => {
                let asked = format!("SELECT @@bind_address = '{}' AND @@skip_name_resolve", self.bind);
                let is_local = control.query_value(&asked)?;
                (is_local.as_deref() != Some("1"))
                    .then_some("it listens to other machines, or treats them as local")
            }
            Err(error) => return Err(error.into()),
            Ok(_) => Some("it does not require the password"),
        };
        open.map_or(Ok(()), |what| Err(self.failed(Failure::Open(what))))
    }

    /// Why a server that has ended did so.
    pub(super) fn failure(&self) -> Failure {
        let status = self.server.exit_status();
        if self.groups.oom_kills() > self.oom_before {
            return Failure::OutOfMemory;
        }
        match status.and_then(|status| status.signal()) {
            // A signal from outside says nothing to the log; what stands there is not the cause.
            Some(signal @ (libc::SIGKILL | libc::SIGTERM | libc::SIGINT)) => Failure::Killed(signal),
            signal => diagnose(&self.log.text(), self.port).unwrap_or_else(|| match (signal, status) {
                (Some(signal), _) => Failure::Killed(signal),
                (None, Some(status)) => Failure::Ended(status.to_string()),
                (None, None) => Failure::Ended("it was started by another evenkeel".into()),
            }),
        }
    }

    pub(super) fn failed(&self, failure: Failure) -> SandboxError {
        SandboxError::Server { name: self.name.into(), failure, log: self.log.tail() }
    }
}

fn is_not_yet(error: &TargetError) -> bool {
    matches!(
        error,
        TargetError::Refused { .. }
            | TargetError::Unreachable { .. }
            | TargetError::Lost { .. }
            | TargetError::Timeout { .. }
            // Seen at the next look at the switch.
            | TargetError::Stopped
    )
}

// A small process outlives a crash of this one and removes what it leaves.
//
// It kills the server (which matters while a detached one starts; an ephemeral one was killed by the kernel
// already) and removes its groups, its mount and its network. It is told of each before that is made.

/// The start time is compared because process numbers are used again. A group can be removed once the
/// kernel has taken its last process apart, and so can a mount; a program that mounts may still be at it.
const SCRIPT: &str = r#"
while IFS= read -r line; do
    rest=${line#* }
    case $line in
        done) exit 0 ;;
        server\ *) pid=${rest% *} start=${rest#* } ;;
        group\ *) set -- "$@" "$rest" ;;
        disk\ *) disk=$rest ;;
        net\ *) net=$rest ;;
    esac
done
[ -n "$pid" ] && [ "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f20)" = "$start" ] && kill -KILL "$pid"
for group; do
    tries=0
    while [ -d "$group" ] && ! rmdir "$group" 2>/dev/null && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    rmdir "${group%/*}" 2>/dev/null
done
[ -n "$disk$net" ] && sleep 0.3
tries=0
while [ -n "$disk" ] && mountpoint -q "$disk" && ! umount "$disk" 2>/dev/null && [ $tries -lt 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
[ -n "$net" ] && remove_net "$net"
"#;

/// Hires one. It is told lines: `server PID START`, `group FOLDER`, `disk FOLDER`, `net NAME`.
pub(super) fn janitor() -> io::Result<Survivor> {
    Survivor::start(&[net::REMOVE, SCRIPT].concat(), "evenkeel-janitor", [])
}

/// Removes what a killed evenkeel, and its janitor, have left of a sandbox that nobody uses: groups, mount and network.
pub(super) fn sweep(paths: &Paths) -> Result<(), SandboxError> {
    drop(Groups::left(&paths.group_prefix()));
    net::remove(&net::name(paths.hash()));
    image::unmount_all(paths)
}

#[cfg(test)]
mod tests {
    use super::super::record::ProcessId;
    use super::*;
    use std::path::PathBuf;
    use std::process::{Child, Command};
    use std::time::Duration;

    fn hired(server: ProcessId, groups: &[PathBuf]) -> Survivor {
        let mut janitor = janitor().unwrap();
        janitor.tell(&format!("server {} {}", server.pid, server.start_time)).unwrap();
        groups.iter().for_each(|group| janitor.tell(&format!("group {}", group.display())).unwrap());
        janitor
    }

    fn sleeper() -> (Child, ProcessId) {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let id = ProcessId::of(child.id() as i32).unwrap();
        (child, id)
    }

    #[test]
    fn a_crash_ends_the_server_and_removes_its_groups() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evenkeel/a b");
        std::fs::create_dir_all(&path).unwrap();
        let (mut child, id) = sleeper();
        let groups = [path];
        hired(id, &groups).crash();
        assert!(id.wait(Duration::from_secs(60)));
        assert!(!dir.path().join("evenkeel").exists());
        child.wait().unwrap();
    }

    #[test]
    fn a_dismissed_janitor_touches_nothing_and_a_reused_number_is_not_killed() {
        let (mut child, id) = sleeper();
        hired(id, &[]).dismiss();
        assert!(id.is_alive());
        hired(ProcessId { start_time: id.start_time + 1, ..id }, &[]).crash();
        assert!(id.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
