//! Standard output, where results go.

use std::io::{self, ErrorKind, Write};

/// Writes a result. A reader that has seen enough (`| head`) is no error.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Writes a line of a result.
pub fn line(text: impl AsRef<str>) -> io::Result<()> {
    write(&format!("{}\n", text.as_ref()))
}
