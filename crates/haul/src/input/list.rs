//! Which files are meant.

use crate::HaulError;
use std::path::{Path, PathBuf};

/// The inputs that these words name, in the order of the words; what a folder or a pattern holds, by name. `-` is the standard input.
/// Hidden files of a folder are left out, since they are not finished, as a rule.
pub fn list(words: &[String]) -> Result<Vec<PathBuf>, HaulError> {
    let mut found = Vec::new();
    for word in words {
        match word.as_str() {
            "-" => found.push("/dev/stdin".into()),
            _ if Path::new(word).is_dir() => found.extend(folder(Path::new(word))?),
            _ if Path::new(word).exists() => found.push(word.into()),
            _ => found.extend(pattern(word)?),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|input| seen.insert(input.clone()));
    Ok(found)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, HaulError> {
    let mut found = Vec::new();
    for entry in path.read_dir().map_err(HaulError::io("read", path))? {
        let entry = entry.map_err(HaulError::io("read", path))?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(HaulError::Nothing(path.display().to_string())),
        false => Ok(found),
    }
}

fn pattern(word: &str) -> Result<Vec<PathBuf>, HaulError> {
    let nothing = || HaulError::Nothing(word.to_owned());
    let paths = glob::glob(word).map_err(|_| nothing())?;
    let mut found: Vec<PathBuf> = paths.flatten().filter(|path| !path.is_dir()).collect();
    found.sort();
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_patterns_name_each_file_once_and_a_name_without_a_file_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        for name in ["b.cdr", "a.cdr", ".c.part", "x.txt"] {
            std::fs::write(home.path().join(name), "").unwrap();
        }
        let of = |words: &[&str]| {
            let words: Vec<String> =
                words.iter().map(|word| home.path().join(word).display().to_string()).collect();
            list(&words).map(|found| found.iter().map(|path| crate::input::stem(path)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[""]).unwrap(), ["a.cdr", "b.cdr", "x.txt"]);
        assert_eq!(of(&["b.cdr", "*.cdr"]).unwrap(), ["b.cdr", "a.cdr"]);
        assert!(matches!(of(&["c.cdr"]), Err(HaulError::Nothing(_))));
        assert!(matches!(of(&["*.zip"]), Err(HaulError::Nothing(_))));
        assert_eq!(list(&["-".to_owned()]).unwrap(), [PathBuf::from("/dev/stdin")]);
    }
}
