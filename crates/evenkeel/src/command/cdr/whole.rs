//! A file that has its name once it is whole.

use anyhow::{Context, Result, anyhow};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The standard output, a device or pipe, or a file under a hidden name beside its own. Dropped before [`Whole::finish`], the file is
/// gone.
pub(super) struct Whole {
    out: Box<dyn Write + Send>,
    /// The file again, its hidden name and its own; `None` of what is no file.
    file: Option<(File, PathBuf, PathBuf)>,
}

impl Whole {
    /// Opens it; `-` is the standard output. A symbolic link is the user's own and is followed, and what is no file, as /dev/null, is
    /// written as it comes.
    pub fn create(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { out: Box::new(io::stdout()), file: None });
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let path = match is_link {
            true => &fs::canonicalize(path)
                .with_context(|| format!("following the symbolic link {}", path.display()))?,
            false => path,
        };
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let out = File::options().write(true).open(path);
            let out = out.with_context(|| format!("writing {}", path.display()))?;
            return Ok(Self { out: Box::new(out), file: None });
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
    pub fn finish(mut self) -> Result<()> {
        self.out.flush().context("writing the output")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_stays_one_and_a_link_leads_to_the_file_that_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let (real, link, lost) =
            (home.path().join("real"), home.path().join("link"), home.path().join("lost"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        std::os::unix::fs::symlink(home.path().join("nowhere"), &lost).unwrap();
        // A pipe stands for a device: nobody may replace it either.
        let pipe = home.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        for path in [&link, &pipe] {
            let mut whole = Whole::create(path).unwrap();
            whole.out().write_all(b"new").unwrap();
            whole.finish().unwrap();
        }
        assert_eq!(
            (fs::read_to_string(&real).unwrap().as_str(), reader.join().unwrap().as_str()),
            ("new", "new")
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && !fs::metadata(&pipe).unwrap().is_file());
        assert!(Whole::create(&lost).is_err() && fs::symlink_metadata(&lost).unwrap().is_symlink());
    }
}
