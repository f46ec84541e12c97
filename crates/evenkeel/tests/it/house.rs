//! Rules that neither the compiler nor a lint keeps: which crate uses which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Whom a crate may use: edges point downwards only, and lab, guard and share do not know each other. Tests of `evenkeel` alone
/// use `dev`.
fn allowed(from: &str) -> &'static [&'static str] {
    match from {
        "core" => &[],
        "os" | "wire" | "inside" => &["core"],
        "sense" | "bus" => &["core", "os"],
        "site" => &["core", "os", "sense", "wire"],
        "lab" => &["core", "os", "sense", "wire", "site"],
        "guard" => &["core", "os", "sense", "wire"],
        "share" => &["core", "os", "sense", "wire", "bus"],
        "haul" => &["core", "os", "sense", "wire", "site"],
        "study" => &["core", "os", "sense", "wire", "bus", "site", "lab", "haul", "guard", "share"],
        "dev" => &["core", "os", "wire", "site", "lab", "guard", "share", "study"],
        "evenkeel" => {
            &["core", "os", "sense", "wire", "bus", "site", "lab", "haul", "guard", "share", "study"]
        }
        other => panic!("{other} is no crate of the design"),
    }
}

/// A crate of ours and those that it uses, by the names of their folders: for programs, and for tests or builds alone.
struct Edges {
    built: Vec<String>,
    others: Vec<String>,
}

/// All crates of the workspace. Cargo reads tables, renamed packages and inherited entries alike, and so do these.
fn workspace() -> BTreeMap<String, Edges> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let output = cargo.output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&serde_json::from_slice(&output.stdout).expect("JSON of cargo"))
}

fn read(metadata: &serde_json::Value) -> BTreeMap<String, Edges> {
    let packages = metadata["packages"].as_array().expect("packages");
    let edges = packages.iter().map(|package| {
        let mut edges = Edges { built: Vec::new(), others: Vec::new() };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let Some(used) = folder(&dependency["name"]) else { continue };
            match dependency["kind"].is_null() {
                true => edges.built.push(used),
                false => edges.others.push(used),
            }
        }
        (folder(&package["name"]).expect("a crate of ours"), edges)
    });
    edges.collect()
}

/// The folder of a package of ours; `None` of others.
fn folder(name: &serde_json::Value) -> Option<String> {
    match name.as_str()? {
        "evenkeel" => Some("evenkeel".to_owned()),
        name => name.strip_prefix("evenkeel-").map(str::to_owned),
    }
}

/// Edges that no crate may have.
fn forbidden(workspace: &BTreeMap<String, Edges>) -> Vec<String> {
    let is_for_tests = |name: &str, used: &str| name == "evenkeel" && used == "dev";
    let wrong = |name: &str, used: &str| name != used && !allowed(name).contains(&used);
    let mut found = Vec::new();
    for (name, edges) in workspace {
        let built = edges.built.iter().filter(|used| wrong(name, used));
        let others = edges.others.iter().filter(|used| wrong(name, used) && !is_for_tests(name, used));
        found.extend(built.chain(others).map(|used| format!("{name} must not use {used}")));
    }
    found
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let workspace = workspace();
    assert!(workspace.len() >= 13, "only {} crates found", workspace.len());
    assert_eq!(forbidden(&workspace), [""; 0]);
}
