//! A server seen from elsewhere, with real processes, sockets and servers.

mod sense;

use crate::cli::{command, ended, eventually, found};
use crate::guard::server::Server;
use crate::sandbox::{figures, measured};
use evenkeel_sense::cpu::CpuOf;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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

#[test]
fn a_reset_command_is_told_which_server_and_not_its_password() {
    let server = Server::up(&[]);
    server.sql("CREATE USER other@'%' IDENTIFIED BY 's3cret'; GRANT ALL ON *.* TO other@'%'");
    let (workload, note) = (server.workload("ask", &[("one", "SELECT 1")]), server.file("note"));
    let address = server.address();
    let reset = format!("echo \"$EVENKEEL_TARGET $EVENKEEL_URL\" >>{}; env >>{0}.all", note.display());
    let url = format!("mysql://other:s3cret@{address}/shop");
    let profile = ["-q", "profile", &url, "--reset-command", &reset, "--workload", &workload];
    let flags = ["--rate", "20", "--repeats", "1", "--duration", "1s", "--warm-up", "0s"];
    measured(&server.file("home"), &[&profile[..], &flags].concat());
    let told = fs::read_to_string(&note).expect("a note");
    assert_eq!(told.lines().next(), Some(format!("{address} mysql://other@{address}/shop").as_str()));
    let all = fs::read_to_string(server.file("note.all")).expect("an environment");
    assert!(!all.contains("s3cret"), "{all}");
}

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
        || CpuOf::Process(pid(&server).parse().expect("a number")).read().expect("the server").busy;
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
