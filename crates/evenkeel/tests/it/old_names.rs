//! Flags and keys that were called otherwise before are still taken, and standard error names the new ones.

use crate::cli::{evenkeel, refused};

/// What standard error says of a configuration that is right.
fn noted(arguments: &[&str]) -> Vec<String> {
    let home = tempfile::tempdir().expect("a temporary directory");
    let output = evenkeel(home.path(), arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text.lines().map(str::to_owned).collect()
}

/// One line for each old name, in which the new one stands.
fn names(arguments: &[&str], new: &[&str]) {
    let lines = noted(arguments);
    assert_eq!(lines.len(), new.len(), "{lines:#?}");
    for (line, name) in lines.iter().zip(new) {
        assert!(line.starts_with("note: ") && line.contains(&format!("is called {name} now")), "{line}");
    }
}

const GUARD: [&str; 6] = ["guard", "--check", "--listen", "127.0.0.1:3307", "--backend", "127.0.0.1:3306"];
const SHARE: [&str; 7] =
    ["share", "disk", "--check", "--name=web1", "--backing=/x", "--nbd", "127.0.0.1:10809"];

#[test]
fn flags_are_taken_under_their_old_names_and_the_new_ones_are_named() {
    names(&[&GUARD[..], &["--limit", "3", "--limit-max", "9"]].concat(), &["--initial-limit", "--max-limit"]);
    let old = ["--controller", "fixed", "--window", "8", "--window-max", "16"];
    names(&[&SHARE[..], &old].concat(), &["--law", "--initial-window", "--max-window"]);
}

#[test]
fn keys_are_taken_under_their_old_names_and_the_new_ones_are_named() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (guard, share) = (home.path().join("guard.toml"), home.path().join("share.toml"));
    let sockets = "listen = '127.0.0.1:3307'\nbackend = '127.0.0.1:3306'\n";
    let disk = "name = 'web1'\nnbd = '127.0.0.1:10809'\n[[disk]]\nname = 'data'\nbacking = '/x'\n";
    std::fs::write(&guard, format!("{sockets}[control]\nlimit = 3\nlimit_max = 9\n")).expect("written");
    std::fs::write(&share, format!("{disk}[window]\ncontroller = 'fixed'\ninitial = 8\nmost = 16\n"))
        .expect("written");
    let (guard, share) = (guard.to_string_lossy(), share.to_string_lossy());
    names(&["guard", "--check", "--config", &guard], &["`initial_limit`", "`max_limit`"]);
    let new = ["`law`", "`initial_window`", "`max_window`"];
    names(&["share", "disk", "--check", "--config", &share], &new);
}

#[test]
fn new_names_are_taken_without_a_word_and_not_beside_the_old_ones() {
    let limits = [&GUARD[..], &["--initial-limit", "3", "--max-limit", "9"]].concat();
    assert_eq!(noted(&limits), Vec::<String>::new());
    let windows = [&SHARE[..], &["--law=fixed", "--initial-window=8", "--max-window=16"]].concat();
    assert_eq!(noted(&windows), Vec::<String>::new());
    let home = tempfile::tempdir().expect("a temporary directory");
    let text = refused(home.path(), &[&limits[..], &["--limit", "3"]].concat());
    assert!(text.contains("--limit <N>") && text.contains("--initial-limit <N>"), "{text}");
}
