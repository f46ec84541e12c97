//! Colour by meaning, and wrapping.

use crate::format::{plain, steers};

/// What a text means, not how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Text like any other.
    #[default]
    Plain,
    /// What matters most.
    Strong,
    Soft,
    Good,
    Doubt,
    /// It must not be used.
    Bad,
}

/// All codes for the terminal that a table has: the end of a colour, and what begins one.
pub const INKS: [&str; 6] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[31m"];

/// The text with the terminal's codes around it, where colour is wanted. What could steer the terminal by itself is dropped from
/// it, besides ends of lines.
pub fn paint(text: &str, ink: Ink, colour: bool) -> String {
    let text = text.replace(|character| character != '\n' && steers(character), "");
    let [end, strong, soft, good, doubt, bad] = INKS;
    let begin = match ink {
        _ if !colour || text.is_empty() => return text,
        Ink::Plain => return text,
        Ink::Strong => strong,
        Ink::Soft => soft,
        Ink::Good => good,
        Ink::Doubt => doubt,
        Ink::Bad => bad,
    };
    format!("{begin}{text}{end}")
}

/// Text in lines of at most `width` characters, all but the first begun with `indent` blanks. A word longer
/// than a line keeps a line of its own. Control characters, which could steer the terminal, are dropped.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let word = plain(word);
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width_and_lose_no_word() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("incomprehensibilities are long", 8, 0), "incomprehensibilities\nare long");
        assert_eq!(wrap("", 10, 2), "");
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(wrap("a\u{1b}[2Jb", 80, 0), "a[2Jb");
    }
}
