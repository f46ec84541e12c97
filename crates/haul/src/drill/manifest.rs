//! What a backup is made of, so that a changed byte is found before a restore is called good.

use super::binlog::Position;
use crate::{HaulError, refused};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// A backup's files with their lengths and checksums, and where in the binary logs it ends; `None` of a server that writes none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub position: Option<Position>,
    /// How long all writes were held back for it, where that is known; not in the file.
    #[serde(skip)]
    pub lock_s: Option<f64>,
    pub files: BTreeMap<PathBuf, (u64, String)>,
}

impl Manifest {
    pub const NAME: &str = "evenkeel-backup.json";

    /// Reads all files of a folder, and writes the manifest into it.
    pub fn write(folder: &Path, position: Option<Position>) -> Result<Self, HaulError> {
        let mut files = BTreeMap::new();
        let mut all = Vec::new();
        list(folder, &mut all)?;
        for path in all {
            let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            files.insert(name, checksum(&path)?);
        }
        let manifest = Self { position, lock_s: None, files };
        let (path, text) =
            (folder.join(Self::NAME), serde_json::to_vec_pretty(&manifest).unwrap_or_default());
        fs::write(&path, text).map_err(HaulError::io("write", &path))?;
        Ok(manifest)
    }

    /// Reads that of a folder and holds the files against it; `None` where there is none.
    /// Errors: it is damaged, or a file is.
    pub fn check(folder: &Path) -> Result<Option<Self>, HaulError> {
        let path = folder.join(Self::NAME);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read(&path).map_err(HaulError::io("read", &path))?;
        let damaged = |error| refused(format!("{}: {error}", path.display()), "take another backup");
        let found: Self = serde_json::from_slice(&text).map_err(damaged)?;
        found.verify(folder)?;
        Ok(Some(found))
    }

    /// Reads all files again.
    /// Errors: one is missing, or is not as it was written.
    fn verify(&self, folder: &Path) -> Result<(), HaulError> {
        for (name, written) in &self.files {
            let path = folder.join(name);
            let what = match checksum(&path) {
                Ok(found) if found == *written => continue,
                Ok((length, _)) if length != written.0 => {
                    format!("has {length} bytes instead of {}", written.0)
                }
                Ok(_) => "was changed after the backup".to_owned(),
                Err(HaulError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    "is gone".to_owned()
                }
                Err(error) => return Err(error),
            };
            let hint = "do not restore this backup: take another one";
            return Err(refused(format!("{} {what}", path.display()), hint).into());
        }
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|(bytes, _)| bytes).sum()
    }
}

/// All files of a folder, which has to be whole in itself.
/// Errors: it leads to files elsewhere, which a restored copy would share with the live server.
pub fn list(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), HaulError> {
    for entry in folder.read_dir().map_err(HaulError::io("read", folder))? {
        let entry = entry.map_err(HaulError::io("read", folder))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(HaulError::io("read", &entry.path()))?);
        if kind.is_symlink() || path.extension().is_some_and(|extension| extension == "isl") {
            let what = format!("{} leads to files outside the data directory", path.display());
            return Err(refused(
                what,
                "tables with DATA DIRECTORY and linked databases are not supported: use --method dump",
            )
            .into());
        }
        match kind.is_dir() {
            true => list(&path, into)?,
            false if path.file_name().is_some_and(|name| name == Manifest::NAME) => {}
            false if kind.is_file() => into.push(path),
            false => {}
        }
    }
    Ok(())
}

/// Bytes of a file, and their XXH3 (128 bits) in hexadecimal digits.
fn checksum(path: &Path) -> Result<(u64, String), HaulError> {
    let mut file = BufReader::new(File::open(path).map_err(HaulError::io("read", path))?);
    let (mut hash, mut bytes, mut piece) = (Xxh3::new(), 0, vec![0; 1 << 18]);
    loop {
        match file.read(&mut piece).map_err(HaulError::io("read", path))? {
            0 => return Ok((bytes, format!("{:032x}", hash.digest128()))),
            count => {
                hash.update(&piece[..count]);
                bytes += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_byte_a_short_file_and_a_missing_one_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("db/t.ibd");
        fs::create_dir(folder.path().join("db")).unwrap();
        fs::write(&file, b"abc").unwrap();
        let position = Position { log: "bin.000001".into(), offset: 4 };
        let manifest = Manifest::write(folder.path(), Some(position)).unwrap();
        assert_eq!(Manifest::check(folder.path()).unwrap(), Some(manifest.clone()));
        assert_eq!(manifest.bytes(), 3);
        for (bytes, words) in [(&b"abd"[..], "was changed"), (b"ab", "has 2 bytes instead of 3")] {
            fs::write(&file, bytes).unwrap();
            assert!(manifest.verify(folder.path()).unwrap_err().to_string().contains(words));
        }
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link")).unwrap();
        let linked = Manifest::write(folder.path(), None).unwrap_err().to_string();
        assert!(linked.contains("leads to files outside"), "{linked}");
        fs::remove_file(&file).unwrap();
        assert!(manifest.verify(folder.path()).unwrap_err().to_string().contains("t.ibd is gone"));
    }
}
