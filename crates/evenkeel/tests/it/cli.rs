//! The binary as a user runs it: bad input, and a kill in the middle; and waiting for what must come, on a machine that may stand still.

use crate::sandbox::measured;
use evenkeel_core::Nanos;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

pub fn evenkeel(home: &Path, arguments: &[&str]) -> Output {
    command(home, arguments).output().expect("the binary can be started")
}

pub fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(arguments).stdin(Stdio::null()).env_remove("EVENKEEL_PASSWORD");
    command
}

pub fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

pub fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// A command at work whose output nobody reads.
pub fn unread(home: &Path, arguments: &[&str]) -> Child {
    let mut command = command(home, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary can be started")
}

/// One whose output and errors are kept for whoever waits for it.
pub fn piped(home: &Path, arguments: &[&str]) -> Child {
    let mut command = command(home, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be started")
}

/// A child that is killed where the test ends before it.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

pub fn kill(mut child: Child) {
    child.kill().expect("a signal");
    child.wait().expect("an end");
}

pub fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

pub fn asked(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = evenkeel(home, arguments);
    let (said, errors) = text(&output);
    (output.status.code(), said + &errors)
}

/// What a command said that ended by this code.
pub fn ended(output: &Output, code: i32) -> (String, String) {
    let (said, told) = text(output);
    assert_eq!(output.status.code(), Some(code), "{said}{told}");
    (said, told)
}

/// What a command says in all that ends by this code.
pub fn ends(home: &Path, arguments: &[&str], code: i32) -> String {
    let (found, said) = asked(home, arguments);
    assert_eq!(found, Some(code), "{arguments:?}: {said}");
    said
}

/// Writes a configuration; the flag that names it.
pub fn configured(path: &Path, text: &str) -> String {
    std::fs::write(path, text).expect("a file can be written");
    format!("--config={}", path.display())
}

/// Runs a command that must be refused, and returns what it says.
pub fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let (_, told) = text(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
    told
}

#[test]
fn what_finds_no_room_is_an_error_that_says_what_was_written() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let full = |arguments: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is full");
        let output =
            command(home.path(), arguments).stdout(full).stdin(Stdio::piped()).output().expect("it starts");
        let text = ended(&output, 2).1;
        assert!(text.contains("standard output") && text.contains("hint: free some space"), "{text}");
    };
    full(&["explain", "--list"]);
    full(&["sense", "--for", "1s"]);
}

#[test]
fn bad_input_is_refused_with_what_to_do_before_anything_is_started() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (line, expected) in [
        ("profile --workload tpcw.complx", "did you mean `tpcw.complex`"),
        ("profile --rate 0", "it must be above 0"),
        ("profile --rate auto:2", "between 3 and"),
        ("profile --rate 10..20", "needs a step"),
        ("profile --rate 10..:10 --whole-sweep", "no last rate"),
        ("profile --duration 0s", "is not a time"),
        ("profile --duration soon", "not a number with a unit"),
        ("profile --rate 9 --duration 8", "has no unit"),
        ("profile --rate 9 --objective 8", "has no unit"),
        ("load mysql://a@127.0.0.1:1/b --rate 9 --duration 8", "has no unit"),
        ("sense --for 8", "has no unit"),
        ("profile --factor colour=red", "unknown factor"),
        ("profile --factor buffer-pool=0%", "not a positive percentage"),
        ("profile mysql://root@127.0.0.1:1/tpcw", "connection refused"),
        ("profile --mu requests=0%", "write --mu probe, or --mu requests=5%"),
        ("profile --factor disk-rate=1", "256K or more"),
        ("profile --factor disk-iops=0", "10 or more"),
        ("profile http://127.0.0.1", "hint:"),
        ("profile sandbox:nobody", "no sandbox"),
        ("profile --resume nothing", "no study named nothing"),
        ("report nothing", "\n  (with the same --home)\n"),
        ("profile --resume last --repeats 9 --rate 5", "continued with the flags it began with"),
        ("data fill mysql://u@127.0.0.1:1/d --size small", "--size is for DVD Store"),
        ("data fill mysql://u@127.0.0.1:1/d --workload dvdstore --items 100", "--items is for TPC-W"),
        ("report nothing last", "no study named nothing"),
        ("sandbox up ../escape", "letters, digits"),
        ("sandbox up a --at cpus=8000", "this machine has CPUs"),
        ("profile --generator-cpus 8000", "by --generator-cpus"),
        ("profile --output /proc/nowhere", "by --output"),
        ("profile --workload missing.toml", "explain --list"),
        ("sense --pid 999999999", "there is no process 999999999"),
        ("load mysql://u@127.0.0.1:1/d --rate 5 --timeout 0s", "--timeout 0s is not a time"),
        ("sandbox up --set nonsense", "innodb_buffer_pool_size=64M"),
        ("guard --config none.toml", "`evenkeel guard --print-config > none.toml`"),
        ("guard --limit 8", "`initial_limit` is a key of the file"),
        ("share disk --fuse /x", "`fuse` is a key of the file"),
        ("guard top http://127.0.0.1:1/metrics", "write host:port"),
        ("study throttling clients=abc", "write numbers, as 1,4,16"),
    ] {
        let text = refused(home.path(), &words(line));
        assert!(text.contains(expected), "{line}: {text}");
        let ways = ["hint:", "tip:", "write it"];
        assert!(ways.iter().any(|way| text.contains(way)), "{line} says no way out: {text}");
    }
    let without_home = refused(home.path(), &["study", "nosuch"]);
    assert!(!without_home.contains("--home"), "{without_home}");
    assert!(!home.path().join("sandboxes").exists(), "a refused command started something");
}

#[test]
fn an_error_stream_that_is_full_or_closed_changes_no_exit_code() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let (_, closed) = std::io::pipe().expect("a pipe");
    for errors in [Stdio::from(full), Stdio::from(closed)] {
        let status = command(home.path(), &["report", "nothing"]).stderr(errors).status();
        assert_eq!(status.expect("the binary can be started").code(), Some(2));
    }
}

#[test]
fn a_damaged_study_is_listed_as_one_and_is_a_finding() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let folder = home.path().join("runs/20260101-0000-broken");
    std::fs::create_dir_all(folder.join("runs")).expect("a folder");
    for plan in [Some("{\"format\": 1, \"id\""), Some("{\"format\": 99}"), None] {
        match plan {
            Some(text) => std::fs::write(folder.join("plan.json"), text).expect("written"),
            None => std::fs::remove_file(folder.join("plan.json")).expect("removed"),
        }
        let text = ends(home.path(), &["runs"], 1);
        assert!(text.contains("damaged: 20260101-0000-broken:") && text.contains("plan.json"), "{text}");
        let is_newer = plan.is_some_and(|plan| plan.contains("99"));
        assert!(text.contains(if is_newer { "use the version" } else { "restore plan.json" }), "{text}");
        let text = ends(home.path(), &["runs", "--json"], 1);
        assert!(text.contains(": \"20260101-0000-broken\"") && text.contains("\"plan\": null"), "{text}");
    }
    std::fs::write(folder.join("plan.json"), "{\"format\": 1, \"id\"").expect("written");
    let name = "20260101-0000-broken";
    for line in [&["report", name][..], &["export", name], &["runs", name], &["compare", name, name]] {
        let told = refused(home.path(), line);
        assert!(told.contains("plan.json is damaged") && told.contains("restore plan.json"), "{told}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::create_dir(&folder).expect("a folder that is no study");
    assert_eq!(evenkeel(home.path(), &["runs"]).status.code(), Some(0));
}

#[test]
fn a_killed_profile_leaves_no_server_and_goes_on_where_it_was() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let study = killed_after_one_run(home.path());
    await_no_server(home.path());
    // What is proposed goes on as it stands, with the home in use.
    let name = study.file_name().expect("a name").to_string_lossy();
    let goes_on = format!("`evenkeel --home {} profile --resume {name}`", home.path().display());
    for (line, code) in [("runs last", 0), ("study --resume last", 2)] {
        let said = ends(home.path(), &words(line), code);
        assert!(said.contains(&goes_on) && !said.contains("with the same --home"), "{line}: {said}");
    }

    // Runs of a second are too short to be valid on a busy machine; all of them are there either way.
    measured(home.path(), &["profile", "--resume", "last", "--quiet"]);
    let runs = study.join("runs");
    let mut names: Vec<String> = std::fs::read_dir(&runs)
        .expect("the study has runs")
        .map(|entry| entry.expect("listed").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    // On a busy machine one of the four is measured again.
    let again = names.len();
    names.retain(|name| !name.ends_with(".attempt-2"));
    assert_eq!(names, ["c01-r1", "c01-r2", "c02-r1", "c02-r2"]);
    assert!(again <= names.len() + 1, "{again}");
    let report = std::fs::read_to_string(study.join("report.html")).expect("a report");
    assert!(report.contains("</html>"));
    // Each run has its strips, and its histogram is read again.
    assert!(!report.contains("is missing") && !report.contains("cannot be read"));
    assert_eq!(report.matches("<svg class=\"chart strips\"").count(), 4);
    assert!(report.contains("id=\"spectrum-0-t\""));
    assert!(refused(home.path(), &["report", "last", "last"]).contains("hint: name two studies"));
    let csv = evenkeel(home.path(), &["export", "last"]).stdout;
    assert_eq!(String::from_utf8_lossy(&csv).lines().count(), 3);
    let list = evenkeel(home.path(), &["runs"]).stdout;
    assert!(String::from_utf8_lossy(&list).contains("4/4"));
    await_no_server(home.path());
    what_is_missing_beside_a_run_is_named_by_all_readers(home.path(), &study);
}

fn what_is_missing_beside_a_run_is_named_by_all_readers(home: &Path, study: &Path) {
    assert_eq!(["runs", "runs last"].map(|line| asked(home, &words(line)).0), [Some(0), Some(0)]);
    let file = study.join("runs/c01-r2/response.csv");
    let kept = std::fs::read(&file).expect("its distribution");
    for torn in [None, Some(&b""[..]), Some(&kept[..kept.len() - 1])] {
        match torn {
            None => std::fs::remove_file(&file).expect("removed"),
            Some(part) => std::fs::write(&file, part).expect("written"),
        }
        for line in ["runs", "runs last", "runs last --json", "report last", "export last --format json"] {
            if line == "runs" && torn.is_some_and(|part| !part.is_empty()) {
                continue; // The list looks at the names and lengths of files alone.
            }
            let (code, told) = asked(home, &words(line));
            assert!(told.contains("damaged") && told.contains("c01-r2/response.csv"), "{line}: {told}");
            assert!(told.contains("hint: ") || told.contains("\"hint\""), "{line}: {told}");
            // All figures are exported, since they stand in other files.
            assert_eq!(code, Some(if line.starts_with("export") { 0 } else { 1 }), "{line}: {told}");
        }
    }
    std::fs::write(&file, &kept).expect("written");
    assert_eq!(evenkeel(home, &["runs", "last"]).status.code(), Some(0));
}

/// Starts a study, kills it by SIGKILL in the middle of its second run, and returns its folder.
fn killed_after_one_run(home: &Path) -> PathBuf {
    let line = "profile --ebs 1 --items 1000 --rate 20,40 --repeats 2 --duration 1s --warm-up 200ms --json";
    let mut child = piped(home, &words(line));
    let (mut study, mut finished) = (None, false);
    for line in BufReader::new(child.stderr.take().expect("piped")).lines() {
        let line = line.expect("events are text");
        let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        match event["event"].as_str() {
            Some("planned") => study = event["folder"].as_str().map(PathBuf::from),
            Some("run-finished") => finished = true,
            Some("running") if finished => break,
            _ => {}
        }
    }
    kill(child);
    study.expect("the plan was told")
}

/// The kernel ends the server of a killed evenkeel; it takes a moment.
pub fn await_no_server(home: &Path) {
    eventually("the end of the server of an evenkeel that ended", || {
        let list = evenkeel(home, &["sandbox", "list", "--json"]);
        list.status.success() && !String::from_utf8_lossy(&list.stdout).contains("running")
    });
}

#[test]
fn a_password_of_a_url_is_not_in_the_list_of_processes() {
    let home = tempfile::tempdir().expect("a temporary directory");
    // One that accepts clients and says nothing: the command waits for its greeting.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let url = format!("mysql://watch:s3cret@{address}/d");
    let load = unread(home.path(), &["load", &url, "--rate", "5"]);
    let shown = || {
        let line = std::fs::read(format!("/proc/{}/cmdline", load.id())).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    let wanted = format!("mysql://watch:xxxxxx@{address}/d");
    eventually("a line without the password", || shown().contains(&wanted));
    assert!(!shown().contains("s3cret"), "{}", shown());
    kill(load);
}

/// From one look to the next.
const NAP: Duration = Duration::from_millis(10);
/// A minute of naps.
const LOOKS: usize = 6_000;
/// Looks that take long themselves are so many at least, and then no more than ten minutes.
const LEAST: usize = 10;
/// The ten minutes of [`LEAST`].
const LONG: Nanos = Nanos::from_secs(600);

/// What is found in the end.
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = evenkeel_os::clock::Clock::start();
    for number in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        if number >= LEAST && clock.now() > LONG {
            break;
        }
        std::thread::sleep(NAP);
    }
    panic!("{what} did not come in its time");
}

/// Waits until it is so.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    found(what, || condition().then_some(()));
}
