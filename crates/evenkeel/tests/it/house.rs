//! The rules of DESIGN that a compiler does not keep: who may use whom, what may not be called, how long
//! a file may grow.

mod commands;
mod comments;
mod edges;
pub mod help;
mod promises;
mod source;

use source::code_lines;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a source folder can be listed") {
        let path = entry.expect("a source folder can be listed").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    assert!(found.len() > 20, "only {} source files found", found.len());
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).expect("readable"))).collect()
}

#[test]
fn unsafe_code_stands_in_os_alone() {
    for entry in fs::read_dir(root().join("crates")).expect("crates are there") {
        let source = entry.expect("crates can be listed").path().join("src");
        let heads =
            ["lib.rs", "main.rs"].map(|name| fs::read_to_string(source.join(name)).unwrap_or_default());
        let may = source.starts_with(root().join("crates/os"));
        let forbids = heads.iter().any(|head| head.contains("#![forbid(unsafe_code)]"));
        assert!(may || forbids, "{} does not forbid unsafe code", source.display());
    }
}

#[test]
fn clocks_and_randomness_come_from_one_place() {
    let banned = [
        ("Instant::now", "the clock module of the crate"),
        ("SystemTime::now", "the clock module of the crate"),
        ("thread_rng", "evenkeel_core::random with a seed"),
        ("rand::rng(", "evenkeel_core::random with a seed"),
        ("rand::random", "evenkeel_core::random with a seed"),
        ("from_entropy", "evenkeel_core::random with a seed"),
        ("from_os_rng", "evenkeel_core::random with a seed"),
    ];
    for (path, text) in all_sources() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "clock.rs" || name == "house.rs" {
            continue;
        }
        for (number, line) in code_lines(&text) {
            for (call, instead) in banned {
                assert!(!line.contains(call), "{}:{number}: {call}; use {instead}", path.display());
            }
        }
    }
}

#[test]
fn only_the_binary_prints() {
    for (path, text) in all_sources() {
        let library =
            ["core", "os", "wire", "sense", "bus", "site", "lab", "haul", "guard", "share", "study"];
        if library.iter().any(|name| path.starts_with(root().join("crates").join(name).join("src"))) {
            for (number, line) in code_lines(&text) {
                for call in ["println!", "eprintln!", "print!(", "process::exit"] {
                    assert!(!line.contains(call), "{}:{number}: {call} in a library", path.display());
                }
            }
        }
    }
}

/// There text from outside loses what could steer a terminal, and a stream that is closed or full ends nothing.
#[test]
fn the_binary_prints_in_one_place() {
    for (path, text) in all_sources() {
        if path.starts_with(root().join("crates/evenkeel/src")) && !path.ends_with("src/out.rs") {
            for (number, line) in code_lines(&text) {
                for call in ["println!", "print!("] {
                    assert!(!line.contains(call), "{}:{number}: {call}; use crate::out", path.display());
                }
            }
        }
    }
}

#[test]
fn nothing_is_left_open() {
    for (path, text) in all_sources() {
        if path.ends_with("house.rs") {
            continue;
        }
        for word in ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "#[ignore", "(to come)"] {
            assert!(!text.contains(word), "{}: {word} is left open", path.display());
        }
    }
}

const FILE_LINES_MAX: usize = 450;
/// Longer files, each with the lines it may have and why it is one.
const LONG_FILES: [(&str, usize, &str); 1] = [(
    "crates/study/src/store/format.rs",
    480,
    "whoever reads studies finds all of their format in one place",
)];
const FUNCTION_LINES_MAX: usize = 60;

/// Functions in formatted text: line number, name, and lines from `fn` to the brace that closes it, which stands
/// alone at the depth of the `fn`. Those on one line, and declarations without a body, are left out.
fn functions(text: &str) -> Vec<(usize, &str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends = |line: &&str| {
            let at_depth = line.strip_prefix(indent).filter(|rest| !rest.starts_with(' '));
            at_depth.is_some_and(|rest| rest == "}" || rest.ends_with(';') || rest.ends_with(" }"))
        };
        let length = lines[number..].iter().position(ends).map_or(lines.len(), |end| end + 1);
        if length > 1 && lines[number + length - 1].trim() == "}" {
            found.push((number + 1, name, length));
        }
    }
    found
}

/// The name on a line that begins a function.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let words = ["pub", "const", "unsafe", "async", "extern", "default"];
    let is_start = before.split_whitespace().all(|word| {
        words.contains(&word) || word.starts_with("pub(") || word.ends_with(')') || word.starts_with('"')
    });
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    (is_start && !name.is_empty()).then_some(name)
}

#[test]
fn functions_stay_small_enough_to_see() {
    let mut seen = 0;
    for (path, text) in all_sources() {
        for (line, name, length) in functions(&text) {
            seen += 1;
            let place = path.display();
            assert!(
                length <= FUNCTION_LINES_MAX,
                "{place}:{line}: {name} has {length} lines: split it by step"
            );
        }
    }
    assert!(seen > 1_000, "only {seen} functions found");
}

#[test]
fn the_length_of_a_function_is_seen() {
    let long = format!(
        "impl A {{\n    pub(super) fn long(\n        a: u8,\n    ) {{\n{}    }}\n}}\n",
        "        x;\n".repeat(60)
    );
    assert_eq!(functions(&long), [(2, "long", 64)]);
    let short = "fn one() {}\nfn two() { 2 }\ntrait T {\n    fn declared(\n        &self,\n    ) -> u8;\n}\nfn three() {\n}\n";
    assert_eq!(functions(short), [(8, "three", 2)]);
}

/// Calls that tell which test cannot be made here, and why: `left_out` itself, helpers that are named so (`shown_or_left_out`),
/// and one more.
const TELLS_WHY: [&str; 2] = ["left_out(", "can_mount()"];
/// How a test is left before its end.
const LEAVES: [&str; 4] = ["return;", "{ return }", "=> return,", "return Ok(())"];

#[test]
fn a_test_that_returns_early_tells_why() {
    let mut seen = 0;
    for (path, text) in all_sources().into_iter().filter(|(path, _)| !path.ends_with("house.rs")) {
        let lines: Vec<&str> = text.lines().collect();
        for (first, name, length) in functions(&text) {
            let mut above = lines[..first - 1].iter().rev().map(|line| line.trim_start());
            if !above.by_ref().take_while(|line| line.starts_with("#[")).any(|line| line == "#[test]") {
                continue;
            }
            seen += 1;
            let body = &lines[first - 1..first - 1 + length];
            for pair in body.windows(2) {
                let leaves = LEAVES.iter().any(|way| pair[1].contains(way));
                let tells = TELLS_WHY.iter().any(|call| pair.concat().contains(call));
                assert!(!leaves || tells, "{}: {name} returns early, and nobody hears of it", path.display());
            }
        }
    }
    assert!(seen > 1_000, "only {seen} tests found");
}

#[test]
fn what_is_named_as_if_it_told_why_tells_it() {
    let mut seen = 0;
    for (path, text) in all_sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (first, name, length) in functions(&text) {
            if name.ends_with("_or_left_out") || name == "can_mount" {
                seen += 1;
                let tells = lines[first..first - 1 + length].iter().any(|line| line.contains("left_out("));
                assert!(tells, "{}: {name} tells nobody", path.display());
            }
        }
    }
    assert!(seen >= 2, "only {seen} such functions found");
}

#[test]
fn files_stay_small_enough_to_know() {
    for (path, text) in all_sources() {
        let lines = text.lines().count();
        let exception = LONG_FILES.iter().find(|(name, ..)| path == root().join(name));
        let most = exception.map_or(FILE_LINES_MAX, |(_, lines, _)| *lines);
        assert!(lines <= most, "{} has {lines} lines: split it by noun", path.display());
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in all_sources() {
        assert!(text.starts_with("//!"), "{} opens without a module comment", path.display());
    }
}
