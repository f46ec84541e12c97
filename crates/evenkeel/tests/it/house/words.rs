//! One word, one meaning: words that the glossary retired are in no name, flag or key.

use super::source::{character, raw_string, string};
use super::{all_sources, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A row of the table: words, and the folders in which nothing may have these names, or the commands whose help may not; everywhere
/// where there are none.
pub struct Retired {
    pub words: Vec<String>,
    pub folders: Vec<String>,
    pub commands: Vec<String>,
}

impl Retired {
    /// Whether it goes for everything.
    pub fn is_general(&self) -> bool {
        self.folders.is_empty() && self.commands.is_empty()
    }
}

/// The table at the end of the glossary.
pub fn retired() -> Vec<Retired> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let (_, table) = text.split_once("\nWords not used:\n").expect("a section of words not used");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "{line}");
        let (commands, folders) =
            quoted(cells[2]).into_iter().partition(|place| place.starts_with("evenkeel"));
        Retired { words: quoted(cells[0]), folders, commands }
    })
    .collect()
}

/// What stands in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// All names of a source: identifiers of the code, flags in its strings, and strings that are a single word, as keys are.
fn names(text: &str) -> BTreeSet<String> {
    let (code, strings) = split(text);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut names: BTreeSet<String> = code.split(|c| !is_part(c)).map(str::to_owned).collect();
    for string in strings {
        let flags = string.split("--").skip(1);
        let is_flag = |c: char| c.is_ascii_lowercase() || c == '-';
        names.extend(flags.map(|rest| rest.split(|c| !is_flag(c)).next().unwrap_or_default().to_owned()));
        names.insert(string);
    }
    names
}

/// The code of a source without comments and strings, and the strings.
fn split(text: &str) -> (String, Vec<String>) {
    let (mut code, mut strings, mut rest) = (String::new(), Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((string, length)) = raw_string(rest, &code).or_else(|| string(rest)) {
            strings.push(string.to_owned());
            code.push(' ');
            length
        } else if let Some(length) = character(rest) {
            code.push(' ');
            length
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    (code, strings)
}

/// Words of the table that a source uses as names.
fn used<'a>(path: &Path, names: &BTreeSet<String>, retired: &'a [Retired]) -> Vec<&'a String> {
    let is_here = |row: &&Retired| {
        row.is_general() || row.folders.iter().any(|folder| path.starts_with(root().join(folder)))
    };
    let words = retired.iter().filter(is_here).flat_map(|row| &row.words);
    words.filter(|word| names.contains(*word)).collect()
}

#[test]
fn words_that_the_glossary_retired_are_in_no_name_flag_or_key() {
    let retired = retired();
    assert!(retired.len() > 10, "only {} rows found", retired.len());
    for (path, text) in all_sources() {
        if path.ends_with("house/words.rs") {
            continue;
        }
        let used = used(&path, &names(&text), &retired);
        assert!(used.is_empty(), "{}: {used:?}; docs/glossary.md has the words to use", path.display());
    }
}

#[test]
fn folders_of_the_table_exist() {
    for folder in retired().iter().flat_map(|row| &row.folders) {
        assert!(root().join(folder).is_dir(), "{folder} is no folder");
    }
}

#[test]
fn names_flags_and_keys_are_seen_and_words_of_sentences_are_not() {
    let text = "// let comment = 1;\nlet name: &'a str = \"--old-flag and 'words' \\\" here\";\n\
                fields.optional(\"key\"); let c = '\\''; let raw = r#\"raw \"one\"\"#; let last = '\"';\n";
    let names = names(text);
    for seen in ["name", "old-flag", "key", "optional", "raw", "last"] {
        assert!(names.contains(seen), "{seen} in {names:?}");
    }
    for not in ["comment", "words", "here", "one"] {
        assert!(!names.contains(not), "{not} in {names:?}");
    }
}

#[test]
fn a_retired_word_is_found_in_its_folders_and_not_elsewhere() {
    let row = Retired {
        words: vec!["Keeper".to_owned()],
        folders: vec!["crates/guard".to_owned()],
        commands: Vec::new(),
    };
    let names = names("struct Keeper;");
    let at = |path: &str| used(&root().join(path), &names, std::slice::from_ref(&row)).len();
    assert_eq!((at("crates/guard/src/lib.rs"), at("crates/lab/src/lib.rs")), (1, 0));
}
