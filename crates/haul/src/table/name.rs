//! Names and values as they stand in a statement.

/// Characters of a name at most.
const LONGEST: usize = 64;

/// A name in backticks.
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

/// Whether servers take it as the name of a table or column.
pub(super) fn can_be(name: &str) -> bool {
    let within = (1..=LONGEST).contains(&name.chars().count());
    within && !name.ends_with(' ') && !name.chars().any(|letter| letter.is_control() || letter > '\u{ffff}')
}
