//! Call records, as a user converts them.

use crate::cli::{command, evenkeel, refused};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

fn ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A file of records, its layout, and the words that convert it.
fn made(home: &Path, dirt: &str) -> (String, String) {
    let (calls, layout) = (home.join("calls").display().to_string(), home.join("calls.toml"));
    ok(&evenkeel(home, &["cdr", "generate", &calls, "--records", "20000", "--dirt", dirt]));
    fs::write(&layout, ok(&evenkeel(home, &["cdr", "generate", "--print-layout"]))).expect("a layout");
    (calls, layout.display().to_string())
}

fn count(path: &Path) -> u64 {
    fs::read(path).expect("an output").iter().filter(|byte| **byte == b'\n').count() as u64
}

#[test]
fn dirty_records_are_lines_or_rejects_and_as_many_as_were_planted() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (calls, layout) = made(home.path(), "all");
    let planted = evenkeel(
        home.path(),
        &["cdr", "generate", &calls, "--records", "20000", "--dirt", "all", "--json", "--overwrite"],
    );
    let planted: serde_json::Value = serde_json::from_str(&ok(&planted)).expect("JSON");
    let planted = |kind: &str| planted["planted"][kind].as_u64().expect("a count");
    let into = home.path().join("csv");
    let words =
        ["cdr", "convert", &calls, "--layout", &layout, "--into", &into.display().to_string(), "--json"];
    let done: serde_json::Value = serde_json::from_str(&ok(&evenkeel(home.path(), &words))).expect("JSON");
    let tally = |key: &str| done["all"][key].as_u64().expect("a count");
    assert_eq!(tally("records"), 20_000 + planted("duplicate") + planted("contradiction"));
    assert_eq!(
        (tally("duplicates"), tally("contradictions")),
        (planted("duplicate"), planted("contradiction"))
    );
    let bad = planted("nul") + planted("non_ascii") + planted("short");
    assert_eq!(tally("rejects"), bad + planted("duplicate") + planted("contradiction"));
    assert_eq!(count(&into.join("calls.csv")) + count(&into.join("calls.rejects")), tally("records"));
    assert_eq!(count(&into.join("calls.rejects")), tally("rejects"));
    let few = [&words[..], &["--max-rejects", "3"]].concat();
    assert_eq!(evenkeel(home.path(), &few).status.code(), Some(1), "a rerun judges what was done before");
}

#[test]
fn a_pipe_goes_through_streams() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (calls, layout) = made(home.path(), "none");
    let (csv, bad) = (home.path().join("calls.csv"), home.path().join("bad").display().to_string());
    let mut child = command(
        home.path(),
        &["cdr", "convert", "-", "--layout", &layout, "--output", "-", "--rejects", &bad],
    )
    .stdin(Stdio::piped())
    .stdout(fs::File::create(&csv).expect("a file"))
    .spawn()
    .expect("the binary runs");
    let bytes = fs::read(&calls).expect("records");
    child.stdin.take().expect("a pipe").write_all(&bytes).expect("it reads");
    assert!(child.wait().expect("an end").success());
    assert_eq!((count(&csv), count(Path::new(&bad))), (20_000, 0));
}

#[test]
fn a_kill_in_the_middle_leaves_no_file_under_its_name_and_a_rerun_brings_all() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (_, layout) = made(home.path(), "none");
    let (calls, into) = (home.path().join("many"), home.path().join("csv"));
    let many = calls.display().to_string();
    ok(&evenkeel(
        home.path(),
        &["cdr", "generate", &many, "--records", "700000", "--dirt", "duplicate=0.01"],
    ));
    let words = ["cdr", "convert", &many, "--layout", &layout, "--into", &into.display().to_string()];
    let whole = home.path().join("whole").display().to_string();
    ok(&evenkeel(home.path(), &[&words[..6], &[whole.as_str()]].concat()));
    let part = into.join(".many.csv.part");
    for until in [1, 20_000_000, 40_000_000] {
        let mut child = command(home.path(), &words).stderr(Stdio::null()).spawn().expect("the binary runs");
        while !part.metadata().is_ok_and(|found| found.len() > until)
            && child.try_wait().expect("a child").is_none()
        {
            std::thread::yield_now();
        }
        child.kill().expect("a signal");
        child.wait().expect("an end");
        assert!(!into.join("many.csv").exists(), "killed at {until}");
    }
    ok(&evenkeel(home.path(), &words));
    for name in ["many.csv", "many.rejects"] {
        let (first, again) = (fs::read(Path::new(&whole).join(name)), fs::read(into.join(name)));
        assert!(first.expect("an output") == again.expect("an output"), "{name}");
    }
    assert_eq!(fs::read_dir(&into).expect("a folder").count(), 3, "nothing else is left");
}

#[test]
fn a_mistake_says_what_to_do_next() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (calls, layout) = made(home.path(), "none");
    let told = refused(home.path(), &["cdr", "convert", "nowhere", "--layout", &layout, "--into", "x"]);
    assert!(told.contains("no file matches nowhere") && told.contains("hint:"), "{told}");
    let told = refused(home.path(), &["cdr", "convert", &calls, "--layout", &calls, "--into", "x"]);
    assert!(told.contains("calls:1: ") && told.contains("hint:"), "{told}");
    let told = refused(home.path(), &["cdr", "convert", "-", "--layout", &layout, "--into", "x"]);
    assert!(told.contains("standard input is a pipe") && told.contains("--rejects"), "{told}");
    let told = refused(home.path(), &["cdr", "generate", &calls, "--day", "20260230"]);
    assert!(told.contains("no day of the calendar"), "{told}");
    let told = refused(home.path(), &["cdr", "generate", &calls, "--dirt", "mud=1"]);
    assert!(told.contains("mud=1") && told.contains("late"), "{told}");
}

#[test]
fn no_output_takes_the_place_of_an_input_or_of_what_became_of_another() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (calls, layout) = made(home.path(), "none");
    let at = |name: &str| home.path().join(name).display().to_string();
    let (link, before) = (at("link"), fs::read(&calls).expect("the records"));
    std::os::unix::fs::symlink(&calls, &link).expect("a link");
    for (output, rejects, told) in [
        (&calls, &at("bad"), "is the input"),
        (&link, &at("bad"), "is the input"),
        (&at("csv"), &calls, "is the input"),
        (&at("both"), &at("both"), "are both"),
    ] {
        let words = ["cdr", "convert", &calls, "--layout", &layout, "--output", output, "--rejects", rejects];
        let error = refused(home.path(), &words);
        assert!(error.contains(told), "{error}");
    }
    assert!(fs::read(&calls).expect("the records") == before, "the input is as it was");
    for day in ["one", "two"] {
        fs::create_dir(at(day)).expect("a folder");
    }
    fs::copy(&calls, at("one/calls")).expect("a copy");
    fs::write(at("two/calls"), &before[..before.len() / 2 / 200 * 200]).expect("other records");
    let (one, two, into) = (at("one/calls"), at("two/calls"), at("csv"));
    let words = |input| ["cdr", "convert", input, "--layout", &layout, "--into", &into];
    ok(&evenkeel(home.path(), &words(&one)));
    let lines = fs::read(at("csv/calls.csv")).expect("lines");
    let error = refused(home.path(), &words(&two));
    assert!(error.contains("one/calls") && error.contains("a folder of its own"), "{error}");
    assert!(
        fs::read(at("csv/calls.csv")).expect("lines") == lines,
        "the lines of the first are as they were"
    );
    // The same input with other records is converted anew.
    fs::write(at("one/calls"), &before[..2_000]).expect("other records");
    ok(&evenkeel(home.path(), &words(&one)));
}

#[test]
fn a_guessed_layout_converts_every_record_that_it_was_guessed_from() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (calls, _) = made(home.path(), "none");
    let layout = home.path().join("guessed.toml").display().to_string();
    let told = evenkeel(home.path(), &["cdr", "layout", &calls, "--output", &layout]);
    ok(&told);
    let shown = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(shown.contains("records: 199 bytes") && shown.contains("100       110"), "{shown}");
    let text = fs::read_to_string(&layout).expect("a layout");
    assert!(text.contains("type = \"time\"") && text.contains("cannot be told apart"), "{text}");
    let into = home.path().join("csv").display().to_string();
    let words = ["cdr", "convert", &calls, "--layout", &layout, "--into", &into, "--json"];
    let done: serde_json::Value = serde_json::from_str(&ok(&evenkeel(home.path(), &words))).expect("JSON");
    assert_eq!((done["all"]["records"].as_u64(), done["all"]["rejects"].as_u64()), (Some(20_000), Some(0)));
    let text: String = (0..200).map(|number| "word ".repeat(number * 7 % 23 + 1) + "\n").collect();
    for (name, bytes, why) in [
        ("empty", &b""[..], "it is empty"),
        ("binary", &[0, 1, 2, 255].repeat(1000), "control characters"),
        ("line", b"one line\n", "too few"),
        ("huge", &b"x".repeat(300_000), "no layout"),
        ("text", text.as_bytes(), "different lengths"),
        (
            "marks",
            &b"12;345;x\n7;89;y\n".repeat(100),
            "FIELDS TERMINATED BY ';'; then `evenkeel cdr dispatch`",
        ),
    ] {
        fs::write(home.path().join(name), bytes).expect("a file");
        let told = evenkeel(home.path(), &["cdr", "layout", &home.path().join(name).display().to_string()]);
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(3), "{name}: {text}");
        assert!(text.contains(why) && text.contains("hint:") && told.stdout.is_empty(), "{name}: {text}");
    }
}

/// Converts what comes by a pipe; the lines and the rejects.
fn piped(home: &Path, layout: &str, bytes: &[u8], more: &[&str]) -> (String, String) {
    let (csv, bad) = (home.join("piped.csv"), home.join("piped.bad"));
    let (csv_name, bad_name) = (csv.display().to_string(), bad.display().to_string());
    let words = ["cdr", "convert", "-", "--layout", layout, "--output", &csv_name, "--rejects", &bad_name];
    let mut child = command(home, &[&words[..], more].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("it reads");
    assert!(child.wait().expect("an end").success());
    (fs::read_to_string(csv).expect("lines"), fs::read_to_string(bad).expect("rejects"))
}

const NAMES: &str = "key = ['seq']\n[[field]]\nname = 'seq'\nwidth = 4\ntype = 'integer'\n[[field]]\nname = 'name'\nwidth = 4\n";

#[test]
fn a_record_that_comes_twice_by_a_pipe_is_refused_also_where_its_key_stands_elsewhere_in_the_field() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let layout = home.path().join("names.toml");
    fs::write(&layout, NAMES).expect("a layout");
    let layout = layout.display().to_string();
    let records = b"   7ada \n   8bob \n   7ada \n7   ada \n";
    let (lines, rejects) = piped(home.path(), &layout, records, &[]);
    assert_eq!(lines, "7;ada\n8;bob\n");
    assert!(rejects.contains("\t18\tduplicate of standard input:0\t"), "{rejects}");
    assert!(rejects.contains("\t27\tsame key, other bytes than standard input:0\t"), "{rejects}");
    let (lines, _) = piped(home.path(), &layout, records, &["--duplicates", "keep"]);
    assert_eq!(lines.lines().count(), 4);
}

#[test]
fn lines_that_somebody_changed_are_made_again_though_they_are_as_many_bytes() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| home.path().join(name).display().to_string();
    fs::write(path("names.toml"), NAMES).expect("a layout");
    fs::write(path("a"), "   1ada \n").expect("records");
    let (input, layout, into) = (path("a"), path("names.toml"), path("csv"));
    let words = ["cdr", "convert", &input, "--layout", &layout, "--into", &into, "--json"];
    ok(&evenkeel(home.path(), &words));
    let made = || fs::metadata(path("csv/a.csv")).and_then(|known| known.modified()).expect("an output");
    let first = made();
    ok(&evenkeel(home.path(), &words));
    assert_eq!(made(), first, "what is done is left alone");
    fs::write(path("csv/a.csv"), "1;eve\n").expect("an output");
    ok(&evenkeel(home.path(), &words));
    assert_eq!(fs::read_to_string(path("csv/a.csv")).expect("lines"), "1;ada\n");
}

#[test]
fn records_are_generated_over_no_file_that_is_there() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("calls.cdr").display().to_string();
    fs::write(&path, "mine").expect("a file");
    let told = refused(home.path(), &["cdr", "generate", &path, "--records", "10"]);
    assert!(told.contains("is there already") && told.contains("--overwrite"), "{told}");
    assert_eq!(fs::read(&path).expect("a file"), b"mine");
    ok(&evenkeel(home.path(), &["cdr", "generate", &path, "--records", "10", "--overwrite"]));
    assert!(fs::read(&path).expect("a file").len() > 1_000);
}
