//! Private servers are a study's own until it has ended: between its runs they are stopped, and another study that found one so
//! would start it, and disturb both.

use super::StudyError;
use super::spec::{ServerSpec, SiteSpec};
use crate::store::StoreError;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Locks every private server of a study for as long as the files are open; the kernel lets go of them however we end.
pub(super) fn hold(sites: &[SiteSpec]) -> Result<Vec<File>, StudyError> {
    let private = sites.iter().filter_map(|site| match &site.place {
        ServerSpec::Sandbox { sandbox, .. } => Some((&sandbox.home, &sandbox.name)),
        ServerSpec::Named { home, name, .. } => Some((home, name)),
        ServerSpec::Remote(_) => None,
    });
    private.map(|(home, name)| hold_one(home, name)).collect()
}

fn hold_one(home: &Path, name: &str) -> Result<File, StudyError> {
    let folder = home.join("sandboxes").join(name);
    // Closed to others, as the server makes it.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(StoreError::io("make", &folder))?;
    let path = folder.join("study.lock");
    let file = evenkeel_os::open_own(&path).map_err(StoreError::io("open", &path))?;
    match evenkeel_os::exclusive(&file) {
        true => Ok(file),
        false => Err(StudyError::Held { name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_is_one_study_s_until_it_ends_and_nobody_is_told_to_stop_it() {
        let home = tempfile::tempdir().unwrap();
        let first = hold_one(home.path(), "a").unwrap();
        let other = hold_one(home.path(), "b").unwrap();
        let error = hold_one(home.path(), "a").unwrap_err();
        let hint = error.hint().unwrap_or_default();
        assert!(error.to_string().contains("\"a\" is measured by another study"), "{error}");
        assert!(hint.contains("wait") && !hint.contains("sandbox down"), "{hint}");
        drop(first);
        drop((hold_one(home.path(), "a").unwrap(), other));
    }
}
