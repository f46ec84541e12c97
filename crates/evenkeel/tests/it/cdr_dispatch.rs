//! Call records go to the tables of their days, as a user dispatches them.

mod again;
mod kills;

use crate::cli::{Running, asked, ended, evenkeel, eventually, piped, refused, text};
use crate::guard::server::Server;
use crate::sandbox::done;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server with a database of call records.
pub struct Desk {
    pub server: Server,
    pub home: PathBuf,
}

impl Desk {
    pub fn up() -> Self {
        let server = Server::up(&[("innodb_flush_log_at_trx_commit", "1")]);
        server.sql("CREATE DATABASE cdr");
        let home = server.file("home");
        Self { server, home }
    }

    pub fn url(&self) -> String {
        format!("mysql://app@{}/cdr", self.server.address())
    }

    pub fn sql(&self, sql: &str) -> String {
        self.server.sql(&format!("USE cdr; {sql}"))
    }

    /// A client that runs SQL in the database until it is dropped.
    pub fn sql_in_background(&self, sql: &str) -> Running {
        let mut client = Command::new("mariadb");
        client
            .args(["--no-defaults", "-u", "app", "-S"])
            .arg(self.server.socket())
            .args(["-D", "cdr", "-e", sql]);
        Running(client.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the client starts"))
    }

    /// A dispatch that has begun and moves nothing, since somebody reads from the source until the second is dropped.
    pub fn waiting(&self) -> (Child, Running) {
        let holder = self.sql_in_background("LOCK TABLES calls READ; DO SLEEP(30)");
        let of_processes = |what: &str| {
            self.sql(&format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE {what}"))
        };
        eventually("a lock", || of_processes("INFO LIKE 'DO SLEEP%'") == "1");
        let child = piped(&self.home, &self.words(&self.url()));
        eventually("a dispatch that waits", || of_processes("USER = 'app' AND STATE LIKE '%lock%'") == "1");
        (child, holder)
    }

    /// Drops the database. A server that was killed while it altered a table can leave a file of it that belongs to no table, and
    /// then refuses to drop the database: such a file is removed by hand, as its documentation advises.
    fn drop_database(&self) {
        let tables = self.sql("SELECT GROUP_CONCAT('`', TABLE_NAME, '`') FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'cdr'");
        if tables != "NULL" {
            self.sql(&format!("DROP TABLE {tables}"));
        }
        let folder = self.server.sandbox.dir().join("data/cdr");
        for entry in std::fs::read_dir(folder).expect("the folder of the database") {
            let left = entry.expect("an entry").path();
            if !left.ends_with("db.opt") {
                eprintln!("{} belongs to no table", left.display());
                std::fs::remove_file(left).expect("a file that nobody has open");
            }
        }
        self.sql("DROP DATABASE cdr");
    }

    /// An empty source, and no day tables.
    pub fn fresh(&self, keys: &str) {
        self.drop_database();
        self.server.sql("CREATE DATABASE cdr");
        self.sql(&format!(
            "CREATE TABLE calls (seq BIGINT NOT NULL, caller VARCHAR(20), started DATETIME, \
             area VARCHAR(3) AS (LEFT(caller, 3)) STORED, {keys} KEY by_start (started)); \
             CREATE TABLE all_calls (seq BIGINT NOT NULL, caller VARCHAR(20), started DATETIME)"
        ));
    }

    /// Loads records of this expression over `seq`, and notes them.
    pub fn load(&self, from: u64, to: u64, started: &str) {
        self.sql(&format!(
            "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'; CREATE TEMPORARY TABLE wave AS \
             SELECT seq, CONCAT('34', seq * 7) AS caller, CAST({started} AS DATETIME) AS started FROM seq_{from}_to_{to}; \
             INSERT INTO all_calls SELECT * FROM wave; INSERT INTO calls (seq, caller, started) SELECT * FROM wave"
        ));
    }

    pub fn words<'a>(&self, url: &'a str) -> Vec<&'a str> {
        vec!["cdr", "dispatch", url, "--table", "calls", "--by", "started"]
    }

    pub fn dispatch(&self, more: &[&str]) -> Value {
        let url = self.url();
        let words = [&self.words(&url)[..], &["--json", "--quiet"], more].concat();
        serde_json::from_str(&done(&self.home, &words)).expect("JSON")
    }

    /// The day tables, and those that have the others.
    pub fn tables(&self) -> Vec<String> {
        let sql = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'cdr' AND TABLE_NAME LIKE 'calls%' ORDER BY 1";
        self.sql(sql).lines().map(str::to_owned).collect()
    }

    /// Whether the source and the day tables together have all that was loaded, as often as it was loaded, and each day table
    /// its own day.
    pub fn audit(&self, when: &str) {
        let sum = |from: &str| {
            self.sql(&format!(
                "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'; SELECT COUNT(*), SUM(seq), SUM(CAST(CONV(LEFT(MD5(CONCAT_WS('|', seq, COALESCE(started, '-'), caller)), 12), 16, 10) AS UNSIGNED)) \
                 FROM (SELECT seq, caller, started FROM {from}) AS u"
            ))
        };
        let tables = self.tables();
        let union = tables.join(" UNION ALL SELECT seq, caller, started FROM ");
        assert_eq!(sum(&union), sum("all_calls"), "{when}: {tables:?}");
        for table in &tables {
            if let Some(day) = table.strip_prefix("calls_2") {
                let sql = format!("SELECT COUNT(*) FROM {table} WHERE NOT DATE(started) <=> '2{day}'");
                assert_eq!(self.sql(&sql), "0", "{when}: {table}");
                let sql = format!("SELECT COUNT(*) FROM {table} WHERE NOT area <=> LEFT(caller, 3)");
                assert_eq!(self.sql(&sql), "0", "{when}: {table}");
            }
        }
    }

    pub fn count(&self, table: &str) -> u64 {
        self.sql(&format!("SELECT COUNT(*) FROM `{table}`")).parse().expect("a count")
    }
}

/// A day's calls, some of the day before, one in a thousand without a date.
pub const DAY: &str = "IF(seq % 1000 = 0, NULL, '2026-08-01' + INTERVAL (seq % 86400) SECOND - INTERVAL IF(seq % 50 = 0, 1, 0) DAY)";

#[test]
fn records_go_to_the_tables_of_their_days_and_late_ones_find_them_again() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 5_000, DAY);
    let done = desk.dispatch(&[]);
    assert_eq!((done["records"].as_u64(), done["undated"].as_u64()), (Some(4_995), Some(5)), "{done}");
    assert_eq!((&done["audit"]["rows"], &done["audit"]["same"]), (&5_000.into(), &true.into()), "{done}");
    assert_eq!(desk.tables(), ["calls", "calls_20260731", "calls_20260801"]);
    desk.audit("first");
    // Late ones, some of them like records that are there, and one of a day that no calendar has.
    desk.load(4_000, 4_999, "'2026-08-01' + INTERVAL (seq % 86400) SECOND");
    desk.load(9_001, 9_010, "IF(seq = 9001, '2026-02-30 10:00:00', '2026-08-02 23:59:59')");
    let late = desk.dispatch(&["--batch", "100"]);
    let day = |day: &str| late["days"].as_array()?.iter().find(|done| done["day"] == day);
    for (name, records, created) in [("2026-08-01", 1_000, false), ("2026-08-02", 9, true)] {
        let day = day(name).expect("a day");
        assert_eq!((&day["records"], &day["created"]), (&records.into(), &created.into()), "{late}");
    }
    assert_eq!((desk.count("calls"), late["undated"].as_u64()), (6, Some(6)), "{late}");
    assert_eq!(late["audit"]["same"], true, "{late}");
    desk.audit("late");
    let made = desk.sql("SHOW CREATE TABLE calls_20260731");
    assert!(made.contains("ENGINE=InnoDB") && made.contains("KEY `by_start`"), "{made}");
    let again = desk.dispatch(&["--no-audit"]);
    assert_eq!(
        (&again["records"], &again["audit"]),
        (&0.into(), &Value::Null),
        "a rerun has nothing to do: {again}"
    );
    let left = desk.sql("SHOW TABLES LIKE 'evenkeel%'");
    assert_eq!(left.trim(), "evenkeel_dispatches");
}

#[test]
fn names_with_quotes_in_them_are_names_and_nothing_else() {
    let desk = Desk::up();
    let url = desk.url();
    let table = "a`b'; DROP TABLE x; --";
    desk.sql("CREATE TABLE x (i INT)");
    desk.sql(
        "CREATE TABLE `a``b'; DROP TABLE x; --` (`s'``\\\\` DATE, `k``, (` INT, KEY `k``, (` (`k``, (`)); \
         INSERT INTO `a``b'; DROP TABLE x; --` VALUES ('2026-08-01', 0), ('2026-08-01', 1), (NULL, 2)",
    );
    let words = ["cdr", "dispatch", &url, "--table", table, "--by", "s'`\\\\"];
    done(&desk.home, &words);
    let (day, source) = (format!("{table}_20260801").replace('`', "``"), table.replace('`', "``"));
    assert_eq!((desk.count(&day), desk.count(&source), desk.count("x")), (2, 1, 0));
}

#[test]
fn what_cannot_be_moved_in_safety_is_refused_by_name() {
    let desk = Desk::up();
    let url = desk.url();
    let told = |words: &[&str]| refused(&desk.home, &[&["cdr", "dispatch", &url][..], words].concat());
    desk.fresh("PRIMARY KEY (seq),");
    desk.load(1, 100, DAY);
    desk.sql("CREATE TABLE gone (seq BIGINT); CREATE TRIGGER takes_note BEFORE DELETE ON calls FOR EACH ROW INSERT INTO gone VALUES (OLD.seq)");
    let text = told(&["--table", "calls", "--by", "started"]);
    assert!(text.contains("trigger takes_note") && text.contains("hint:"), "{text}");
    desk.sql("DROP TRIGGER takes_note; CREATE TABLE notes (call_seq BIGINT, CONSTRAINT of_call FOREIGN KEY (call_seq) REFERENCES calls (seq) ON DELETE CASCADE)");
    let text = told(&["--table", "calls", "--by", "started"]);
    assert!(text.contains("foreign key of_call") && text.contains("hint:"), "{text}");
    desk.sql("DROP TABLE notes; CREATE VIEW seen AS SELECT * FROM calls; CREATE TABLE stamped (t TIMESTAMP, e DATE); CREATE TABLE old (e DATE) ENGINE=MyISAM");
    for (words, expected) in [
        (&["--table", "seen", "--by", "started"][..], "is a view"),
        (&["--table", "stamped", "--by", "t"], "not the same for everybody"),
        (&["--table", "old", "--by", "e"], "engine MyISAM"),
        (&["--table", "calls", "--by", "caller"], "type varchar(20)"),
        (&["--table", "calls", "--by", "nothing"], "no column nothing"),
        (&["--table", "nothing", "--by", "started"], "no table nothing"),
        (&["--table", "calls", "--by", "started", "--name", "calls"], "no {day}"),
        (&["--table", "calls", "--by", "started", "--max-days", "1"], "--max-days is 1"),
    ] {
        let text = told(words);
        assert!(text.contains(expected) && text.contains("hint:"), "{words:?}: {text}");
    }
    desk.sql("CREATE TABLE calls_20260801 (seq BIGINT)");
    let text = told(&["--table", "calls", "--by", "started"]);
    assert!(text.contains("calls_20260801 has "), "{text}");
    assert_eq!(desk.count("calls_20260801"), 0);
}

#[test]
fn retire_drops_what_is_too_old_and_ours_and_nothing_else() {
    let desk = Desk::up();
    let url = desk.url();
    desk.fresh("");
    let retire = |more: &[&str]| {
        let words = ["cdr", "retire", &url, "--table", "calls", "--json", "--quiet"];
        let output = evenkeel(&desk.home, &[&words[..], more].concat());
        let (_, told) = text(&output);
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap_or(Value::Null), told)
    };
    let (code, _, told) = retire(&["--keep", "90d"]);
    assert!(code == Some(2) && told.contains("nothing was dispatched"), "{told}");
    desk.load(1, 40, "'2026-06-01' + INTERVAL seq DAY");
    // One record of a day far ahead makes no other day too old.
    desk.load(41, 41, "'2999-01-01'");
    desk.dispatch(&[]);
    desk.sql("CREATE TABLE calls_20260501 LIKE calls; CREATE TABLE calls_20260230 LIKE calls; CREATE TABLE calls_20260603_old LIKE calls");
    let before = desk.tables();
    assert_eq!(before.len(), 1 + 41 + 3);
    let (code, ahead, _) = retire(&["--keep", "3000d", "--dry-run"]);
    assert_eq!((code, ahead["dropped"].as_array().map(Vec::len)), (Some(0), Some(0)), "{ahead}");
    // Nor does it hide that the source has brought nothing for a long time.
    let (code, silent, _) = retire(&["--keep", "90d", "--dry-run"]);
    assert_eq!((code, silent["today"].as_str()), (Some(0), Some("2026-07-11")), "{silent}");
    let july = ["--keep", "10d", "--today", "20260711"];
    let (code, dry, _) = retire(&[&july[..], &["--dry-run"]].concat());
    assert_eq!((code, dry["first_kept"].as_str()), (Some(1), Some("2026-07-01")), "{dry}");
    assert_eq!(desk.tables(), before, "a dry run drops nothing");
    let (code, done, _) = retire(&july);
    assert_eq!((code, &done["dropped"]), (Some(1), &dry["dropped"]));
    assert_eq!(done["refused"][0]["table"], "calls_20260501");
    let left = desk.tables();
    let old = ["calls_20260602".."calls_20260603_", "calls_20260604".."calls_20260701"];
    let is_old = |name: &&String| old.iter().any(|days| days.contains(&name.as_str()));
    let expected: Vec<&String> = before.iter().filter(|name| !is_old(name)).collect();
    assert_eq!(left.iter().collect::<Vec<_>>(), expected);
    desk.sql("DROP TABLE calls_20260501");
    assert_eq!(retire(&july).0, Some(0));
    // A record that comes too late has a table again, and it goes again.
    desk.load(1, 1, "'2026-06-05'");
    desk.dispatch(&[]);
    let (_, again, _) = retire(&july);
    assert_eq!(again["dropped"][0]["table"], "calls_20260605", "{again}");
}

#[test]
fn a_row_that_is_gone_after_a_dispatch_and_was_there_before_is_a_finding() {
    let desk = Desk::up();
    desk.fresh("PRIMARY KEY (seq),");
    desk.load(1, 1_000, "'2026-08-01 12:00:00'");
    desk.dispatch(&[]);
    desk.load(1_001, 2_000, "'2026-08-01 12:00:00'");
    // The source cannot be written to for a while, so that the row goes between both sums.
    let (child, holder) = desk.waiting();
    desk.sql("DELETE FROM calls_20260801 WHERE seq = 5");
    drop(holder);
    let (told, _) = ended(&child.wait_with_output().expect("an end"), 1);
    assert!(told.contains("audited: 1,999 rows of 2 tables, and 2,000 before: rows were lost"), "{told}");
}

/// Drops what is older than a day at that one.
fn retire(desk: &Desk, today: &str) -> (Option<i32>, String) {
    let url = desk.url();
    asked(&desk.home, &["cdr", "retire", &url, "--table", "calls", "--keep", "1d", "--today", today])
}

#[test]
fn a_table_in_the_place_of_one_that_was_dispatched_stays_until_it_is_looked_at() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 40, "'2026-06-01' + INTERVAL (seq % 4) DAY");
    desk.dispatch(&[]);
    // One day is replaced by another table of its name, a record of another day is deleted, and a third gets a late record.
    desk.sql("DROP TABLE calls_20260601; CREATE TABLE calls_20260601 LIKE calls; DELETE FROM calls_20260602 LIMIT 1");
    desk.load(41, 41, "'2026-06-03'");
    desk.dispatch(&[]);
    let (code, told) = retire(&desk, "20260605");
    assert_eq!(code, Some(1), "{told}");
    for line in [
        "refused  calls_20260601  it has 0 records, and 10 were dispatched to it",
        "refused  calls_20260602  it has 9 records, and 10 were",
        "dropped  calls_20260603  11 records",
    ] {
        assert!(told.contains(line), "{told}");
    }
    desk.sql("DROP TABLE calls_20260601, calls_20260602");
    assert_eq!(retire(&desk, "20260605").0, Some(0));
}

#[test]
fn a_table_that_was_dropped_by_hand_and_made_anew_by_a_late_record_goes_by_age_as_any_other() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 10, "'2026-06-01'");
    desk.dispatch(&[]);
    desk.sql("DROP TABLE calls_20260601");
    desk.load(11, 11, "'2026-06-01'");
    desk.dispatch(&[]);
    let (code, told) = retire(&desk, "20260605");
    assert!(code == Some(0) && told.contains("dropped  calls_20260601  1 record"), "{told}");
    // Nothing of it is left that would speak for another table of this name.
    let states = "SELECT DISTINCT state FROM evenkeel_dispatches WHERE table_name = 'calls_20260601'";
    assert_eq!(desk.sql(states).trim(), "retired");
}

#[test]
fn a_server_that_limits_the_rows_of_answers_costs_no_column_and_one_called_day_is_not_taken_for_the_day() {
    let desk = Desk::up();
    desk.fresh("charge INT, day TINYINT, ");
    desk.load(1, 500, DAY);
    desk.sql("UPDATE calls SET charge = seq");
    // Three columns are named first, and the charge comes after them.
    desk.sql("SET GLOBAL sql_select_limit = 3");
    let done = desk.dispatch(&[]);
    desk.sql("SET GLOBAL sql_select_limit = DEFAULT");
    assert_eq!(done["records"].as_u64(), Some(500), "{done}");
    assert_eq!(desk.tables(), ["calls", "calls_20260731", "calls_20260801"]);
    desk.audit("limited");
    let lost = "SELECT COUNT(*) FROM calls_20260801 WHERE NOT charge <=> seq";
    assert_eq!(desk.sql(lost), "0");
}

#[test]
fn an_account_that_may_not_see_triggers_or_columns_is_refused() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, 10, DAY);
    let writes = "INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP";
    for host in ["'%'", "localhost"] {
        desk.server.sql(&format!(
            "CREATE USER small@{host}; GRANT SELECT, {writes} ON cdr.* TO small@{host}; \
             CREATE USER blind@{host}; GRANT TRIGGER, {writes} ON cdr.* TO blind@{host}; \
             GRANT SELECT (seq, started) ON cdr.calls TO blind@{host}"
        ));
    }
    for (user, words) in [("small", "GRANT TRIGGER on the database"), ("blind", "SELECT command denied")] {
        let url = format!("mysql://{user}@{}/cdr", desk.server.address());
        let told = refused(&desk.home, &desk.words(&url));
        assert!(told.contains(words), "{user}: {told}");
    }
    assert_eq!(desk.count("calls"), 10);
}
