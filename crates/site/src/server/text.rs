//! Names and values as they stand in a statement.

pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as a value that no mode of the server reads as anything else: in hexadecimal digits.
pub fn literal(text: &[u8]) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    text.iter().fold("0x".to_owned(), |digits, byte| digits + &format!("{byte:02x}"))
}
