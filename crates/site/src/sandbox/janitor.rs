//! A small process outlives a crash of this one and removes what it leaves.
//!
//! It is a shell that waits on a pipe from us. When we say "done" it leaves; when the pipe closes without a
//! word, we have crashed: it kills the server (which matters while a detached one starts; an ephemeral one
//! was killed by the kernel already) and removes its groups.

use super::cgroup::Cgroup;
use super::process::ProcessId;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

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

#[derive(Debug)]
pub(super) struct Janitor(Child);

impl Janitor {
    pub(super) fn hire(server: ProcessId, groups: &[Cgroup]) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "evenkeel-janitor"]);
        command.args([server.pid.to_string(), server.start_time.to_string()]);
        command.args(groups.iter().map(|group| &group.path));
        // A group of its own: Ctrl-C in the terminal is not for it.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.current_dir("/").spawn().map(Self)
    }

    /// There is nothing to clean up, or we do it ourselves.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn sleeper() -> (Child, ProcessId) {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let id = ProcessId::of(child.id() as i32).unwrap();
        (child, id)
    }

    fn crash(janitor: Janitor) {
        let mut child = janitor.0;
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_crash_ends_the_server_and_removes_its_groups() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evenkeel/a b");
        std::fs::create_dir_all(&path).unwrap();
        let (mut child, id) = sleeper();
        let groups = [Cgroup { controllers: vec![], path }];
        crash(Janitor::hire(id, &groups).unwrap());
        assert!(id.wait(Duration::from_secs(60)));
        assert!(!dir.path().join("evenkeel").exists());
        child.wait().unwrap();
    }

    #[test]
    fn a_dismissed_janitor_touches_nothing_and_a_reused_number_is_not_killed() {
        let (mut child, id) = sleeper();
        Janitor::hire(id, &[]).unwrap().dismiss();
        assert!(id.is_alive());
        crash(Janitor::hire(ProcessId { start_time: id.start_time + 1, ..id }, &[]).unwrap());
        assert!(id.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
