//! The proven limit in a file: a guard that starts again goes on from what it had found.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// After that long a server's work is another one.
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
/// A file of this kind has some hundred bytes.
const BYTES_MAX: u64 = 16 << 10;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proven {
    backend: String,
    limit: u32,
    /// When it was written, in seconds of the time of day.
    unix_s: u64,
}

/// The limit that the file keeps for this backend, and how old it is.
/// Errors: why nothing can be taken from it.
pub fn read(path: &Path, backend: &str, now: Duration) -> Result<(u32, Duration)> {
    let at = || path.display().to_string();
    let found = fs::metadata(path).with_context(at)?;
    ensure!(found.is_file() && found.len() <= BYTES_MAX, "{}: the guard wrote no such file", at());
    let text = fs::read_to_string(path).with_context(at)?;
    let proven: Proven = serde_json::from_str(&text).with_context(at)?;
    let age = now.saturating_sub(Duration::from_secs(proven.unix_s));
    match () {
        () if proven.backend != backend => bail!("{}: it is of the server {}", at(), proven.backend),
        () if age > AGE_MAX => bail!("{}: it is older than 7 days", at()),
        () if proven.limit == 0 => bail!("{}: a limit of 0 is none", at()),
        () => Ok((proven.limit, age)),
    }
}

/// Writes it in one step, so that no half of it is ever read.
pub fn write(path: &Path, backend: &str, limit: u32, now: Duration) -> Result<()> {
    let proven = Proven { backend: backend.to_owned(), limit, unix_s: now.as_secs() };
    Ok(evenkeel_os::replace(path, (serde_json::to_string(&proven)? + "\n").as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_limit_is_read_again_for_the_same_server_within_a_week() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        write(&path, "db1:3306", 31, NOW).unwrap();
        assert_eq!(read(&path, "db1:3306", NOW + HOUR).unwrap(), (31, HOUR));
        assert_eq!(read(&path, "db1:3306", NOW - HOUR).unwrap(), (31, Duration::ZERO), "the clock went back");
        for (backend, now, why) in [
            ("db2:3306", NOW, "of the server db1:3306"),
            ("db1:3306", NOW + AGE_MAX + HOUR, "older than 7 days"),
        ] {
            let error = read(&path, backend, now).unwrap_err();
            assert!(format!("{error:#}").contains(why), "{error:#}");
        }
    }

    #[test]
    fn a_file_that_is_missing_or_broken_is_named_and_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let refused = || format!("{:#}", read(&path, "db1:3306", NOW).unwrap_err());
        assert!(refused().contains("No such file"), "{}", refused());
        let zero = r#"{"backend":"db1:3306","limit":0,"unix_s":1000000}"#;
        let long = " ".repeat(BYTES_MAX as usize + 1);
        for text in [r#"{"backend":"db1:33"#, "", "\0\0\0", zero, &long] {
            fs::write(&path, text).unwrap();
            assert!(refused().contains(path.to_str().unwrap()), "{}", refused());
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        refused();
    }
}
