//! The rules of DESIGN that a compiler does not keep: who may use whom, what may not be called, how long
//! a file may grow.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// `evenkeel -> {lab, gate} -> {sense, wire, core}`; sense and wire may use core.
fn allowed(from: &str) -> &'static [&'static str] {
    match from {
        "core" => &[],
        "sense" | "wire" => &["core"],
        "lab" | "gate" => &["core", "sense", "wire"],
        "evenkeel" => &["core", "sense", "wire", "lab", "gate"],
        other => panic!("{other} is a seventh crate: the design has six"),
    }
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

/// Lines of a file before its tests, without comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    let lines = text[..end].lines().enumerate().map(|(number, line)| (number + 1, line));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn crates_use_only_the_crates_below_them() {
    for entry in fs::read_dir(root().join("crates")).expect("crates are there") {
        let dir = entry.expect("crates can be listed").path();
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).expect("every crate has a manifest");
        for line in manifest.lines().filter(|line| line.starts_with("evenkeel-")) {
            let used = line.trim_start_matches("evenkeel-").split(['.', ' ', '=']).next().unwrap_or_default();
            assert!(allowed(&name).contains(&used), "{name} must not use {used}");
        }
    }
}

#[test]
fn core_is_pure() {
    let banned = [
        "std::fs",
        "std::net",
        "std::thread",
        "std::process",
        "std::env",
        "println!",
        "eprintln!",
        "serde",
        "Instant",
        "SystemTime",
        "async ",
    ];
    for (path, text) in all_sources() {
        if path.starts_with(root().join("crates/core/src")) {
            for (number, line) in code_lines(&text) {
                for word in banned {
                    assert!(!line.contains(word), "{}:{number}: {word} in core", path.display());
                }
            }
        }
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
        let library = ["core", "wire", "sense", "lab", "gate"];
        if library.iter().any(|name| path.starts_with(root().join("crates").join(name).join("src"))) {
            for (number, line) in code_lines(&text) {
                for call in ["println!", "eprintln!", "print!(", "process::exit"] {
                    assert!(!line.contains(call), "{}:{number}: {call} in a library", path.display());
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

#[test]
fn files_stay_small_enough_to_know() {
    for (path, text) in all_sources() {
        let lines = text.lines().count();
        assert!(lines <= 480, "{} has {lines} lines: split it by noun", path.display());
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in all_sources() {
        assert!(text.starts_with("//!"), "{} opens without a module comment", path.display());
    }
}
