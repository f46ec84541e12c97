//! Who keeps a file system from being taken down.

use std::fs;
use std::path::Path;

/// At most so many processes are named.
const TOLD: usize = 5;

/// Processes with a file or folder open below a folder, as "bash (1234)"; those of others only as root.
pub fn of(folder: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let users = numbers.filter(|process| uses(*process, folder)).map(|process| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        format!("{} ({process})", name.trim())
    });
    users.take(TOLD).collect()
}

fn uses(process: u32, folder: &Path) -> bool {
    let is_below = |link: &Path| fs::read_link(link).is_ok_and(|target| target.starts_with(folder));
    let process = Path::new("/proc").join(process.to_string());
    let mut links = ["cwd", "root", "exe"].iter().map(|link| process.join(link));
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    links.any(|link| is_below(&link)) || open.map(|entry| entry.path()).any(|link| is_below(&link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_an_open_file_is_a_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("a path");
        assert_eq!(of(&path), Vec::<String>::new());
        let _open = fs::File::create(path.join("file")).expect("a file");
        let users = of(&path);
        assert!(users.len() == 1 && users[0].ends_with(&format!("({})", std::process::id())), "{users:?}");
    }
}
