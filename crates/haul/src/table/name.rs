//! What servers take as a name.

const LONGEST: usize = 64;

/// Whether servers take it as the name of a table or column.
pub(super) fn can_be(name: &str) -> bool {
    let within = (1..=LONGEST).contains(&name.chars().count());
    within && !name.ends_with(' ') && !name.chars().any(|letter| letter.is_control() || letter > '\u{ffff}')
}
