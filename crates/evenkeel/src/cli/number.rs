//! Text that is no whole number.

/// What is said of it, in the place of the parser's own words.
pub fn whole_number(text: &str, instead: &str) -> String {
    ["invalid digit found in string", "cannot parse integer from empty string"]
        .iter()
        .fold(text.to_owned(), |text, of_parser| text.replace(of_parser, instead))
}
