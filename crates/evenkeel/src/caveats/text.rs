//! The text of a caveat in its parts: what was seen, and what to do.

/// What was seen, without what it means: the first sentence up to its semicolon.
pub fn seen(text: &str) -> &str {
    let first = sentences(text).into_iter().next().unwrap_or_default();
    parted(first, "; ")[0].trim_end_matches("; ").trim_end_matches('.')
}

/// What to do: the last sentence of several.
pub fn own_remedy(text: &str) -> &str {
    sentences(text).into_iter().skip(1).next_back().unwrap_or_default()
}

/// Sentences without how many runs of a cell share them. A point within a number or a name ends none.
fn sentences(text: &str) -> Vec<&str> {
    let shared = text.rfind(" (in ").filter(|_| text.ends_with(" runs)"));
    parted(&text[..shared.unwrap_or(text.len())], ". ").into_iter().map(str::trim).collect()
}

/// The parts of a text, each with the mark at its end; at least one. A mark between “ and ” is a server's, and parts nothing.
fn parted<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        quoted = match letter {
            '“' => true,
            '”' => false,
            _ => quoted,
        };
        if !quoted && at >= start && text[at..].starts_with(mark) {
            parts.push(&text[start..at + mark.len()]);
            start = at + mark.len();
        }
    }
    if start < text.len() || parts.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_server_are_not_parted() {
        let text = "2 failed, by error 1064 “Wrong; see a. b. c (in 2 of 3 runs)”; errors are fast. Mend it. (in 1 of 2 runs)";
        assert_eq!(seen(text), "2 failed, by error 1064 “Wrong; see a. b. c (in 2 of 3 runs)”");
        assert_eq!(own_remedy(text), "Mend it.");
    }
}
