//! Passwords: no command shows or keeps one, wherever it was given.

use crate::cli::{Running, borrowed, command, eventually};
use crate::guard::server::signal;
use crate::sandbox::{Home, done};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Output;

const MARK: &str = "Pa55Mark";

/// URLs that a server refuses, that lead nowhere, and that are none.
const WRONG: [&str; 5] = [
    "mysql://app:Pa55Mark@127.0.0.1:1/shop",
    "mysql:/app:Pa55Mark@h/shop",
    "postgres://app:Pa55Mark@h/shop",
    "mysql://app:Pa55 Mark/Pa55Mark@h/shop",
    "mysql://app@h/shop?password=Pa55Mark",
];

/// All commands that have a help, each by its words.
fn commands(words: &[String], found: &mut Vec<Vec<String>>) {
    let mut help = words.to_vec();
    help.push("--help".to_owned());
    let help = done(Path::new("/nowhere"), &borrowed(&help));
    let (_, listed) = help.split_once("\nCommands:\n").unwrap_or_default();
    let lines =
        listed.lines().take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    for name in lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        let command = [words, &[name.to_owned()]].concat();
        commands(&command, found);
        found.push(command);
    }
}

/// A command ends by one of these codes, and there is no password in what it says.
fn silent(home: &Path, words: &[&str], codes: &[i32]) {
    let output = command(home, words).current_dir(home).output().expect("it runs");
    check(words, &output, codes);
}

fn check(words: &[&str], output: &Output, codes: &[i32]) {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    for part in [MARK, "Pa55 ", "Mark@"] {
        assert!(!said.contains(part), "{words:?}: {said}");
    }
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{words:?}: {output:?}");
}

/// No file below has a password in it.
fn search(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("a kind");
        assert!(!path.to_string_lossy().contains(MARK), "{}", path.display());
        if kind.is_dir() {
            search(&path);
        } else if kind.is_file() {
            let bytes = fs::read(&path).expect("a file");
            let found = bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes());
            assert!(!found, "a password is in {}", path.display());
        }
    }
}

#[test]
fn a_wrong_url_is_an_error_of_every_command_by_exit_code_2_and_without_its_password() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut all = Vec::new();
    commands(&[], &mut all);
    assert!(all.len() > 45, "only {all:?}");
    let home = home.path();
    std::thread::scope(|scope| {
        for part in all.chunks(all.len().div_ceil(3)) {
            scope.spawn(move || {
                for path in part {
                    let flag = format!("--nope={}", WRONG[0]);
                    for word in WRONG.iter().copied().chain([flag.as_str()]) {
                        silent(home, &[&borrowed(path)[..], &[word]].concat(), &[2]);
                    }
                }
            });
        }
    });
    search(home);
}

/// Every command that takes a URL, with the flags that it needs besides, in the order of a day's work; DATA is for data sets.
const TAKERS: [&str; 14] = [
    "data fill DATA --ebs 1 --items 100",
    "data check DATA",
    "explain URL --workload w.toml",
    "load URL --rate 20 --duration 1s --warm-up 0s --workload w.toml",
    "profile URL --workload w.toml --rate 20 --repeats 1 --duration 1s --warm-up 0s --json",
    "workload from URL",
    "relayout URL --dry-run",
    "cdr load URL calls --layout calls.toml --table calls",
    "cdr audit URL calls --layout calls.toml --table calls",
    "cdr export URL --table calls --into export",
    "cdr dispatch URL --table calls --by start",
    "cdr watch incoming URL --layout calls.toml --table calls --by start --once --wait 1s",
    "cdr retire URL --table calls --keep 90d",
    "profile --workload URL",
];

fn words<'a>(line: &'a str, url: &'a str) -> Vec<&'a str> {
    line.split(' ').map(|word| if ["URL", "DATA"].contains(&word) { url } else { word }).collect()
}

/// An account whose password is the mark, the files that commands ask for, and the address of the server.
fn prepared(server: &Home) -> String {
    let (home, mut control) = (server.path(), server.control(None));
    for sql in [
        "CREATE DATABASE tpcw",
        "CREATE DATABASE shop",
        "USE shop",
        "CREATE TABLE item (id INT PRIMARY KEY)",
        "INSERT INTO item VALUES (1)",
        "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'Pa55Mark'",
        "GRANT ALL ON *.* TO app@'127.0.0.1'",
        "CREATE USER other@'127.0.0.1' IDENTIFIED BY 'x'",
    ] {
        control.exec(sql).expect(sql);
    }
    fs::create_dir(home.join("incoming")).expect("a folder");
    for name in ["calls", "incoming/more"] {
        done(home, &["cdr", "generate", &server.file(name), "--records", "10"]);
    }
    fs::write(home.join("calls.toml"), done(home, &["cdr", "generate", "--print-layout"])).expect("a layout");
    let workload = "name = 'one'\n[[statement]]\nname = 'one'\nsql = 'SELECT id FROM item WHERE id = 1'\n";
    fs::write(home.join("w.toml"), workload).expect("a workload");
    // What the server was asked, for `workload from`.
    control.query_value("SELECT id FROM item WHERE id = 1").expect("an answer");
    format!("127.0.0.1:{}", control.query_value("SELECT @@port").expect("an answer").expect("a port"))
}

/// Files that hold one, whole and torn.
fn files_tell_nothing(home: &Path, right: &str) {
    for (text, line) in [
        (
            format!("listen='h:0'\nbackend='h:1'\nmonitor='{}'\nnope=1\n", WRONG[3]),
            "guard --check --config f.toml",
        ),
        (format!("monitor='{right}\n"), "guard --check --config f.toml"),
        (
            format!("name='a'\n[bus]\naddress='nats://app:{MARK}@h:4222'\nnope=2\n"),
            "share disk --check --config f.toml",
        ),
        (format!("[profile]\nurl='{}'\n", WRONG[0]), "study f.toml"),
        (format!("url='{right}'\n"), "profile --workload f.toml"),
    ] {
        fs::write(home.join("f.toml"), text).expect("a file");
        silent(home, &words(line, ""), &[2]);
    }
    fs::remove_file(home.join("f.toml")).expect("a file");
}

/// A guard that asks its server for a second; what it says and decides is kept in files.
fn guard_keeps_nothing(home: &Path, address: &str, right: &str) {
    let (journal, config, said) = (home.join("journal"), home.join("f.toml"), home.join("said"));
    let text = format!("[control]\nmonitor = {}\njournal = {}\n", json!(right), json!(journal));
    fs::write(&config, text).expect("a file");
    let line = format!("guard --listen 127.0.0.1:0 --backend {address} --config f.toml");
    let said = fs::File::create(said).expect("a file");
    let mut guard = command(home, &words(&line, ""));
    guard.current_dir(home).stdout(said.try_clone().expect("the same")).stderr(said);
    let mut guard = Running(guard.spawn().expect("it starts"));
    let ticks = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    eventually("ten ticks", || ticks() >= 10);
    signal("-TERM", guard.0.id() as i32);
    guard.0.wait().expect("an end");
    fs::remove_file(config).expect("a file");
}

/// A job on the server, whose password is in the environment, beside one that does nothing.
fn interference_tells_nothing(home: &Path, address: &str) {
    let line = format!(
        "-q interfere --at host --server db=mysql://app@{address} --scratch scratch --jobs idle --jobs read --repeats 1 --seconds 1 --rows 1000"
    );
    let mut study = command(home, &words(&line, ""));
    check(&[&line], &study.env("EVENKEEL_PASSWORD", MARK).output().expect("it runs"), &[0]);
}

#[test]
fn no_password_is_shown_or_kept_whatever_takes_it() {
    let server = Home::up(&["--set", "performance_schema=ON"]);
    let home = server.path();
    let address = prepared(&server);
    let (right, denied) =
        (format!("mysql://app:{MARK}@{address}/shop"), format!("mysql://other:{MARK}@{address}/shop"));
    for url in WRONG.iter().copied().chain([denied.as_str()]) {
        for line in TAKERS {
            silent(home, &words(line, url), &[1, 2]);
        }
        fs::write(home.join("f.toml"), format!("control.monitor = {}\n", json!(url))).expect("a file");
        let guard = "guard --listen 127.0.0.1:0 --backend 127.0.0.1:1 --check --config f.toml";
        silent(home, &words(guard, ""), &[0, 2]);
        let server = format!("url={url}");
        silent(home, &["study", "variation", &server, &server, "--quick"], &[1, 2]);
    }
    files_tell_nothing(home, &right);
    // And where it is right: what is done, kept and shown. The last one takes no URL there.
    let data = right.replace("/shop", "/tpcw");
    for line in &TAKERS[..TAKERS.len() - 1] {
        let url = if line.contains("DATA") { &data } else { &right };
        silent(home, &words(line, url), &[0, 3]);
    }
    guard_keeps_nothing(home, &address, &right);
    for line in ["report last", "export last --format json", "runs last", "runs last --json", "runs"] {
        silent(home, &words(line, ""), &[0]);
    }
    interference_tells_nothing(home, &address);
    done(home, &["sandbox", "down", "a"]);
    // The server's own tables are its business.
    fs::remove_dir_all(home.join("sandboxes")).expect("it is down");
    search(home);
}
