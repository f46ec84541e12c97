//! No command uses another one: what several need stands in folders beside `command/`.

use super::root;
use super::source::{Source, of_crate};
use std::collections::BTreeSet;

/// The modules of a source in `command/` from there on, as `share`, `knee`; none for a file elsewhere and for `command/mod.rs`.
fn place(source: &Source) -> Option<Vec<String>> {
    let below = source.path.strip_prefix(root().join("crates/evenkeel/src/command")).ok()?.with_extension("");
    let mut names: Vec<String> = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    (!names.is_empty()).then_some(names)
}

/// Names of other commands that a source uses, by paths from `crate::command` or up to it by `super`.
fn used(source: &Source, own: &[String], commands: &BTreeSet<String>) -> Vec<String> {
    let code: String = source.code().into_iter().map(|(_, line)| line + " ").collect();
    let up = format!("{}::", vec!["super"; own.len()].join("::"));
    let mut found = Vec::new();
    for root in ["crate::command::", up.as_str()] {
        for (at, _) in code.match_indices(root) {
            // Further up than to `command` is not a command's.
            let is_longer = code[..at].ends_with("super::");
            found.extend(first_names(&code[at + root.len()..]).into_iter().filter(|_| !is_longer));
        }
    }
    found.retain(|name| commands.contains(name) && *name != own[0]);
    found
}

/// The first name of a path, or of each in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut names, mut depth, mut begins) = (Vec::new(), 0, true);
    for (at, sign) in list.char_indices() {
        if begins && !sign.is_whitespace() {
            names.push(name(&list[at..]));
            begins = false;
        }
        match sign {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ => {}
        }
    }
    names
}

#[test]
fn no_command_uses_another_one() {
    let sources: Vec<(Source, Vec<String>)> = of_crate("evenkeel")
        .into_iter()
        .filter_map(|source| place(&source).map(|own| (source, own)))
        .collect();
    let commands: BTreeSet<String> = sources.iter().map(|(_, own)| own[0].clone()).collect();
    assert!(commands.len() > 10, "only {commands:?} found");
    for (source, own) in &sources {
        let used = used(source, own, &commands);
        assert!(
            used.is_empty(),
            "{} uses {used:?}: what several commands need stands beside command/",
            source.path.display()
        );
    }
}

#[test]
fn another_command_is_seen_by_its_path_from_the_root_and_from_below() {
    let commands: BTreeSet<String> = ["load", "share", "profile"].map(str::to_owned).into();
    let seen = |own: &[&str], text: &str| {
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        used(&Source { path: "a.rs".into(), text: text.to_owned() }, &own, &commands)
    };
    assert_eq!(seen(&["share"], "use super::{Session, load::{a, profile}, share};"), ["load"]);
    assert_eq!(seen(&["share", "knee"], "use super::load;\nuse super::super::profile::Args;"), ["profile"]);
    assert_eq!(seen(&["share"], "crate::command::load::run(); crate::command::share::run();"), ["load"]);
    assert_eq!(seen(&["share"], "#[cfg(test)]\nmod tests {\n    use super::load;\n}\n"), [""; 0]);
}
