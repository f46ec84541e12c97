//! The files that a study of a file is made of, kept in its folder, so that it goes on with what it began with.

use crate::config::fields::{file_bytes, file_text};
use crate::config::masked;
use crate::failure::WithHint;
use crate::profile::resume::check_sum;
use anyhow::{Context, Result};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::{PlanFile, WorkloadFileRecord};
use std::path::{Path, PathBuf};

/// Copy of the study file in the study's folder.
pub const FILE: &str = "study.toml";

pub struct Kept {
    /// What is written into a new folder, by name.
    copies: Vec<(String, Vec<u8>)>,
    /// Workload files as they are named, with where they are.
    workloads: Vec<(String, PathBuf)>,
}

impl Kept {
    /// Those of a new study. Workloads are looked for from the folder of the study file.
    pub fn beside(study: &Path, named: &[String]) -> Result<Self> {
        let text = file_text(study).with_context(|| format!("reading {}", study.display()))?;
        let mut kept =
            Self { copies: vec![(FILE.to_owned(), masked::kept(&text).into_bytes())], workloads: Vec::new() };
        let folder = study.parent().unwrap_or(Path::new(""));
        for (place, name) in named.iter().enumerate() {
            let path = folder.join(name);
            let bytes = file_bytes(&path).with_context(|| format!("cannot read workload {}", path.display()));
            let bytes =
                bytes.hint("name it relative to the folder of the study file, or by its full path")?;
            kept.copies.push((copy(place), bytes));
            kept.workloads.push((name.clone(), path));
        }
        Ok(kept)
    }

    /// Those of a study that goes on. A copy that was edited is an error.
    pub fn of(folder: &Path, plan: &PlanFile) -> Result<Self> {
        let mut workloads = Vec::new();
        for (place, record) in plan.workload_files.iter().enumerate() {
            let path = folder.join(copy(place));
            check_sum(record.crc32, &path)?;
            workloads.push((record.named.clone(), path));
        }
        Ok(Self { copies: Vec::new(), workloads })
    }

    /// Where a workload is read; `None` where it is not a file.
    pub fn path(&self, named: &str) -> Option<PathBuf> {
        self.workloads.iter().find(|(own, _)| own == named).map(|(_, path)| path.clone())
    }

    /// Makes the folder of a new study with copies of all files.
    pub fn create(&self, root: &Path, mut plan: PlanFile) -> Result<StudyFolder> {
        plan.file_crc32 = self.copies.first().map(|(_, bytes)| crc32fast::hash(bytes));
        let sums = self.copies.iter().skip(1).map(|(_, bytes)| crc32fast::hash(bytes));
        let record = |((named, _), crc32): (&(String, PathBuf), u32)| WorkloadFileRecord {
            named: named.clone(),
            crc32,
        };
        plan.workload_files = self.workloads.iter().zip(sums).map(record).collect();
        Ok(StudyFolder::create_with(root, &plan.id, &plan, &self.copies)?)
    }
}

fn copy(place: usize) -> String {
    if place == 0 { "workload.toml".to_owned() } else { format!("workload-{}.toml", place + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_study_keeps_its_workloads_and_refuses_one_that_was_edited_in_its_folder() {
        let home = tempfile::tempdir().unwrap();
        let study = home.path().join("s.toml");
        std::fs::write(&study, "# mysql://u:PW1@h/d\n").unwrap();
        std::fs::create_dir(home.path().join("sub")).unwrap();
        for (name, sql) in [("a.toml", "SELECT 1"), ("sub/b.toml", "SELECT 2")] {
            std::fs::write(home.path().join(name), sql).unwrap();
        }
        let names = ["a.toml".to_owned(), "sub/b.toml".to_owned()];
        let folder = Kept::beside(&study, &names).unwrap().create(home.path(), fixture::demo().plan).unwrap();
        // What becomes of the user's own files is nothing to a study that has begun.
        std::fs::write(home.path().join("a.toml"), "SELECT 3").unwrap();
        let (path, plan) = (folder.path().to_owned(), folder.plan().unwrap());
        let kept = Kept::of(&path, &plan).unwrap();
        let read = |name: &str| std::fs::read_to_string(kept.path(name).unwrap()).unwrap();
        assert_eq!((read("a.toml"), read("sub/b.toml")), ("SELECT 1".to_owned(), "SELECT 2".to_owned()));
        assert_eq!(kept.path("tpcw.simple"), None);
        assert_eq!(std::fs::read_to_string(path.join(FILE)).unwrap(), "# mysql://u@h/d\n");
        std::fs::write(path.join("workload-2.toml"), "SELECT 4").unwrap();
        let told = Kept::of(&path, &plan).err().unwrap().to_string();
        assert!(told.contains("workload-2.toml has changed since"), "{told}");
        assert!(Kept::beside(&study, &["none.toml".to_owned()]).is_err());
    }
}
