//! What a server does not take: which record it is, what was done, and how to go on.

use super::server::Server;
use crate::cli::refused;
use std::fs;

#[test]
fn a_column_that_is_too_narrow_is_named_before_anything_is_sent() {
    let server = Server::up(&[]);
    server.generate("calls", 100, "none");
    server.load("model", &["calls"], &[]);
    for (name, change, what) in [
        (
            "narrow",
            "MODIFY calling VARCHAR(14) NOT NULL",
            "field calling has 15 bytes, and column narrow.calling is varchar(14): it is too narrow",
        ),
        (
            "small",
            "MODIFY seq INT NOT NULL",
            "field seq has 10 bytes, and column small.seq is int(11): a number of that many digits is too large for it",
        ),
        ("day", "MODIFY start DATE NOT NULL", "it has no place for the time of the day"),
        ("nulls", "MODIFY answer DATETIME NOT NULL", "a blank field is NULL, which it does not take"),
        ("gone", "DROP COLUMN cell", "table gone has no column `cell`"),
        ("more", "ADD COLUMN other INT NOT NULL", "column more.other has no default"),
    ] {
        server.control().exec(&format!("CREATE TABLE {name} LIKE model")).expect("a table");
        server.control().exec(&format!("ALTER TABLE {name} {change}")).expect("a change");
        let told = server.refused(name, &["calls"], &[]);
        assert!(told.contains(what) && told.contains("hint:"), "{told}");
        assert_eq!(server.count(name), 0);
    }
}

#[test]
fn a_record_that_the_server_does_not_store_is_named_or_becomes_a_reject() {
    let server = Server::up(&[]);
    server.generate("calls", 5_000, "none");
    server.load("model", &["calls"], &[]);
    server.control().exec("CREATE TABLE calls LIKE model").expect("a table");
    server.control().exec("INSERT INTO calls SELECT * FROM model WHERE seq IN (3001, 4001)").expect("rows");
    let told = server.refused("calls", &["calls"], &["--transaction", "200K"]);
    assert!(told.contains("calls:600000: its key is in the table already (warning 1062)"), "{told}");
    assert!(
        told.contains("in bytes 0..1000000, which are not stored") && told.contains("--warnings reject"),
        "{told}"
    );
    assert_eq!(server.count("calls"), 2, "nothing of the part is in");
    let found = server.json("calls", &["calls"], &["--warnings", "reject"]);
    assert_eq!((&found["tally"]["rejects"], server.count("calls")), (&2.into(), 5_000));
    let rejects = fs::read_to_string(server.path("calls.rejects")).expect("rejects");
    let calls = fs::read_to_string(server.path("calls")).expect("records");
    let lines: Vec<Vec<&str>> = rejects.lines().map(|line| line.split('\t').collect()).collect();
    let places: Vec<&str> = lines.iter().map(|line| line[1]).collect();
    assert_eq!(places, ["600000", "800000"]);
    for line in &lines {
        let at: usize = line[1].parse().expect("a number");
        assert_eq!(line[3], &calls[at..at + 199], "the record is there as it was");
    }
    // Behind a row that a CHECK refuses the server's numbers of rows are wrong.
    for sql in ["CREATE TABLE checked LIKE model", "ALTER TABLE checked ADD CHECK (seq <> 3500)"] {
        server.control().exec(sql).expect("a check");
    }
    let told = server.refused("checked", &["calls"], &["--warnings", "reject"]);
    assert!(told.contains("calls:699800: a CHECK of the table refuses it"), "{told}");
    let told = server.refused("aria", &["calls"], &["--engine", "aria", "--warnings", "reject"]);
    assert!(told.contains("Aria has no transactions") && told.contains("hint:"), "{told}");
}

#[test]
fn a_server_that_takes_no_loads_and_an_account_that_may_not_are_told_before_anything_is_sent() {
    let server = Server::up(&[]);
    server.generate("calls", 100, "none");
    server.control().exec("SET GLOBAL local_infile = OFF").expect("a variable");
    let told = server.refused("calls", &["calls"], &[]);
    assert!(told.contains("local_infile") && told.contains("SET GLOBAL local_infile = ON"), "{told}");
    server.control().exec("SET GLOBAL local_infile = ON").expect("a variable");
    server.control().exec("CREATE USER reader@localhost IDENTIFIED BY 'r'").expect("a user");
    server.control().exec("GRANT SELECT ON cdr.* TO reader@localhost").expect("a grant");
    let socket = server.path("sandboxes/a/server.sock");
    let url = format!("mysql://reader:r@/cdr?socket={socket}");
    let mut words = server.words("calls", &["calls"], &[]);
    words[2].clone_from(&url);
    let told = refused(server.home(), &super::server::borrowed(&words));
    assert!(told.contains("INSERT") && told.contains("hint:") && told.contains("GRANT"), "{told}");
    server.control().exec("GRANT INSERT, UPDATE, DELETE ON cdr.* TO reader@localhost").expect("a grant");
    let told = refused(server.home(), &super::server::borrowed(&words));
    assert!(told.contains("CREATE command denied") && told.contains("hint: GRANT"), "{told}");
    words[2] = format!("mysql://reader:r@/?socket={socket}");
    let told = refused(server.home(), &super::server::borrowed(&words));
    assert!(told.contains("names no database"), "{told}");
}

#[test]
fn a_disk_that_is_full_here_or_at_the_server_ends_a_load_that_goes_on_when_there_is_room() {
    let full = ["innodb_data_file_path=ibdata1:12M;ibdata2:18M", "innodb_file_per_table=0"];
    let server = Server::up(&full);
    server.generate("calls", 4_000, "all");
    let mut words = server.words("calls", &["calls"], &[]);
    let place = words.iter().position(|word| word == "--rejects").expect("a flag") + 1;
    words[place] = "/dev/full".to_owned();
    let told = refused(server.home(), &super::server::borrowed(&words));
    assert!(told.contains("cannot write /dev/full") && told.contains("free some space"), "{told}");
    assert_eq!(server.count("calls"), 0, "a reject that is not on disk makes no row");
    server.load("calls", &["calls"], &[]);

    server.generate("calls", 120_000, "none");
    let told = server.refused("large", &["calls"], &["--transaction", "500K", "--duplicates", "keep"]);
    assert!(told.contains("is full") && told.contains("what is in stays in"), "{told}");
    let rows = server.count("large");
    let known = server.value("SELECT COALESCE(SUM(rows_stored), 0) FROM evenkeel_load_parts p JOIN evenkeel_loads f ON f.id = p.file_id WHERE f.tables_loaded = 'large'");
    assert!(rows > 0 && rows < 120_000);
    assert_eq!(known, rows.to_string(), "the manifest knows what is in");
}

#[test]
fn a_layout_that_does_not_fit_leaves_rejects_and_options_that_do_not_go_together_are_named() {
    let server = Server::up(&[]);
    server.generate("calls", 100, "none");
    let wrong = server.path("wrong.toml");
    fs::write(&wrong, "[[field]]\nname = 'a'\nwidth = 10\n").expect("a layout");
    let mut words = server.words("calls", &["calls"], &["--max-rejects", "0"]);
    let place = words.iter().position(|word| word == "--layout").expect("a flag") + 1;
    words[place] = wrong;
    let output = crate::cli::evenkeel(server.home(), &super::server::borrowed(&words));
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("100 records: 0 rows, 100 rejects") && told.contains("too long: 199 of 10"),
        "{told}"
    );
    server.load("full", &["calls"], &[]);
    server.generate_from("more", 100, 101);
    for (flags, what) in [
        (&["--index", "nobody"][..], "an index names `nobody`"),
        (&["--transaction", "0"], "not between 1 byte and 1 GiB"),
    ] {
        let told = server.refused("full", &["more"], flags);
        assert!(told.contains(what) && told.contains("hint:"), "{told}");
    }
    let told = server.refused("new", &["calls"], &["--engine", "myisam", "--connections", "2"]);
    assert!(told.contains("rows of one connection at a time"), "{told}");
    let told = server.refused("new", &["calls", "nowhere"], &[]);
    assert!(told.contains("nowhere"), "{told}");
}
