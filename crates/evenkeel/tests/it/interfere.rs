//! Jobs side by side on real private servers: measured, killed, gone on with, and nothing left behind.

use crate::cli::{await_no_server, eventually, kill, piped, refused, unread, words};
use crate::guard::server::Server;
use crate::left_out::left_out;
use crate::sandbox::done;
use crate::study::seen_by_all;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two runs of each of eight pairs with something to do.
const TINY: &str =
    "-q interfere --jobs read,load --jobs write,cpu --repeats 2 --seconds 1 --rows 1000 --json --name tiny";

fn left(home: &Path, folder: &str) -> usize {
    home.join(folder).read_dir().map_or(0, Iterator::count)
}

/// Processes that spin for a study in this home; they are found by their folder, since their command line is everybody's.
fn spinning() -> usize {
    let is_one = |pid: &str| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("while :; do :; done")
    };
    let all = fs::read_dir("/proc").expect("processes");
    all.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_one)).count()
}

#[test]
fn a_study_that_is_killed_leaves_nothing_goes_on_and_has_a_matrix_of_all_pairs() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (runs, before) = (home.path().join("runs/tiny/runs"), spinning());
    let study = unread(home.path(), &words(TINY));
    let whole = |path: &Path| path.join("run.json").exists();
    let made = || runs.read_dir().map_or(0, |all| all.flatten().filter(|run| whole(&run.path())).count());
    eventually("a run", || made() > 3);
    eventually("a job that spins", || spinning() > before);
    kill(study);
    await_no_server(home.path());
    eventually("the end of what spins", || spinning() <= before);

    let results = done(home.path(), &["-q", "study", "--resume", "last", "--json"]);
    let results: Value = serde_json::from_str(&results).expect("JSON");
    assert_eq!((left(home.path(), "sandboxes"), left(home.path(), "scratch")), (0, 0), "a server stayed");
    let places = |at: usize| results["matrices"][at]["places"].as_array().map_or(0, Vec::len);
    assert_eq!((places(0), places(1), places(2)), (4, 4, 4), "{:#}", results["matrices"]);
    for cell in results["cells"].as_array().expect("cells") {
        for name in ["a", "b"] {
            let job = cell[name].as_str().expect("a job");
            let figure = |figure: &str| cell["figures"][format!("{figure}@{name}")]["mean"].as_f64();
            assert_eq!(figure("rate").is_some_and(|rate| rate > 0.0), job != "alone", "{cell:#}");
            let checked = !["alone", "cpu"].contains(&job);
            assert_eq!(
                (figure("errors"), figure("faults")),
                (checked.then_some(0.0), checked.then_some(0.0))
            );
        }
    }
    let last = results["sentences"].as_array().and_then(|all| all.last()).expect("a sentence");
    assert!(last["text"].as_str().is_some_and(|text| text.starts_with("No error and no loss")), "{last}");
    seen_by_all(home.path(), &results, "interfere", "study,part,a,b,figure,runs");
    let page = fs::read_to_string(home.path().join("runs/tiny/report.html")).expect("a page");
    assert!(page.contains("Times slower in a") && !page.contains("<h2>Published"), "{page}");
}

#[test]
fn a_domain_that_cannot_be_and_a_job_that_is_not_there_are_refused_before_anything_starts() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (line, expected) in [
        ("interfere --at memory=lots --at host", "memory"),
        ("interfere --at host --server db=mysql://u@h", "--scratch"),
        ("interfere --server db=mysql://u:p@h --at host --scratch s", "EVENKEEL_PASSWORD"),
        ("interfere --name last", "not a name for a study"),
    ] {
        let text = refused(home.path(), &words(line));
        assert!(text.contains(expected), "{line}: {text}");
    }
    assert_eq!((left(home.path(), "runs"), left(home.path(), "sandboxes")), (0, 0));
    let text = refused(home.path(), &words("-q interfere --at cpus=700 --at host --jobs cpu --repeats 1"));
    assert!(text.contains("this machine has CPUs"), "{text}");
    assert_eq!((left(home.path(), "runs"), left(home.path(), "sandboxes")), (0, 0), "something stayed");
}

#[test]
fn a_server_of_the_users_has_a_schema_while_jobs_run_and_none_afterwards_and_what_is_not_ours_stays() {
    let server = Server::up(&[]);
    server.sql(
        "CREATE USER lab@'%'; CREATE USER lab@localhost; GRANT ALL ON scratch.* TO lab@'%'; GRANT ALL ON scratch.* TO lab@localhost;
         CREATE DATABASE scratch; CREATE TABLE scratch.tag (id INT)",
    );
    let schemas =
        || server.sql("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'scratch'");
    let home = tempfile::tempdir().expect("a temporary directory");
    let line = format!(
        "-q interfere --at host --server db=mysql://lab@{} --scratch scratch --jobs read,write --repeats 2 --seconds 1 --rows 1000 --json",
        server.address()
    );
    let text = refused(home.path(), &words(&line));
    assert!(text.contains("cannot see whether") && text.contains("GRANT REPLICA MONITOR"), "{text}");
    let replica = "GRANT REPLICA MONITOR ON *.* TO lab@'%'; GRANT REPLICA MONITOR ON *.* TO lab@localhost; SET GLOBAL read_only = ON;";
    for (sql, expected) in [
        (replica, "has read_only on"),
        ("SET GLOBAL read_only = OFF; CHANGE MASTER 'far' TO master_host = '127.0.0.1'", "is a replica"),
        ("RESET REPLICA 'far' ALL", "not made by interfere: it has tag"),
    ] {
        server.sql(sql);
        let text = refused(home.path(), &words(&line));
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM scratch.tag"), "0", "the table of others stays");
    server.sql("DROP TABLE scratch.tag");
    let text = refused(home.path(), &words(&line));
    assert!(text.contains("not made by interfere: it has no table"), "{text}");
    assert_eq!(schemas(), "1", "the schema of others stays");

    server.sql("DROP DATABASE scratch");
    let study = unread(home.path(), &words(&line));
    eventually("a table of ours", || {
        server.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'scratch'") != "0"
    });
    kill(study);
    await_no_server(home.path());
    assert_eq!(schemas(), "1", "nobody was there to drop it");

    let study = piped(home.path(), &words(&line));
    eventually("the lock of the study", || {
        let holder = server.sql("SELECT COALESCE(IS_USED_LOCK('scratch'), 0)");
        holder != "0" && server.sql(&format!("KILL {holder}")).is_empty()
    });
    let results: Value =
        serde_json::from_slice(&study.wait_with_output().expect("an end").stdout).expect("JSON");
    let rate = |cell: &Value| cell["figures"]["rate@db"]["mean"].as_f64();
    let cells = results["cells"].as_array().expect("cells");
    assert!(cells.iter().any(|cell| cell["a"] == "write" && rate(cell).is_some_and(|rate| rate > 0.0)));
    assert!(
        cells.iter().all(|cell| cell["a"] != "alone" || cell["db"] != "alone"),
        "nothing was measured then"
    );
    assert_eq!(schemas(), "0", "it is dropped although its idle connection was killed");
}

#[test]
fn three_domains_have_pairs_of_neighbours_and_a_network_and_a_copy_are_jobs() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let line = "-q interfere --triples --at host --at host --at host --jobs read --jobs net --jobs clone --repeats 2 --seconds 1 --rows 1000";
    let results = done(home.path(), &words(&format!("{line} --json")));
    let results: Value = serde_json::from_str(&results).expect("JSON");
    let columns = results["matrices"][0]["places"].as_array().expect("places");
    assert_eq!(columns.len(), 3, "{columns:#?}");
    assert!(
        results["matrices"][0].to_string().contains("b's net + c's clone"),
        "{:#}",
        results["matrices"][0]
    );
    assert_eq!((left(home.path(), "sandboxes"), left(home.path(), "scratch")), (0, 0), "a server stayed");
}

#[test]
fn a_slowdown_is_tried_with_a_remedy_in_domains_of_its_own_and_the_answer_says_what_that_came_to() {
    if evenkeel_os::user().0 != 0 {
        return left_out("only root can weigh domains");
    }
    let home = tempfile::tempdir().expect("a temporary directory");
    // Twenty to one: named on a busy machine, too.
    let line = "-q interfere --remedy --at cpus=0,weight=20 --at cpus=0,weight=400 --jobs select --jobs cpu --repeats 5 --seconds 1 --rows 1000";
    let results = done(home.path(), &words(&format!("{line} --json")));
    let results: Value = serde_json::from_str(&results).expect("JSON");
    let said = |words: [&str; 2]| {
        let all = results["sentences"].as_array().expect("sentences").iter();
        all.filter_map(|one| one["text"].as_str()).any(|text| words.iter().all(|word| text.contains(word)))
    };
    assert!(said(["a's select is ", " times slower beside b's cpu"]), "{:#}", results["sentences"]);
    assert!(said([", a's select takes ", "; b's cpu then does "]), "{:#}", results["sentences"]);
    let tried = results["matrices"].as_array().and_then(|all| all.last()).expect("a matrix");
    let row = tried["places"][0]["row"].as_str().expect("a row");
    assert!(tried["title"] == "with a remedy" && row.starts_with("a's select beside b's cpu: "), "{tried:#}");
    assert_eq!((left(home.path(), "sandboxes"), left(home.path(), "scratch")), (0, 0), "a server stayed");
}
