//! Deleting a study.

use super::*;

/// What every plan of Evenkeel has beside its format, and that of another program has not.
#[derive(serde::Deserialize)]
struct Own {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "created_unix_s")]
    _created_unix_s: u64,
}

impl StudyFolder {
    /// Locks the study of this very name, to delete it. Without a plan that says that it is one, a folder may be anything, and
    /// is left alone: many have a folder `runs`.
    pub fn to_delete(root: &Path, name: &str) -> Result<Self, StoreError> {
        let path = root.join(name);
        if file_name(&path) != name || !is_study(&path) {
            return Err(StoreError::Unknown { name: name.to_owned(), root: root.to_owned() });
        }
        if let Err(source) = read_json::<Own>(&path.join("plan.json")) {
            return Err(StoreError::Foreign { path, source: Box::new(source) });
        }
        Ok(Self { _lock: Some(lock(&path)?), path })
    }

    pub fn delete(self) -> Result<(), StoreError> {
        fs::remove_dir_all(&self.path).map_err(StoreError::io("remove", &self.path))
    }
}
