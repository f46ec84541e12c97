//! Lines of bounded length are taken out of a stream that nobody vouches for.

use std::io::{self, BufRead};

/// Bytes after which a line is taken for one without an end.
const ENDLESS_BYTES: usize = 1 << 20;

/// The next line without its end; `None` at the end of the stream. Of a line that is longer than `limit` bytes, the rest is
/// read and thrown away, and it counts as one that says nothing.
///
/// # Errors
/// The stream's own, and a line of more than a mebibyte: reading on would take time for ever.
pub fn next_line(stream: &mut impl BufRead, limit: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let (mut too_long, mut read) = (false, 0);
    loop {
        let buffer = match stream.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            // What has no end is no line: it was cut.
            return Ok(None);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        too_long |= line.len() + part.len() > limit;
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        stream.consume(used);
        read += used;
        if read > ENDLESS_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line has no end"));
        }
        if end.is_some() {
            let line = if too_long { Vec::new() } else { line };
            return Ok(Some(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()));
        }
    }
}

/// What another machine says, short and without control characters, which would play with the reader's terminal.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_come_one_by_one_and_long_ones_as_nothing() {
        let text = b"one\r\ntwo is too long\n\nthree\ncut";
        let mut stream = BufReader::with_capacity(4, &text[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut stream, 6).expect("readable") {
            lines.push(line);
        }
        assert_eq!(lines, ["one", "", "", "three"]);
    }

    #[test]
    fn an_endless_line_takes_neither_memory_nor_time() {
        let mut stream = BufReader::new(io::repeat(b'x'));
        assert!(next_line(&mut stream, 100).is_err_and(|error| error.to_string().contains("no end")));
    }
}
