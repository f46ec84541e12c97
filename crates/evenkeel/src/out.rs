//! Where text goes: standard output for results, the error stream for the rest, and files that the user names.
//!
//! All text for a terminal comes through here, and what others wrote into it (servers, far machines, folders) cannot steer the
//! terminal: control characters, and those that turn the direction of writing, are left out. Our own colours stay in what is
//! written by [`painted`] alone, whose texts from outside are cleaned before they are painted.

use crate::arguments::masked;
use crate::format::steers;
use crate::table::INKS;
use evenkeel_os::replace;
use serde::Serialize;
use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Writes a result. A reader that has seen enough (`| head`) is no error.
pub fn write(text: &str) -> io::Result<()> {
    raw(&harmless(text))
}

pub fn painted(text: &str) -> io::Result<()> {
    raw(&coloured(text))
}

pub fn line(text: impl AsRef<str>) -> io::Result<()> {
    write(&format!("{}\n", text.as_ref()))
}

/// Writes a result for programs or for people.
pub fn answer(json: bool, value: &impl Serialize, told: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if json { line(serde_json::to_string_pretty(value)?) } else { told() }
}

/// Writes as it is what steers the terminal on purpose.
pub fn raw(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("cannot write the result to standard output: {error}")))
        }
        Ok(()) => Ok(()),
    }
}

/// Says something on the error stream. One that is full or that nobody reads any more changes nothing of how a command ends.
pub fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(harmless(text).as_bytes());
}

/// Says something with colours of our own on the error stream.
pub fn tell_painted(text: &str) {
    let _ = io::stderr().lock().write_all(coloured(text).as_bytes());
}

/// Writes a file that the user named, whole or not at all, through a symbolic link of his. What is no file, as /dev/stdout, is
/// written as it comes.
/// Errors: it cannot be written. An older one is there still.
pub fn file(path: &Path, text: &str) -> io::Result<()> {
    let there = match fs::metadata(path) {
        Ok(there) if !there.is_file() => return fs::write(path, text),
        Ok(_) => fs::canonicalize(path)?,
        Err(_) => return replace(path, text.as_bytes()),
    };
    match replace(&there, text.as_bytes()) {
        // A file that may be written in a folder that may not, or one that is mounted by itself.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ResourceBusy) => {
            fs::write(path, text)
        }
        outcome => outcome,
    }
}

/// Whether a character is left out of a text of several lines.
fn is_odd(character: char) -> bool {
    steers(character) && !matches!(character, '\n' | '\t')
}

/// The text without passwords, and without what steers a terminal, besides ends of lines and tabs.
pub fn harmless(text: &str) -> Cow<'_, str> {
    masked(match text.contains(is_odd) {
        true => text.replace(is_odd, "").into(),
        false => text.into(),
    })
}

/// The same with our own colours.
fn coloured(text: &str) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    for (at, piece) in text.split('\u{1b}').enumerate() {
        // Behind the first piece each begins where an escape was.
        if at > 0 && INKS.iter().any(|ink| piece.starts_with(&ink[1..])) {
            kept.push('\u{1b}');
        }
        kept.push_str(&piece.replace(is_odd, ""));
    }
    masked(kept.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Ink, paint};

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        for (text, left) in [
            ("a\u{1b}]0;owned\u{7}b\n\tc", "a]0;ownedb\n\tc"),
            ("\u{1b}[2J\u{1b}c\r\u{9b}31m\u{7f}", "[2Jc31m"),
            ("\u{1b}", ""),
            ("käse\u{1b}", "käse"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"),
            ("\u{202e}a\u{2066}b\u{200f}c\u{85}\u{feff}", "abc\u{feff}"),
            ("plain", "plain"),
        ] {
            assert_eq!(harmless(text), left, "{text:?}");
        }
    }

    #[test]
    fn our_own_colours_stay_where_we_paint() {
        for ink in [Ink::Strong, Ink::Soft, Ink::Good, Ink::Doubt, Ink::Bad] {
            let painted = paint("x", ink, true);
            assert_eq!(coloured(&painted), painted);
        }
        let evil = paint("a\u{1b}[32mb\u{202e}", Ink::Bad, true);
        assert_eq!(coloured(&evil), "\u{1b}[31ma[32mb\u{1b}[0m");
    }

    #[test]
    fn a_file_goes_through_the_users_own_link_and_an_older_one_stays_where_it_cannot_be_written() {
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        file(&link, "new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(file(&home.path().join("no/such/folder"), "x").is_err());
        file(Path::new("/dev/null"), "x").unwrap();
    }
}
