//! A throttling study on disk: `plan.json`, `points/*.json`, `steps/*.json`, `results.json`, `report.html`.
//!
//! Every finished point is a file of its own, written beside and renamed, so that a kill loses at most the point that
//! was being measured.

use super::record::{FORMAT, Key, PlanFile, PointFile, StepFile, Way};
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of one study.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder of a new study.
    ///
    /// # Errors
    /// A folder of this name, or no room for one.
    pub fn create(root: &Path, plan: &PlanFile) -> Result<Self> {
        let path = root.join(&plan.id);
        let making = || format!("making {}", path.display());
        fs::create_dir_all(root).with_context(making)?;
        fs::create_dir(&path).with_context(making)?;
        for part in ["points", "steps"] {
            fs::create_dir(path.join(part)).with_context(making)?;
        }
        let folder = Self { path: path.clone() };
        folder.write("plan.json", plan)?;
        Ok(folder)
    }

    /// Opens a study: a folder, its name under `root` or the start of it, or `last`.
    ///
    /// # Errors
    /// None or several of that name.
    pub fn open(root: &Path, name: &str) -> Result<Self> {
        let given = Path::new(name);
        if given.join("plan.json").exists() {
            return Ok(Self { path: given.to_owned() });
        }
        let mut fits: Vec<PathBuf> =
            fs::read_dir(root).into_iter().flatten().flatten().map(|e| e.path()).collect();
        let is_named = |path: &PathBuf| {
            let known =
                path.file_name().map(|known| known.to_string_lossy().into_owned()).unwrap_or_default();
            path.join("plan.json").exists() && (name == "last" || known.starts_with(name))
        };
        fits.retain(is_named);
        fits.sort();
        match (name, fits.as_slice()) {
            (_, []) => Err(anyhow!("no study named {name} in {}", root.display()))
                .hint("leave --resume out to begin a new one"),
            ("last", [.., last]) | (_, [last]) => Ok(Self { path: last.clone() }),
            _ => Err(anyhow!("{name} fits {} studies in {}", fits.len(), root.display()))
                .hint("write more of the name, or `last`"),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was to be measured.
    ///
    /// # Errors
    /// Damaged, or of a later version.
    pub fn plan(&self) -> Result<PlanFile> {
        let plan: PlanFile = read(&self.path.join("plan.json"))?;
        if plan.format > FORMAT {
            bail!("{} has format {}, this version reads up to {FORMAT}", self.path.display(), plan.format);
        }
        Ok(plan)
    }

    /// All finished points.
    ///
    /// # Errors
    /// A damaged file, by name.
    pub fn points(&self) -> Result<Vec<PointFile>> {
        self.all("points")
    }

    /// All finished steps.
    ///
    /// # Errors
    /// A damaged file, by name.
    pub fn steps(&self) -> Result<Vec<StepFile>> {
        self.all("steps")
    }

    /// Whether a point is finished.
    pub fn has_point(&self, key: Key) -> bool {
        self.path.join("points").join(format!("{}.json", key.file())).exists()
    }

    /// Whether a step is finished.
    pub fn has_step(&self, way: Way, repeat: u32) -> bool {
        self.path.join("steps").join(format!("{}.json", StepFile::file(way, repeat))).exists()
    }

    /// Keeps a point.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn add_point(&self, point: &PointFile) -> Result<()> {
        self.write(&format!("points/{}.json", point.key.file()), point)
    }

    /// Keeps a step.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn add_step(&self, step: &StepFile) -> Result<()> {
        self.write(&format!("steps/{}.json", StepFile::file(step.way, step.repeat)), step)
    }

    /// Writes a file of this name.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write(&self, name: &str, value: &impl Serialize) -> Result<()> {
        self.write_text(name, &serde_json::to_string_pretty(value)?)
    }

    /// Writes a text under this name, beside first and then in its place.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write_text(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path.join(name);
        let beside = path.with_extension("part");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &path))
            .with_context(|| format!("writing {}", path.display()))
    }

    fn all<T: DeserializeOwned>(&self, part: &str) -> Result<Vec<T>> {
        let folder = self.path.join(part);
        let entries = fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| read(path)).collect()
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let hint = match path.ends_with("plan.json") {
        true => {
            "bring plan.json back from a copy; finished points stay in the folder, and cannot be read without it"
        }
        false => "move the damaged file away; `--resume` then measures it again",
    };
    serde_json::from_str(&text).with_context(|| format!("reading {}", path.display())).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{falling, plan, steps};
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_and_known_to_be_finished() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), &plan()).unwrap();
        let (point, step) = (falling().remove(0), steps().remove(0));
        assert!(!folder.has_point(point.key) && !folder.has_step(step.way, step.repeat));
        folder.add_point(&point).unwrap();
        folder.add_step(&step).unwrap();
        assert!(folder.has_point(point.key) && folder.has_step(step.way, step.repeat));
        assert_eq!(folder.plan().unwrap(), plan());
        assert_eq!((folder.points().unwrap(), folder.steps().unwrap()), (vec![point], vec![step]));
    }

    #[test]
    fn a_point_that_was_cut_off_is_not_finished() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), &plan()).unwrap();
        let point = falling().remove(0);
        fs::write(folder.path().join("points").join(format!("{}.part", point.key.file())), "{").unwrap();
        assert!(!folder.has_point(point.key));
        assert_eq!(folder.points().unwrap(), []);
    }

    #[test]
    fn advice_for_a_damaged_plan_keeps_what_was_measured_and_that_for_a_point_measures_it_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), &plan()).unwrap();
        let point = folder.path().join("points/cut.json");
        fs::write(&point, "{").unwrap();
        let told = format!("{:?}", folder.points().unwrap_err());
        assert!(told.contains("`--resume` then measures it again"), "{told}");
        fs::write(folder.path().join("plan.json"), "{").unwrap();
        let told = format!("{:?}", folder.plan().unwrap_err());
        assert!(told.contains("bring plan.json back") && !told.contains("move"), "{told}");
    }

    #[test]
    fn a_study_is_found_by_the_start_of_its_name_or_as_the_last() {
        let root = tempfile::tempdir().unwrap();
        for id in ["20260101-a", "20260102-b"] {
            Folder::create(root.path(), &PlanFile { id: id.to_owned(), ..plan() }).unwrap();
        }
        let name = |asked: &str| Folder::open(root.path(), asked).map(|folder| folder.plan().unwrap().id);
        assert_eq!(
            (name("last").unwrap().as_str(), name("20260101").unwrap().as_str()),
            ("20260102-b", "20260101-a")
        );
        assert!(format!("{:#}", name("2026").unwrap_err()).contains("fits 2 studies"));
        assert!(format!("{:#}", name("x").unwrap_err()).contains("no study named x"));
    }
}
