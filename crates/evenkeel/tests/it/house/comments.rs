//! Comments say something that the name does not.

use super::all_sources;

/// Comments of documentation: the line that each begins on, and all of its words.
fn documentation(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut found: Vec<(usize, &str, Vec<&str>)> = Vec::new();
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or("");
        let words = line[mark.len()..].split_whitespace();
        match (mark, found.last_mut()) {
            ("", _) => {}
            (mark, Some((_, _, all))) if mark == before => all.extend(words),
            (mark, _) => found.push((number + 1, mark, words.collect())),
        }
        before = mark;
    }
    found.into_iter().map(|(line, _, words)| (line, words)).collect()
}

#[test]
fn no_comment_of_documentation_has_two_words_or_fewer() {
    let mut seen = 0;
    for (path, text) in all_sources() {
        for (line, words) in documentation(&text) {
            seen += 1;
            let text = words.join(" ");
            assert!(
                words.len() > 2,
                "{}:{line}: {text:?} says no more than a name: shape, unit or reason?",
                path.display()
            );
        }
    }
    assert!(seen > 5_000, "only {seen} comments found");
}

#[test]
fn a_short_comment_is_seen_and_the_end_of_a_long_one_is_not() {
    let text = "//! A file of three.\n\n/// Why.\na: u8,\n/// A line that goes on\n/// below.\nb: u8,\n";
    let short: Vec<usize> =
        documentation(text).into_iter().filter(|(_, words)| words.len() < 3).map(|(line, _)| line).collect();
    assert_eq!(short, [3]);
}
