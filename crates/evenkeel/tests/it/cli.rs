//! The binary as a user runs it: bad input, and a kill in the middle.

use crate::patience::eventually;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn evenkeel(home: &Path, arguments: &[&str]) -> Output {
    command(home, arguments).output().expect("the binary can be started")
}

pub fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(arguments).stdin(Stdio::null()).env_remove("EVENKEEL_PASSWORD");
    command
}

/// Runs a command that must be refused, and returns what it says.
pub fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    text
}

#[test]
fn what_finds_no_room_is_an_error_that_says_what_was_written_and_a_process_that_is_not_there_is_named() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let full = |arguments: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is full");
        let output =
            command(home.path(), arguments).stdout(full).stdin(Stdio::piped()).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains("standard output") && text.contains("hint: free some space"), "{text}");
    };
    full(&["explain", "--list"]);
    full(&["doctor", "--json"]);
    full(&["sense", "--for", "1s"]);
    let text = refused(home.path(), &["sense", "--pid", "999999999"]);
    assert!(text.contains("there is no process 999999999") && text.contains("hint:"), "{text}");
    for (flag, value) in [("--duration", "0s"), ("--timeout", "0s")] {
        let load = ["load", "mysql://u@127.0.0.1:1/d", "--rate", "5", flag, value];
        let text = refused(home.path(), &load);
        assert!(text.contains(&format!("{flag} 0s is not a time")) && text.contains("hint:"), "{text}");
    }
}

#[test]
fn bad_input_is_refused_with_what_to_do_before_anything_is_started() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let cases: [(&[&str], &str); 32] = [
        (&["profile", "--workload", "tpcw.complx"], "did you mean `tpcw.complex`"),
        (&["profile", "--rate", "0"], "it must be above 0"),
        (&["profile", "--rate", "-5"], "it must be above 0"),
        (&["profile", "--rate", "auto:2"], "between 3 and"),
        (&["profile", "--rate", "10..20"], "needs a step"),
        (&["profile", "--duration", "0s"], "is not a time"),
        (&["profile", "--duration", "soon"], "not a number with a unit"),
        (&["profile", "--theta-ceiling", "120"], "not between 0 and 100"),
        (&["profile", "--factor", "colour=red"], "unknown factor"),
        (&["profile", "--factor", "buffer-pool=0%"], "not a positive percentage"),
        (&["profile", "mysql://root@127.0.0.1:1/tpcw"], "connection refused"),
        (&["profile", "--mu", "requests=0%"], "write --mu probe, or --mu requests=5%"),
        (&["profile", "--mu-by", "profiles"], "--mu-by has no meaning without --mu requests=SHARE"),
        (&["profile", "--factor", "disk-bandwidth=1"], "are too few to start a server"),
        (&["profile", "--factor", "disk-iops=0"], "with a limit of 0 a server cannot work"),
        (&["profile", "--disk-bandwidth", "0"], "with a limit of 0 a server cannot work"),
        (&["profile", "http://127.0.0.1"], "hint:"),
        (&["profile", "sandbox:nobody"], "no sandbox"),
        (&["profile", "--resume", "nothing"], "no study named nothing"),
        (
            &["profile", "--resume", "last", "--repeats", "9", "--rate", "5"],
            "continued with the flags it began with",
        ),
        (&["profile", "--rate", "10..:10", "--whole-sweep"], "no last rate"),
        (&["profile", "--workload", "dvdstor"], "did you mean `dvdstore`"),
        (&["data", "fill", "mysql://u@127.0.0.1:1/d", "--size", "small"], "--size is for DVD Store"),
        (
            &["data", "fill", "mysql://u@127.0.0.1:1/d", "--workload", "dvdstore", "--items", "100"],
            "--items is for TPC-W",
        ),
        (&["report", "nothing"], "no study named nothing"),
        (&["report", "nothing", "last"], "no study named nothing"),
        (&["sandbox", "up", "../escape"], "letters, digits"),
        (&["sandbox", "up", "a", "--cpus", "8000"], "by --cpus"),
        (&["profile", "--cpus", "8000"], "by --cpus"),
        (&["profile", "--generator-cpus", "8000"], "by --generator-cpus"),
        (&["profile", "--output", "/proc/nowhere"], "by --output"),
        (&["profile", "--workload", "missing.toml"], "explain --list"),
    ];
    let guard =
        ["guard", "--listen", "127.0.0.1:0", "--backend", "127.0.0.1:1", "--check", "--profile", "nothing"];
    for (arguments, expected) in cases.into_iter().chain([(&guard[..], "no study named nothing")]) {
        let text = refused(home.path(), arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert!(
            ["hint:", "tip:", "write it"].iter().any(|way| text.contains(way)),
            "{arguments:?} says no way out: {text}"
        );
    }
    assert!(!home.path().join("sandboxes").exists(), "a refused command started something");
}

#[test]
fn an_error_stream_that_is_full_or_closed_changes_no_exit_code() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let status = command(home.path(), &["report", "nothing"]).stderr(full).status();
    assert_eq!(status.expect("the binary can be started").code(), Some(2));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = command(home.path(), &["compare", "nothing", "nobody"]).stderr(writer).status();
    assert_eq!(status.expect("the binary can be started").code(), Some(2));
}

#[test]
fn a_folder_whose_name_is_no_utf8_is_taken_as_it_is() {
    use std::os::unix::ffi::OsStrExt;
    let home = tempfile::tempdir().expect("a temporary directory");
    let folder = home.path().join(std::ffi::OsStr::from_bytes(b"runs-\xff\xfe"));
    let mut profile = command(home.path(), &["profile", "--workload", "missing.toml", "--output"]);
    let output = profile.arg(folder).output().expect("the binary can be started");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains("missing.toml"), "{}: {text}", output.status);
}

#[test]
fn an_unfit_server_is_refused_with_its_own_words() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let text = refused(home.path(), &["sandbox", "up", "--server-binary", "/bin/true"]);
    assert!(text.contains("neither mariadbd nor mysqld") && text.contains("hint:"), "{text}");
    let text = refused(home.path(), &["sandbox", "up", "--set", "innodb_bogus=1"]);
    assert!(text.contains("innodb_bogus") && text.contains("--set"), "{text}");
    let text = refused(home.path(), &["sandbox", "up", "--set", "nonsense"]);
    assert!(text.contains("innodb_buffer_pool_size=64M"), "{text}");
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
        let list = evenkeel(home.path(), &["runs"]);
        let text = String::from_utf8_lossy(&list.stdout).into_owned();
        assert_eq!(list.status.code(), Some(1), "{text}");
        assert!(text.contains("damaged: 20260101-0000-broken:") && text.contains("plan.json"), "{text}");
        let way_out = if plan.is_some_and(|plan| plan.contains("99")) {
            "use the version"
        } else {
            "restore plan.json"
        };
        assert!(text.contains("hint: ") && text.contains(way_out), "{text}");
        let json = evenkeel(home.path(), &["runs", "--json"]);
        let text = String::from_utf8_lossy(&json.stdout).into_owned();
        assert_eq!(json.status.code(), Some(1));
        assert!(
            text.contains("\"study\": \"20260101-0000-broken\"") && text.contains("\"plan\": null"),
            "{text}"
        );
    }
    a_damaged_study_is_refused_by_all_who_need_it_whole(home.path(), &folder);
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::create_dir(&folder).expect("a folder that is no study");
    assert_eq!(evenkeel(home.path(), &["runs"]).status.code(), Some(0));
}

/// Exit code 2, with the file and the way out; the help of each says so.
fn a_damaged_study_is_refused_by_all_who_need_it_whole(home: &Path, folder: &Path) {
    std::fs::write(folder.join("plan.json"), "{\"format\": 1, \"id\"").expect("written");
    let name = "20260101-0000-broken";
    for line in [&["report", name][..], &["export", name], &["runs", name], &["compare", name, name]] {
        let output = evenkeel(home, line);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line:?}: {told}");
        assert!(
            told.contains("plan.json is damaged") && told.contains("restore plan.json"),
            "{line:?}: {told}"
        );
        let help = String::from_utf8(evenkeel(home, &[line[0], "--help"]).stdout).expect("help is text");
        assert!(help.contains("Exit codes: 0 "), "{line:?}");
    }
}

#[test]
fn help_names_examples_and_completions_are_printed() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for arguments in [&["--help"][..], &["profile", "--help"], &["sandbox", "--help"], &["data", "--help"]] {
        let text = String::from_utf8(evenkeel(home.path(), arguments).stdout).expect("help is text");
        assert!(text.contains("Examples:"), "{arguments:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(!evenkeel(home.path(), &["completions", shell]).stdout.is_empty());
    }
    let list = String::from_utf8(evenkeel(home.path(), &["explain", "--list"]).stdout).expect("text");
    for name in
        ["tpcw.simple", "tpcw.complex", "tpcw.write", "tpcw.browsing", "tpcw.shopping", "tpcw.ordering"]
    {
        assert!(list.contains(name), "{name} is not listed");
    }
}

#[test]
fn a_killed_profile_leaves_no_server_and_goes_on_where_it_was() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let study = killed_after_one_run(home.path());
    await_no_server(home.path());

    let resumed = evenkeel(home.path(), &["profile", "--resume", "last", "--quiet"]);
    let text = String::from_utf8_lossy(&resumed.stdout).into_owned();
    // Runs of a second are too short to be valid on a busy machine; all of them are there either way.
    assert!(
        matches!(resumed.status.code(), Some(0 | 3)),
        "{text}{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
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
    let twice = refused(home.path(), &["report", "last", "last"]);
    assert!(
        twice.contains("both names are of the study") && twice.contains("hint: name two studies"),
        "{twice}"
    );
    let csv = evenkeel(home.path(), &["export", "last"]).stdout;
    assert_eq!(String::from_utf8_lossy(&csv).lines().count(), 3);
    let list = evenkeel(home.path(), &["runs"]).stdout;
    assert!(String::from_utf8_lossy(&list).contains("4/4"));
    await_no_server(home.path());
    what_is_missing_beside_a_run_is_named_by_all_readers(home.path(), &study);
}

fn what_is_missing_beside_a_run_is_named_by_all_readers(home: &Path, study: &Path) {
    let whole = ["runs", "runs last"].map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        evenkeel(home, &words).status.code()
    });
    assert_eq!(whole, [Some(0), Some(0)]);
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
            let words: Vec<&str> = line.split(' ').collect();
            let output = evenkeel(home, &words);
            let told = [&output.stdout, &output.stderr]
                .map(|text| String::from_utf8_lossy(text).into_owned())
                .concat();
            assert!(told.contains("damaged") && told.contains("c01-r2/response.csv"), "{line}: {told}");
            assert!(told.contains("hint: ") || told.contains("\"hint\""), "{line}: {told}");
            // All figures are exported, since they stand in other files.
            let code = if line.starts_with("export") { 0 } else { 1 };
            assert_eq!(output.status.code(), Some(code), "{line}: {told}");
        }
    }
    std::fs::write(&file, &kept).expect("written");
    assert_eq!(evenkeel(home, &["runs", "last"]).status.code(), Some(0));
}

/// Starts a study, kills it by SIGKILL in the middle of its second run, and returns its folder.
fn killed_after_one_run(home: &Path) -> PathBuf {
    let arguments = [
        "profile",
        "--ebs",
        "1",
        "--items",
        "1000",
        "--rate",
        "20,40",
        "--repeats",
        "2",
        "--duration",
        "1s",
        "--warm-up",
        "200ms",
        "--json",
    ];
    let mut child =
        command(home, &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
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
    child.kill().expect("it still runs");
    child.wait().expect("it has ended");
    study.expect("the plan was told")
}

/// The kernel ends the server of a killed evenkeel; it takes a moment.
fn await_no_server(home: &Path) {
    eventually("the end of the server of an evenkeel that ended", || {
        let list = evenkeel(home, &["sandbox", "list", "--json"]);
        list.status.success() && !String::from_utf8_lossy(&list.stdout).contains("running")
    });
}

#[test]
fn a_password_of_a_url_is_not_in_the_list_of_processes() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let url = "mysql://watch:s3cret@127.0.0.1:1/";
    let mut guard = command(
        home.path(),
        &["guard", "--listen", "127.0.0.1:0", "--backend", "127.0.0.1:1", "--monitor", url],
    );
    let mut guard = guard.stderr(Stdio::null()).spawn().expect("the binary can be started");
    let shown = || {
        let line = std::fs::read(format!("/proc/{}/cmdline", guard.id())).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    eventually("a line without the password", || shown().contains("mysql://watch:xxxxxx@127.0.0.1:1/"));
    assert!(!shown().contains("s3cret"), "{}", shown());
    guard.kill().expect("it runs");
    guard.wait().expect("it ends");
}
