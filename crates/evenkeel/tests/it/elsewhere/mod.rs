//! A server seen from elsewhere, with real processes, sockets and servers.

mod command;
mod metrics;
mod reset;
mod sense;
mod statistics;

use crate::cli::command;
use crate::guard::server::Server;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

const WORKLOAD: &str = "name = \"ask\"\n[[statement]]\nname = \"one\"\n\
    sql = \"SELECT COUNT(*), MAX(MD5(CONCAT(a.name, b.name))) FROM shop.item a JOIN shop.item b\"\n";

/// A profile of a server, which runs on this machine whatever the profile is told, at these rates.
fn profile(server: &Server, rates: &str, flags: &[&str]) -> Command {
    let workload = server.file("ask.toml");
    fs::write(&workload, WORKLOAD).expect("a file");
    let url = format!("mysql://app@{}/shop", server.address());
    let mut profile = command(&server.file("home"), &["-q", "profile", &url, "--workload"]);
    profile.arg(&workload).args(["--rate", rates, "--whole-sweep", "--retries", "0", "--repeats", "1"]);
    profile.args(["--warm-up", "0s"]).args(flags);
    profile
}

/// The only study of a home.
fn study(home: &Path) -> io::Result<PathBuf> {
    let mut studies = fs::read_dir(home.join("runs"))?;
    Ok(studies.next().ok_or(io::ErrorKind::NotFound)??.path())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// The runs of the only study, in the order in which they were made.
pub fn runs(home: &Path) -> Vec<Value> {
    let folders = fs::read_dir(study(home).expect("a study").join("runs")).expect("runs").flatten();
    let mut runs: Vec<Value> = folders.map(|folder| json(&folder.path().join("run.json"))).collect();
    runs.sort_by_key(|run| run["order"].as_u64());
    runs
}

fn pid(server: &Server) -> String {
    server.sandbox.pid().to_string()
}

/// Codes of the doubts about a run.
fn doubts(run: &Value) -> Vec<&str> {
    run["caveats"].as_array().expect("doubts").iter().filter_map(|caveat| caveat["code"].as_str()).collect()
}
