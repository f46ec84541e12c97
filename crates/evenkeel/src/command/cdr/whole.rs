//! A file that has its name once it is whole.

use anyhow::{Context, Result, anyhow};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The standard output, or a file under a hidden name beside its own. Dropped before [`Whole::finish`], the file is gone.
pub(super) struct Whole {
    out: Box<dyn Write + Send>,
    /// The file again, its hidden name and its own; `None` of the standard output.
    file: Option<(File, PathBuf, PathBuf)>,
}

impl Whole {
    /// Opens it; `-` is the standard output.
    ///
    /// # Errors
    /// No file can be made there.
    pub fn create(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { out: Box::new(io::stdout()), file: None });
        }
        let name = path.file_name().ok_or_else(|| anyhow!("{} is no name of a file", path.display()))?;
        let hidden = path.with_file_name(format!(".{}.part", name.to_string_lossy()));
        let made = File::create(&hidden).and_then(|file| Ok((file.try_clone()?, file)));
        let (file, out) = made.with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { out: Box::new(out), file: Some((file, hidden, path.to_owned())) })
    }

    /// Where to write.
    pub fn out(&mut self) -> &mut (dyn Write + Send) {
        &mut *self.out
    }

    /// Gives the file its name, once all of it is on disk.
    ///
    /// # Errors
    /// The disk is full, or the name cannot be given.
    pub fn finish(mut self) -> Result<()> {
        self.out.flush().context("writing the standard output")?;
        let Some((file, hidden, path)) = self.file.take() else { return Ok(()) };
        let named = file.sync_all().and_then(|()| fs::rename(&hidden, &path));
        if named.is_err() {
            let _ = fs::remove_file(&hidden);
        }
        named.with_context(|| format!("writing {}", path.display()))
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some((_, hidden, _)) = &self.file {
            // Nobody waits for the error of a file that is not wanted any more.
            let _ = fs::remove_file(hidden);
        }
    }
}
