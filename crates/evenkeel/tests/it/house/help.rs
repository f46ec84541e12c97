//! The help of every command has no word that the glossary lists as not used.

use super::root;
use std::fs;
use std::process::Command;

/// Words that no help may use; the help of these commands only, where there are any.
struct Retired {
    words: Vec<String>,
    commands: Vec<String>,
}

/// The table at the end of the glossary. Rows about folders of the sources are for review.
fn retired() -> Vec<Retired> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let (_, table) = text.split_once("\nWords not used:\n").expect("a section of words not used");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "{line}");
        let (commands, folders): (Vec<String>, Vec<String>) =
            quoted(cells[2]).into_iter().partition(|place| place.starts_with("evenkeel"));
        (folders.is_empty() || !commands.is_empty()).then(|| Retired { words: quoted(cells[0]), commands })
    };
    rows.filter_map(row).collect()
}

/// What is in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The help of a command and of all below it, each with its name, as `evenkeel share disk`.
pub fn helps(words: &[String], found: &mut Vec<(String, String)>) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(words).arg("--help").output().expect("help");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let help = String::from_utf8(output.stdout).expect("text");
    let below = below(&help);
    found.push(([&["evenkeel".to_owned()], words].concat().join(" "), help));
    for name in below {
        helps(&[words, &[name]].concat(), found);
    }
}

/// Names of the commands that a help lists.
fn below(help: &str) -> Vec<String> {
    let (_, listed) = help.split_once("\nCommands:\n").unwrap_or_default();
    let lines = listed.lines().take_while(|line| line.starts_with("  "));
    let names =
        lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Words of the table in the help of this command.
fn used<'a>(command: &str, help: &str, retired: &'a [Retired]) -> Vec<&'a String> {
    let is_here = |row: &&Retired| {
        row.commands.is_empty()
            || row.commands.iter().any(|name| format!("{command} ").starts_with(&format!("{name} ")))
    };
    let has = |word: &&String| {
        help.split(|c: char| !c.is_alphanumeric() && !"-_".contains(c))
            .any(|part| part.trim_matches('-') == **word)
    };
    retired.iter().filter(is_here).flat_map(|row| &row.words).filter(has).collect()
}

#[test]
fn no_help_has_a_word_that_the_glossary_retired() {
    let (mut found, retired) = (Vec::new(), retired());
    helps(&[], &mut found);
    assert!(found.len() > 30, "only {} helps found", found.len());
    for name in retired.iter().flat_map(|row| &row.commands) {
        assert!(found.iter().any(|(command, _)| command == name), "{name} is no command");
    }
    for (command, help) in &found {
        let used = used(command, help, &retired);
        assert!(used.is_empty(), "{command} --help has {used:?}; docs/glossary.md has the words to use");
    }
}

#[test]
fn a_retired_word_is_found_in_sentences_of_its_commands_and_not_in_longer_words() {
    let row = |words: &[&str], commands: &[&str]| {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Retired { words: owned(words), commands: owned(commands) }
    };
    let rows = [row(&["rule"], &["evenkeel share disk"]), row(&["cold-run"], &[])];
    let found = |command: &str, help: &str| used(command, help, &rows).len();
    assert_eq!(found("evenkeel share disk", "the published rule, and --cold-run 3s"), 2);
    assert_eq!(found("evenkeel share", "the published rule"), 0);
    assert_eq!(found("evenkeel share disk", "a ruler, unruly, rule-like"), 0);
}
