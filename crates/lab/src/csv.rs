//! Texts as fields of CSV.

/// A text as a field (RFC 4180): quoted where it has to be. Spreadsheets compute what begins like a formula, whoever wrote it:
/// an apostrophe in front makes it a text.
pub fn field(text: &str) -> String {
    let plain = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match plain.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", plain.replace('"', "\"\"")),
        false => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula_or_more_than_one_field() {
        for (text, expected) in [
            ("read", "read"),
            ("", ""),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("-1", "'-1"),
            ("@a,\"b\"", "\"'@a,\"\"b\"\"\""),
            ("a\nb", "\"a\nb\""),
            ("\ra", "\"'\ra\""),
        ] {
            assert_eq!(field(text), expected, "{text:?}");
        }
    }
}
