//! Where a page is written.

use crate::failure::WithHint;
use crate::out;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Writes a page to where the user said, or under a name of ours into a study's folder, where a symbolic link of that name is
/// replaced: the folder may be somebody else's.
pub fn save(to: Option<&Path>, folder: &Path, name: &str, page: &str) -> Result<PathBuf> {
    let own = folder.join(name);
    let written = match to {
        Some(to) => out::file(to, page),
        None => evenkeel_os::replace(&own, page.as_bytes()),
    };
    let to = to.map_or(own, Path::to_owned);
    let written = written.with_context(|| format!("writing {}", to.display()));
    written.hint("name a file in a folder that you may write to, by --to")?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_page_in_a_folder_of_somebody_else_overwrites_nothing_outside_of_it() {
        let home = tempfile::tempdir().unwrap();
        let (folder, victim) = (home.path().join("gift"), home.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join("report.html")).unwrap();
        assert_eq!(save(None, &folder, "report.html", "page").unwrap(), folder.join("report.html"));
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        assert_eq!(fs::read(folder.join("report.html")).unwrap(), b"page");
    }
}
