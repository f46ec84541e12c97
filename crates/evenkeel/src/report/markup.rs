//! Text into markup.

use crate::format::steers;
use std::fmt;

/// Prints text so that no character of it is markup, in elements and in quoted attributes. Control
/// characters that no document may hold become a replacement character.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                '\n' | '\t' => fmt::Write::write_char(out, character)?,
                _ if steers(character) => out.write_str("\u{fffd}")?,
                _ => fmt::Write::write_char(out, character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod check {
    //! A small reader that says whether elements close in the order they opened.

    const VOID: [&str; 4] = ["meta", "br", "hr", "!doctype"];

    /// The first fault of a page, in words.
    pub fn fault(page: &str) -> Option<String> {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = page;
        while let Some(at) = rest.find('<') {
            let Some(end) = rest[at..].find('>') else {
                return Some(format!("open end: {}", clip(&rest[at..])));
            };
            let tag = &rest[at + 1..at + end];
            if tag.contains('<') {
                return Some(format!("tag within a tag: {}", clip(tag)));
            }
            if !tag.matches('"').count().is_multiple_of(2) {
                return Some(format!("uneven quotes: {}", clip(tag)));
            }
            rest = &rest[at + end + 1..];
            let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
            if VOID.contains(&name.to_lowercase().as_str()) || tag.ends_with('/') {
                continue;
            }
            if !tag.starts_with('/') {
                open.push(name);
                if name == "script" || name == "style" {
                    rest = &rest[rest.find("</")?..];
                }
            } else if open.pop() != Some(name) {
                return Some(format!("</{name}> closes nothing, before {}", clip(rest)));
            }
        }
        open.pop().map(|name| format!("<{name}> is never closed"))
    }

    fn clip(text: &str) -> String {
        text.chars().take(60).collect()
    }

    #[test]
    fn faults_are_found() {
        for bad in ["<p>", "<p></b>", "<p class=\"a></p>", "<p", "<a <b></b></a>"] {
            assert!(fault(bad).is_some(), "{bad}");
        }
        assert_eq!(fault("<!doctype html><p class=\"a\">x<br><b/></p><style>a>b</style>"), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_text_is_markup() {
        let text = Text("<b a=\"1\" b='2'>&\u{7}").to_string();
        assert_eq!(text, "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;\u{fffd}");
    }
}
