//! Parameters written into SQL text.

use crate::command::Parameter;
use std::io::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeMode {
    /// As the start of an escape, the default.
    Backslash,
    /// As itself (`NO_BACKSLASH_ESCAPES`); only quotes are doubled.
    QuotesOnly,
}

impl EscapeMode {
    /// The mode that the status flags of the last OK packet tell.
    pub fn of_status(status: u16) -> Self {
        match status & crate::status::NO_BACKSLASH_ESCAPES {
            0 => Self::Backslash,
            _ => Self::QuotesOnly,
        }
    }
}

/// Why parameters cannot be written into a statement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TemplateError {
    #[error("statement takes {expected} parameters, got {found}")]
    Count { expected: usize, found: usize },
    #[error("parameter {0} is not a finite number")]
    NotFinite(f64),
}

/// SQL text cut at its placeholders: `?` outside strings, quoted names and comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Vec<u8>>,
}

impl Template {
    /// Cuts the text. Strings are read with backslash escapes, as the server does by default.
    pub fn new(sql: &str) -> Self {
        let bytes = sql.as_bytes();
        let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            if bytes[at] == b'?' {
                pieces.push(bytes[start..at].to_vec());
                start = at + 1;
            }
            at = skip(bytes, at);
        }
        pieces.push(bytes[start..].to_vec());
        Self { pieces }
    }

    pub fn parameters(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Appends the text with the parameters in place; on an error `out` is as before.
    pub fn write<'a>(
        &self,
        out: &mut Vec<u8>,
        parameters: impl ExactSizeIterator<Item = Parameter<'a>>,
        mode: EscapeMode,
    ) -> Result<(), TemplateError> {
        if parameters.len() != self.parameters() {
            return Err(TemplateError::Count { expected: self.parameters(), found: parameters.len() });
        }
        let start = out.len();
        for (piece, parameter) in self.pieces.iter().zip(parameters) {
            out.extend_from_slice(piece);
            if let Err(error) = put_literal(out, parameter, mode) {
                out.truncate(start);
                return Err(error);
            }
        }
        out.extend_from_slice(&self.pieces[self.pieces.len() - 1]);
        Ok(())
    }
}

/// The index after the token at `at`: a string, a quoted name or a comment is one token.
fn skip(sql: &[u8], at: usize) -> usize {
    let rest = &sql[at..];
    let length = match rest {
        [quote @ (b'\'' | b'"' | b'`'), ..] => quoted(rest, *quote),
        [b'#', ..] => line(rest),
        [b'-', b'-', next, ..] if next.is_ascii_whitespace() => line(rest),
        [b'/', b'*', ..] => {
            rest[2..].windows(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4)
        }
        _ => 1,
    };
    at + length
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1)
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn put_literal(out: &mut Vec<u8>, parameter: Parameter<'_>, mode: EscapeMode) -> Result<(), TemplateError> {
    match parameter {
        Parameter::Null => out.extend_from_slice(b"NULL"),
        Parameter::Int(number) => put_display(out, format_args!("{number}")),
        // With an exponent the server reads a floating-point number, not a decimal.
        Parameter::Double(number) if number.is_finite() => put_display(out, format_args!("{number:e}")),
        Parameter::Double(number) => return Err(TemplateError::NotFinite(number)),
        Parameter::Text(text) if std::str::from_utf8(text).is_ok() => put_text(out, text, mode),
        // Bytes that are no text travel as a hexadecimal literal, which no character set can misread.
        Parameter::Text(bytes) => {
            out.extend_from_slice(b"x'");
            bytes.iter().for_each(|byte| put_display(out, format_args!("{byte:02x}")));
            out.push(b'\'');
        }
    }
    Ok(())
}

fn put_display(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes every write");
}

fn put_text(out: &mut Vec<u8>, text: &[u8], mode: EscapeMode) {
    out.push(b'\'');
    for &byte in text {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' if mode == EscapeMode::Backslash => out.extend_from_slice(b"\\\\"),
            // The server's parser of text takes a zero byte, other tools on the way do not.
            0 if mode == EscapeMode::Backslash => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str, parameters: &[Parameter<'_>], mode: EscapeMode) -> Result<String, TemplateError> {
        let mut out = Vec::new();
        Template::new(sql).write(&mut out, parameters.iter().copied(), mode)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn placeholders_in_strings_names_and_comments_stay() {
        let sql = r#"SELECT '?', "a\"?", `?`, 'it''s ?' /* ? */ -- ?
            , # ?
            ?, 5--? FROM t"#;
        assert_eq!(Template::new(sql).parameters(), 2);
        assert_eq!(Template::new("SELECT '?").parameters(), 0);
        assert_eq!(Template::new("/*?").parameters(), 0);
    }

    #[test]
    fn every_kind_of_parameter_has_a_literal() {
        let parameters =
            [Parameter::Null, Parameter::Int(-3), Parameter::Double(0.5), Parameter::Text(b"\xff\x00")];
        let out = text("? ? ? ?", &parameters, EscapeMode::Backslash).unwrap();
        assert_eq!(out, "NULL -3 5e-1 x'ff00'");
    }

    #[test]
    fn text_cannot_leave_its_quotes_in_either_mode() {
        let hostile = Parameter::Text(br"\' OR '1'='1");
        let backslash = text("?", &[hostile], EscapeMode::Backslash).unwrap();
        let quotes_only = text("?", &[hostile], EscapeMode::QuotesOnly).unwrap();
        assert_eq!(backslash, r"'\\'' OR ''1''=''1'");
        assert_eq!(quotes_only, r"'\'' OR ''1''=''1'");
    }

    #[test]
    fn what_cannot_be_written_is_refused_and_leaves_no_trace() {
        let mut out = b"x".to_vec();
        let template = Template::new("a ?");
        let infinite = [Parameter::Double(f64::INFINITY)];
        let error = template.write(&mut out, infinite.into_iter(), EscapeMode::Backslash).unwrap_err();
        assert_eq!(error.to_string(), "parameter inf is not a finite number");
        assert_eq!(out, b"x");
        let error = template.write(&mut out, [].into_iter(), EscapeMode::Backslash).unwrap_err();
        assert_eq!(error, TemplateError::Count { expected: 1, found: 0 });
    }
}
