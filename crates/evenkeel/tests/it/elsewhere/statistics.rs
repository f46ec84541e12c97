//! What a server counts itself, where nobody else sees it.

use super::{doubts, profile, runs};
use crate::guard::server::Server;
use crate::sandbox::figures;
use std::fs;
use std::path::Path;

/// A profile of a server whose process cannot be found: the file with its number is away, as on another machine.
fn unseen(server: &Server) -> (String, Vec<serde_json::Value>) {
    let file = server.sql("SELECT @@pid_file");
    let away = format!("{file}.away");
    fs::rename(&file, &away).expect("its number");
    let output = profile(server, "40", &["--duration", "3s"]).output().expect("it starts");
    fs::rename(&away, &file).expect("its number");
    assert!(Path::new(&file).exists());
    (figures(&output).0, runs(&server.file("home")))
}

#[test]
fn a_server_that_counts_the_time_of_statements_tells_work_per_request_and_no_utilisation() {
    let server = Server::up(&[("userstat", "1")]);
    let (said, runs) = unseen(&server);
    let run = &runs[0];
    assert_eq!(run["sensed"]["by"].as_str(), Some("server statistics"), "{run:#}");
    let per_request = run["sense"]["server_cpu_us_per_request"].as_f64().expect("CPU per request");
    // The statement joins 10,000 rows and takes milliseconds; half of them where the machine is fast.
    assert!((200.0..200_000.0).contains(&per_request), "{per_request}");
    assert!(run["theta"].is_null() && run["sensed"]["missing"].is_null(), "{run:#}");
    assert!(said.contains("server sensed by server statistics"), "{said}");
}

#[test]
fn a_server_that_nobody_sees_has_no_cpu_figures_and_all_others() {
    let server = Server::up(&[]);
    let (said, runs) = unseen(&server);
    let run = &runs[0];
    assert_eq!(run["sensed"]["by"].as_str(), Some("nobody"), "{run:#}");
    assert!(run["theta"].is_null() && run["sense"]["server_cpu_us_per_request"].is_null(), "{run:#}");
    assert!(run["counts"]["completed"].as_u64() > Some(0) && run["status"]["Questions"].is_f64(), "{run:#}");
    assert!(!doubts(run).contains(&"not-available") && said.contains("--sense-with"), "{said}");
}
