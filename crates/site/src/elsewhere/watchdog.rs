//! A small process outlives a crash of this one, and then ends the group of a command.
//!
//! It is a shell that waits on a pipe from us. When we say "done" it leaves; when the pipe closes without a word we have been
//! killed. The kernel ends the leader of the group by then, and nobody else of it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const SCRIPT: &str = r#"
read -r word
[ "$word" = done ] || kill -KILL "-$1"
"#;

#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    pub(super) fn start(leader: u32) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "evenkeel-watchdog", &leader.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: Ctrl-C in the terminal is not for it.
        command.env_remove("EVENKEEL_PASSWORD").process_group(0).current_dir("/").spawn().map(Self)
    }

    /// The group has ended.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.0.wait();
    }

    /// What it sees when we are killed.
    #[cfg(test)]
    pub(super) fn crash(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("a watchdog");
    }
}
