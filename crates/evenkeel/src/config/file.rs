//! Files of users are read whole, and only where they are files: a pipe or a device would be waited for, or read for ever.

use std::io;
use std::path::Path;

/// A study, a workload, a scenario or a configuration is never larger, by far.
const BYTES_MAX: u64 = 4 << 20;

/// The bytes of a file.
///
/// # Errors
/// It cannot be read, has more than a few megabytes, or is a pipe, a device or a folder.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    evenkeel_os::read_whole(path, BYTES_MAX)
}

/// The text of a file.
///
/// # Errors
/// As [`bytes`]; or it is no text, and then the first byte that is none is named.
pub fn text(path: &Path) -> io::Result<String> {
    let no_text = |error: std::string::FromUtf8Error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text, from byte {at} on"))
    };
    String::from_utf8(bytes(path)?).map_err(no_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_and_what_is_no_text_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("study.toml");
        std::fs::write(&file, b"name\xff").unwrap();
        let error = text(&file).unwrap_err().to_string();
        assert!(error.contains("byte 4"), "{error}");
        let error = text(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("a pipe or a device"), "{error}");
        std::fs::write(&file, vec![b'#'; BYTES_MAX as usize + 1]).unwrap();
        assert!(text(&file).unwrap_err().to_string().contains("more than"));
    }
}
