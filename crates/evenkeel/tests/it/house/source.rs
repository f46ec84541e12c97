//! Rust sources as text: what of them is code, what is text in quotes, what only tests have.

use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A source of a crate.
pub struct Source {
    /// Where it is, beneath the workspace.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

impl Source {
    /// The lines of it that are neither comment nor test, with their numbers.
    pub fn code(&self) -> Vec<(usize, String)> {
        code_lines(&self.text)
    }
}

/// The sources in the folder `src` of a crate, without those that only its tests have.
pub fn of_crate(name: &str) -> Vec<Source> {
    let folder = root().join("crates").join(name).join("src");
    let mut paths = Vec::new();
    super::sources(&folder, &mut paths);
    let read = |path: PathBuf| Source { text: fs::read_to_string(&path).expect("readable"), path };
    let all: Vec<Source> = paths.into_iter().map(read).collect();
    let tests: BTreeSet<PathBuf> = all.iter().flat_map(test_modules).collect();
    let is_test = |source: &Source| tests.iter().any(|test| source.path.starts_with(test));
    all.into_iter().filter(|source| !is_test(source)).collect()
}

/// Files and folders of the modules that a source declares for tests alone: `#[cfg(test)] mod tests;`.
fn test_modules(source: &Source) -> Vec<PathBuf> {
    let is_root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| source.path.ends_with(name));
    let folder = if is_root {
        source.path.parent().expect("a folder").to_owned()
    } else {
        source.path.with_extension("")
    };
    let (code, mut found) = (masked(&source.text, false), Vec::new());
    for (from, to) in tests(&source.text) {
        let item = code[from..to].trim_end_matches(';');
        if let Some((_, name)) = item.rsplit_once("mod ").filter(|(_, name)| !name.contains('{')) {
            found.push(folder.join(name.trim()));
            found.push(folder.join(name.trim()).with_extension("rs"));
        }
    }
    found
}

/// Lines of a source that are neither comment nor test, with their numbers.
pub fn code_lines(text: &str) -> Vec<(usize, String)> {
    let mut code = masked(text, true).into_bytes();
    for (from, to) in tests(text) {
        code[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    let code = String::from_utf8_lossy(&code).into_owned();
    let lines = code.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| (number + 1, line.to_owned())).collect()
}

/// Where the parts of a source begin and end that stand behind `#[cfg(test)]`: modules, items, statements, fields.
fn tests(text: &str) -> Vec<(usize, usize)> {
    const MARK: &str = "#[cfg(test)]";
    let (code, mut found, mut at) = (masked(text, false), Vec::new(), 0);
    while let Some(next) = code[at..].find(MARK) {
        let from = at + next;
        at = end_of_item(&code, from);
        found.push((from, at));
    }
    found
}

/// The end of what begins here, its attributes included.
fn end_of_item(code: &str, from: usize) -> usize {
    let bytes = code.as_bytes();
    let mut at = from;
    while code[at..].trim_start().starts_with("#[") {
        at += code[at..].find('[').expect("an attribute");
        at = closing(bytes, at) + 1;
    }
    let words = [
        "pub", "mod", "fn", "impl", "use", "const", "static", "struct", "enum", "trait", "type", "unsafe",
        "async",
    ];
    let first = code[at..].trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // A field or an argument ends with a comma; the generics of an item have commas of their own.
    let is_item = words.contains(&first);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' => at = closing(bytes, at),
            b'{' => {
                at = closing(bytes, at);
                let rest = code[at + 1..].trim_start();
                return if rest.starts_with(';') { code.len() - rest.len() + 1 } else { at + 1 };
            }
            b';' => return at + 1,
            b',' if !is_item => return at + 1,
            b'}' | b')' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The bracket that closes the one here, whatever its shape; the last byte where none does.
fn closing(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len() - 1
}

/// A source with blanks in place of its comments, and of its texts in quotes unless they are to stay. No byte moves.
pub fn masked(text: &str, keeps_strings: bool) -> String {
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    while at < text.len() {
        let rest = &text[at..];
        let (length, stays) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), false)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), false)
        } else if let Some((_, length)) = raw_string(rest, &masked).or_else(|| string(rest)) {
            (length, keeps_strings)
        } else if let Some(length) = character(rest) {
            (length, keeps_strings)
        } else {
            (rest.chars().next().map_or(1, char::len_utf8), true)
        };
        let part = &rest[..length];
        match stays {
            true => masked.push_str(part),
            false => masked.extend(part.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
        }
        at += length;
    }
    masked
}

/// A string at the start of a text, and the length of it with its quotes.
pub fn string(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((&inner[..end], end + 2))
}

/// A raw string at the start of a text, behind this code, and the length of it with all that is around it.
pub fn raw_string<'a>(text: &'a str, before: &str) -> Option<(&'a str, usize)> {
    let inner =
        text.strip_prefix('r').filter(|_| !before.ends_with(|c: char| c.is_alphanumeric() && c != 'b'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let inner = inner[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close)?;
    Some((&inner[..end], 2 + hashes + end + close.len()))
}

/// The length of a character in quotes at the start of a text; a lifetime is none.
pub fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    match inner.strip_prefix('\\') {
        Some(escaped) => escaped.get(1..)?.find('\'').map(|end| end + 4),
        None => {
            let one = inner.chars().next()?.len_utf8();
            inner[one..].starts_with('\'').then_some(one + 2)
        }
    }
}

#[test]
fn code_behind_a_test_is_seen_and_the_test_is_not() {
    let text = "fn one() {}\n#[cfg(test)]\nmod tests {\n    // }\n    const A: &str = \"}\";\n}\nfn two() {}\n\
                #[cfg(test)]\nuse a::{b, c};\nfn three() {\n    #[cfg(test)]\n    seen();\n    four();\n}\n\
                #[cfg(test)]\n#[path = \"x\"]\nmod other;\nstruct S {\n    #[cfg(test)]\n    hidden: [u8; 2],\n    five: u8, // six\n}\n";
    let code: String = code_lines(text).into_iter().map(|(_, line)| line + "\n").collect();
    for seen in ["one", "two", "three", "four", "five"] {
        assert!(code.contains(seen), "{seen} in {code}");
    }
    for not in ["tests", "const A", "use a", "seen", "other", "hidden", "six"] {
        assert!(!code.contains(not), "{not} in {code}");
    }
    assert_eq!(code_lines(text)[1].0, 7, "lines keep their numbers");
}

#[test]
fn files_of_test_modules_are_found() {
    let source =
        Source { path: PathBuf::from("a/b.rs"), text: "#[cfg(test)]\nmod tests;\nmod real;\n".to_owned() };
    assert_eq!(test_modules(&source), [Path::new("a/b/tests"), Path::new("a/b/tests.rs")]);
}
