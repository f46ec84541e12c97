//! A small process outlives a crash of this one and removes what it leaves.
//!
//! It kills the server (which matters while a detached one starts; an ephemeral one was killed by the kernel
//! already) and removes its groups.

use super::cgroup::Cgroup;
use super::process::ProcessId;
use crate::survivor::Survivor;
use std::ffi::OsString;
use std::io;

/// The start time is compared because process numbers are used again. A group can be removed once the
/// kernel has taken its last process apart.
const SCRIPT: &str = r#"
read -r word
[ "$word" = done ] && exit 0
pid=$1 start=$2
shift 2
[ "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f20)" = "$start" ] && kill -KILL "$pid"
for group; do
    tries=0
    while [ -d "$group" ] && ! rmdir "$group" 2>/dev/null && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    rmdir "${group%/*}" 2>/dev/null
done
"#;

pub(super) fn hire(server: ProcessId, groups: &[Cgroup]) -> io::Result<Survivor> {
    let server = [server.pid.to_string(), server.start_time.to_string()].map(OsString::from);
    let groups = groups.iter().map(|group| group.path.clone().into_os_string());
    Survivor::start(SCRIPT, "evenkeel-janitor", server.into_iter().chain(groups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};
    use std::time::Duration;

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
        let groups = [Cgroup { controllers: vec![], path }];
        hire(id, &groups).unwrap().crash();
        assert!(id.wait(Duration::from_secs(60)));
        assert!(!dir.path().join("evenkeel").exists());
        child.wait().unwrap();
    }

    #[test]
    fn a_dismissed_janitor_touches_nothing_and_a_reused_number_is_not_killed() {
        let (mut child, id) = sleeper();
        hire(id, &[]).unwrap().dismiss();
        assert!(id.is_alive());
        hire(ProcessId { start_time: id.start_time + 1, ..id }, &[]).unwrap().crash();
        assert!(id.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
