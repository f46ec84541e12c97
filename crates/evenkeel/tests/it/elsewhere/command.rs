//! `--sense-with`: a command reads the machine of the server.

use super::{doubts, json, pid, profile, runs, study};
use crate::cli::ended;
use crate::guard::server::Server;
use crate::patience::{eventually, found};
use crate::sandbox::figures;
use evenkeel_sense::cpu::Domain;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

/// A command as one would write it for ssh: a shell notes its number, and becomes the program.
fn sense(server: &Server) -> String {
    let (note, program) = (server.file("pid"), env!("CARGO_BIN_EXE_evenkeel"));
    let pid = pid(server);
    format!("sh -c 'echo $$ >{}; exec {program} sense --pid {pid} --every 50ms'", note.display())
}

fn noted(server: &Server) -> Option<u32> {
    fs::read_to_string(server.file("pid")).ok()?.trim().parse().ok()
}

fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn a_profile_has_its_cpu_figures_from_the_command_and_leaves_nothing_behind() {
    let server = Server::up(&[]);
    let server_cpu =
        || Domain::Process(pid(&server).parse().expect("a number")).read().expect("the server").busy;
    let before = server_cpu();
    let flags = ["--duration", "6s", "--sense-with", &sense(&server)];
    let (said, _) = figures(&profile(&server, "40", &flags).output().expect("it"));
    let used = server_cpu() - before;
    assert!(said.contains("server sensed by command (sh -c"), "{said}");
    let home = server.file("home");
    let run = &runs(&home)[0];
    assert_eq!(
        (run["sensed"]["by"].as_str(), run["theta"]["domain"].as_str()),
        (Some("command"), Some("process"))
    );
    assert!(run["sensed"]["missing"].is_null() && !doubts(run).contains(&"not-available"), "{run:#}");
    let theta = run["theta"]["total_percent"].as_f64().expect("theta");
    assert!(theta > 0.0 && run["theta"]["steal_percent"].is_f64(), "{run:#}");
    // What it used for the requests of the run it used in all of the study, by our own account.
    let per_request_us = run["sense"]["server_cpu_us_per_request"].as_f64().expect("CPU per request");
    let requests = run["counts"]["completed"].as_f64().expect("requests");
    assert!(per_request_us > 1.0 && per_request_us * requests <= 1.5 * used.as_micros_f64(), "{run:#}");
    let error = run["sensed"]["clock_error_ms"].as_f64().expect("lines were answered");
    assert!(error > 0.0 && run["sensed"]["readings"].as_u64() > Some(2), "{run:#}");
    let manifest = json(&study(&home).expect("a study").join("manifest.json"));
    let words = &manifest["sensed"][server.address()];
    assert_eq!(
        (words["sensed_by"].as_str(), words["cpus"].is_string()),
        (Some("command"), true),
        "{manifest:#}"
    );
    let pid = noted(&server).expect("its number");
    eventually("the end of the command", || is_gone(pid));
    let report = fs::read_to_string(study(&home).expect("a study").join("report.html")).expect("a report");
    assert!(report.contains("server sensed by") && report.contains("Machine of server"));
}

/// A study of three rates in whose second run the command gets a signal: what it said, and the first and the last run.
fn signalled(signal: &str) -> (String, Value, Value) {
    let server = Server::up(&[]);
    let flags = ["--duration", "6s", "--sense-with", &sense(&server)];
    let mut profile = profile(&server, "20,30,40", &flags);
    let child = profile.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let home = server.file("home");
    found("the first run", || {
        let folders = fs::read_dir(study(&home).ok()?.join("runs")).ok()?.flatten();
        folders.map(|folder| folder.path().join("run.json")).find(|path| path.exists())
    });
    let pid = noted(&server).expect("its number");
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill").success());
    let (said, _) = figures(&child.wait_with_output().expect("an end"));
    eventually("the end of the command", || is_gone(pid));
    let mut runs = runs(&home);
    assert_eq!(runs.len(), 3, "{runs:#?}");
    (said, runs.swap_remove(0), runs.pop().expect("a last run"))
}

#[test]
fn after_its_end_or_where_it_falls_silent_figures_are_not_available_and_the_study_goes_on() {
    let both = std::thread::scope(|scope| {
        [("-9", "ended ("), ("-STOP", "has sent nothing for")]
            .map(|(signal, why)| (scope.spawn(move || signalled(signal)), why))
            .map(|(study, why)| (study.join().expect("a study"), why))
    });
    for ((said, first, last), why) in both {
        assert!(first["theta"].is_object() && last["theta"].is_null(), "{first:#} {last:#}");
        assert!(last["sensed"]["missing"].as_str().expect("why").contains(why), "{last:#}");
        assert!(doubts(&last).contains(&"not-available") && !doubts(&first).contains(&"not-available"));
        assert!(last["counts"]["completed"].as_u64() > Some(0), "{last:#}");
        assert!(last["sense"]["server_cpu_us_per_request"].is_null(), "no zero: {last:#}");
        // A line of the terminal may end anywhere in it.
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("not available to the end in"), "{said}");
    }
}

#[test]
fn a_command_that_says_nothing_useful_is_refused_before_the_first_run_with_its_own_words() {
    let server = Server::up(&[]);
    // As by `ssh -n`.
    let deaf = format!("sh -c 'exec {} sense </dev/null'", env!("CARGO_BIN_EXE_evenkeel"));
    for (command, told) in [
        ("sh -c 'echo Permission denied. >&2; exit 255'", "Permission denied."),
        ("echo Welcome", "\"Welcome\""),
        ("/no/such/program", "not found"),
        ("yes", "sends lines that are not readings"),
        ("cat /dev/zero", "a line has no end"),
        (deaf.as_str(), "right after its first line"),
    ] {
        let output = profile(&server, "20", &["--sense-with", command]).output().expect("it starts");
        let (_, said) = ended(&output, 2);
        assert!(said.contains(told) && said.contains("hint:"), "{command}: {said}");
    }
    assert!(study(&server.file("home")).is_err(), "a study without a run was kept");
}
