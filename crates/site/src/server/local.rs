//! The process of a server that runs on this machine, be it in a container or another root.

use super::Control;
use evenkeel_os::read_whole;
use evenkeel_sense::far::{listens, number_inside, servers};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    pub pid: u32,
    /// Its data directory; below `/proc/PID/root` where the server has another root.
    pub data_dir: PathBuf,
}

impl Local {
    /// The one process here that has the server's host name and the number in the server's pid file; of several, the one that
    /// listens on its port.
    pub fn of(control: &mut Control) -> Option<Self> {
        let answer = control.query("SELECT @@hostname, @@port, @@datadir, @@pid_file").ok()?;
        let [Some(host), Some(port), Some(data), Some(pid_file)] = &answer.rows.first()?[..] else {
            return None;
        };
        let pid_file = Path::new(data).join(pid_file);
        let mut found: Vec<Self> = servers()
            .into_iter()
            .filter(|pid| has_name(*pid, host))
            .filter_map(|pid| {
                let root = root_of(pid, &pid_file)?;
                Some(Self { pid, data_dir: below(&root, Path::new(data)) })
            })
            .collect();
        if found.len() > 1 {
            let port = port.parse().ok()?;
            found.retain(|local| listens(local.pid, port));
        }
        found.pop().filter(|_| found.is_empty())
    }
}

/// Whether the machine or the container of a process is called so.
fn has_name(pid: u32, host: &str) -> bool {
    let files = ["/proc/sys/kernel/hostname".to_owned(), format!("/proc/{pid}/root/etc/hostname")];
    files.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|name| name.trim() == host))
}

/// The root below which a pid file has the number of this process.
fn root_of(pid: u32, pid_file: &Path) -> Option<PathBuf> {
    let own = format!("/proc/{pid}/root");
    let places = [(PathBuf::from("/"), Some(pid)), (own.into(), number_inside(pid))];
    let mut fit = places.into_iter().filter(|(root, number)| pid_of(&below(root, pid_file)) == *number);
    fit.next().filter(|(_, number)| number.is_some()).map(|(root, _)| root)
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn pid_of(file: &Path) -> Option<u32> {
    const BYTES_MAX: u64 = 64;
    let bytes = read_whole(file, BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_pid_file_is_a_small_file_and_nothing_else_that_a_server_may_name() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("server.pid");
        fs::write(&file, "4711\n").unwrap();
        assert_eq!(pid_of(&file), Some(4711));
        fs::write(&file, "4711\n".repeat(1_000)).unwrap();
        for path in [file.as_path(), Path::new("/dev/zero"), home.path(), &home.path().join("none")] {
            assert_eq!(pid_of(path), None, "{}", path.display());
        }
    }

    #[test]
    fn a_pid_file_names_a_process_by_the_number_that_it_has_where_it_lies() {
        let home = tempfile::tempdir().unwrap();
        let (file, own) = (home.path().join("server.pid"), std::process::id());
        fs::write(&file, own.to_string()).unwrap();
        assert_eq!(root_of(own, &file), Some(PathBuf::from("/")));
        fs::write(&file, (own + 1).to_string()).unwrap();
        assert_eq!(root_of(own, &file), None);
        assert_eq!(root_of(own, &home.path().join("none")), None);
    }
}
