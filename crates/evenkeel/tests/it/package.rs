//! What the Debian package is made of: the list in the manifest, held against what there is to ship. Whether it can be
//! installed and removed is for `make deb-check`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn root() -> PathBuf {
    manifest_dir().join("../..").canonicalize().expect("the workspace is there")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Source, place and mode of each line of the list.
fn assets() -> Vec<[String; 3]> {
    let manifest: toml::Table = read("crates/evenkeel/Cargo.toml").parse().expect("a manifest");
    manifest["package"]["metadata"]["deb"]["assets"].clone().try_into().expect("lines of three texts")
}

/// All files below a folder, relative to it.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        let name = PathBuf::from(path.file_name().expect("a name"));
        match path.is_dir() {
            true => found.extend(below(&path).into_iter().map(|inner| name.join(inner))),
            false => found.push(name),
        }
    }
    found
}

/// The files that a line of the list takes, each with what is added to its place.
fn taken(source: &str) -> Vec<(PathBuf, PathBuf)> {
    let Some((folder, pattern)) = source.split_once("/*") else {
        let path = manifest_dir().join(source);
        let name = path.file_name().expect("a file").into();
        return vec![(path, name)];
    };
    let folder = manifest_dir().join(folder);
    let is_taken = |file: &PathBuf| match pattern {
        "*/*" => true,
        end => file.components().count() == 1 && file.to_string_lossy().ends_with(end),
    };
    below(&folder).into_iter().filter(is_taken).map(|file| (folder.join(&file), file)).collect()
}

/// What is installed from the sources, by its place; what is built is left out.
fn installed() -> BTreeMap<PathBuf, PathBuf> {
    let mut found = BTreeMap::new();
    for [source, place, _] in assets().into_iter().filter(|[source, ..]| !is_built(source)) {
        let files = taken(&source);
        assert!(!files.is_empty(), "{source} takes nothing");
        for (file, name) in files {
            let at = if place.ends_with('/') { Path::new(&place).join(name) } else { PathBuf::from(&place) };
            let file = file.canonicalize().unwrap_or_else(|error| panic!("{source}: {error}"));
            assert!(found.insert(at, file).is_none(), "{place} is installed twice");
        }
    }
    found
}

fn is_built(source: &str) -> bool {
    source.trim_start_matches("../").starts_with("target/")
}

#[test]
fn all_that_is_contributed_and_explained_is_in_the_package() {
    let installed = installed();
    for folder in ["contrib", "docs", "examples"] {
        for file in below(&root().join(folder)) {
            let is_shipped = installed.values().any(|shipped| *shipped == root().join(folder).join(&file));
            // How the package is made is no part of it, but for the user of the units.
            let is_for_making = file.starts_with("debian") && !file.ends_with("sysusers.conf");
            assert_eq!(is_shipped, folder != "contrib" || !is_for_making, "{folder}/{}", file.display());
        }
    }
}

#[test]
fn what_is_built_for_the_package_is_built_by_its_script() {
    let script = read("contrib/debian/prepare");
    for [source, ..] in assets().iter().filter(|[source, ..]| is_built(source)) {
        let Some(name) = source.strip_prefix("../../target/deb/") else {
            assert_eq!(source, "target/release/evenkeel");
            continue;
        };
        let made = name.split(['/', '.']).next().expect("a name");
        assert!(script.contains(&format!("\"$out/{made}")), "{source}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(script.contains(shell), "no completions for {shell}");
    }
}

#[test]
fn a_unit_names_pages_that_are_installed() {
    let installed = installed();
    let units = installed.iter().filter(|(at, _)| at.starts_with("usr/lib/systemd/system"));
    let mut seen = 0;
    for (at, unit) in units {
        let text = fs::read_to_string(unit).expect("text");
        let named = text.lines().find_map(|line| line.strip_prefix("Documentation=")).expect("documentation");
        for file in named.split(' ').filter_map(|word| word.strip_prefix("file:/")) {
            seen += 1;
            assert!(installed.contains_key(Path::new(file)), "{}: {file}", at.display());
        }
    }
    assert_eq!(seen, 2);
}

#[test]
fn the_units_run_as_the_user_that_the_package_makes() {
    let users = read("contrib/debian/sysusers.conf");
    let user = users.lines().find_map(|line| line.strip_prefix("u ")?.split(' ').next()).expect("a user");
    for unit in ["contrib/evenkeel-guard.service", "contrib/evenkeel-share.service"] {
        let text = read(unit);
        assert!(text.contains(&format!("\nUser={user}\nGroup={user}\n")), "{unit}");
    }
}

/// Words alone: Debian indents them and writes a dot for an empty line.
fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != ".").collect::<Vec<_>>().join(" ")
}

#[test]
fn the_copyright_of_the_package_has_the_words_of_the_licence() {
    let licence = read("LICENSE-MIT");
    let (head, terms) = licence.split_once("\n\nPermission").expect("terms");
    let holder = head.lines().last().and_then(|line| line.strip_prefix("Copyright (c) ")).expect("a holder");
    let copyright = words(&read("contrib/debian/copyright"));
    assert!(copyright.contains(&words(&format!("Permission{terms}"))), "{copyright}");
    assert!(copyright.contains(holder), "{copyright}");
}
