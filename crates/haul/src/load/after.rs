//! The audit that follows a load.

use super::job::Loaded;
use super::manifest::{self, Origin};
use crate::audit::{AfterLoad, Audit, Report};
use crate::convert::Duplicates;
use crate::layout::LayoutFile;
use crate::{HaulError, Progress, dispatch, session};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;
use std::path::{Path, PathBuf};

pub struct Check<'a> {
    pub file: &'a LayoutFile,
    pub target: &'a Target,
    pub tables: &'a [String],
    pub rejects: &'a Path,
    pub duplicates: Duplicates,
    /// A folder for what does not fit into memory.
    pub scratch: &'a Path,
    pub names: usize,
    pub stop: &'a Stop,
}

impl Check<'_> {
    /// Holds the files of a load against its tables and its rejects, each type of record for itself. Records that were in before and may be
    /// in day tables by now are counted and not looked for. Rows that other loads stored are no finding, and rows that no file has are one
    /// only where the manifest says that the tables hold these files alone.
    ///
    /// # Errors
    /// A file or a table cannot be read, or a file changed since; the load itself is done.
    pub fn run(&self, loaded: &Loaded, tell: &(dyn Fn(&Progress) + Sync)) -> Result<Vec<Report>, HaulError> {
        let after = self.after(loaded)?;
        let inputs: Vec<PathBuf> = loaded.files.iter().map(|file| file.path.clone()).collect();
        let types = self.file.layout.types();
        let mut reports = Vec::new();
        for (record_type, (table, of)) in self.tables.iter().zip(types).enumerate() {
            let audit = Audit {
                file: self.file,
                record_type,
                inputs: inputs.clone(),
                target: self.target,
                tables: vec![table.clone()],
                rejects: Some(self.rejects.to_owned()).filter(|path| path.is_file()),
                duplicates: self.duplicates,
                after: Some(AfterLoad { keyed: !of.key.is_empty(), ..after.clone() }),
                names: self.names,
                scratch: self.scratch,
                stop: self.stop,
            };
            reports.push(audit.run(tell)?);
        }
        Ok(reports)
    }

    /// Notes in the manifest that these files were audited, so that a rerun does not do it again: once somebody was told what was found.
    ///
    /// # Errors
    /// What the server said; a rerun audits once more.
    pub fn note(&self, loaded: &Loaded) -> Result<(), HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        let mut known = manifest::read(&mut control, &loaded.named)?;
        known.retain(|known| loaded.files.iter().any(|file| file.name == known.name));
        Ok(manifest::audited(&mut control, &known)?)
    }

    fn after(&self, loaded: &Loaded) -> Result<AfterLoad, HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        let known = manifest::read(&mut control, &loaded.named)?;
        let mut dispatched = false;
        for table in loaded.named.split(',') {
            dispatched |= dispatch::moved(&mut control, table)?.all > 0;
        }
        let is_here = |name: &str| loaded.files.iter().any(|file| file.name == name);
        let others = known.iter().any(|file| file.origin == Origin::Filled || !is_here(&file.name));
        let before = loaded.files.iter().map(|file| file.before).collect();
        Ok(AfterLoad { before, others, dispatched, keyed: true })
    }
}
