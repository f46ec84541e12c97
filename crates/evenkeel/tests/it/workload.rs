//! Workloads made of what a server was asked, and workloads as SQL: what is written, `explain` and `profile` take.

use crate::cli::{asked, ends, refused, words};
use crate::guard::server::Server;
use crate::sandbox::{Home, done, measured};
use serde_json::Value;
use std::fs;

const SCHEMA: &str = "\
CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, status VARCHAR(10), created DATE, \
    total DECIMAL(10, 2), KEY (customer));
INSERT INTO shop.orders (customer, status, created, total)
    SELECT seq % 500, ELT(1 + seq % 3, 'open', 'paid', 'it''s'), '2026-01-01' + INTERVAL seq % 300 DAY, seq / 7
    FROM mysql.seq_1_to_5000;
CREATE TABLE shop.order_line (orders INT, line INT, note VARCHAR(50), PRIMARY KEY (orders, line));";

/// What an application asks: each statement with other values each time.
fn traffic() -> String {
    let mut sql = "USE shop;\n".to_owned();
    for number in 1..=40 {
        sql += &format!("SELECT id, total FROM orders WHERE id = {number};\n");
        if number % 2 == 0 {
            let status = if number % 4 == 0 { "open" } else { "it\\'s" };
            sql += &format!(
                "SELECT COUNT(*), SUM(o.total) FROM orders o\nWHERE o.status = '{status}' AND o.created > '2026-0{}-01';\n",
                1 + number % 8
            );
        }
        if number % 4 == 0 {
            sql += &format!("SELECT id FROM orders WHERE customer IN ({number}, 7) ORDER BY id LIMIT 5;\n");
            sql += &format!("UPDATE orders SET total = total + 1.5 WHERE id = {number};\n");
            sql += &format!("INSERT INTO order_line (orders, line, note) VALUES ({number}, 1, 'a\\nb');\n");
            sql += "BEGIN; COMMIT; SELECT SLEEP(0.001);\n";
        }
    }
    sql
}

struct Shop {
    server: Server,
}

impl Shop {
    fn up() -> Self {
        let on = [
            ("performance_schema", "ON"),
            ("slow_query_log", "1"),
            ("long_query_time", "0"),
            ("log_output", "FILE"),
        ];
        let server = Server::up(&on);
        server.sql(SCHEMA);
        server.sql(&traffic());
        Self { server }
    }

    fn run(&self, arguments: &[&str]) -> String {
        done(&self.server.file("home"), arguments)
    }

    /// A workload file of this source, and its text.
    fn from(&self, source: &str, name: &str, flags: &[&str]) -> (String, String) {
        let text = self.run(&[&["workload", "from", source], flags].concat());
        let path = self.server.file(name);
        fs::write(&path, &text).expect("a file");
        (path.to_string_lossy().into_owned(), text)
    }

    /// What explain says of each statement.
    fn explain(&self, workload: &str) -> Vec<Value> {
        let said = self.run(&["explain", &self.server.url(), "--workload", workload, "--json"]);
        serde_json::from_str(&said).expect("JSON")
    }

    /// Asks it for two seconds; no request fails, however late the generator was.
    fn load(&self, workload: &str) {
        let line = format!("load {} --rate 30 --duration 2s --workload {workload}", self.server.url());
        let said = measured(&self.server.file("home"), &words(&line));
        assert!(said.contains(" completed + 0 failed + 0 timed out"), "{said}");
    }

    /// Asks it for some seconds; no request fails.
    fn profile(&self, workload: &str) {
        let flags = "--rate 30 --repeats 1 --retries 0 --duration 8s --json";
        let line = format!("profile {} --workload {workload} {flags}", self.server.url());
        let (code, said) = asked(&self.server.file("home"), &words(&line));
        // 3 is a generator that was too busy for a figure, with others beside it.
        assert!(matches!(code, Some(0 | 3)), "{said}");
        assert!(!said.contains("finding:") && said.contains("run-finished"), "{said}");
    }
}

#[test]
fn what_a_server_was_asked_becomes_a_workload_that_explain_and_profile_take() {
    let shop = Shop::up();
    let log = shop.server.sql("SELECT CONCAT(@@datadir, '/', @@slow_query_log_file)");
    let url = shop.server.url();
    for (kind, source) in [("log", log.as_str()), ("digests", url.as_str())] {
        let (file, text) = shop.from(source, &format!("{kind}.toml"), &["--top", "20"]);
        // Of the log also the values that were seen, with their escapes, and how often.
        let of_log = [
            "BEGIN is not a query",
            "[\"it's\", \"2026-07-01\"]",
            "[4, 1, \"a\\nb\"]",
            "[\"1.5\", 8]",
            "weight = 40\n",
        ];
        let seen = if kind == "log" { &of_log[..] } else { &[] };
        for words in ["it writes", "SLEEP(), which waits"].iter().chain(seen) {
            assert!(text.contains(words), "{kind}: no {words:?} in\n{text}");
        }
        let plans = shop.explain(&file);
        assert!(plans.iter().all(|plan| plan.get("error").is_none()), "{kind}: {plans:?}");
        let of =
            |part: &str| plans.iter().find(|plan| plan["sql"].as_str().is_some_and(|sql| sql.contains(part)));
        for part in ["SUM(", "LIMIT", "UPDATE", "INSERT"] {
            assert!(of(part).is_some(), "{kind}: no {part} in {plans:?}\n{text}");
        }
        // A full scan of 5,000 rows, for which an equality and a range have no index.
        let scan = of("SUM(").expect("the scan");
        let index = "CREATE INDEX `status_created` ON `orders` (`status`, `created`)";
        assert_eq!(scan["proposal"], index, "{kind}: {scan}");
        assert!(scan["rows_share_percent"].as_f64().is_some_and(|share| share > 80.0), "{kind}: {scan}");
        assert_eq!(of("LIMIT").expect("the list")["proposal"], Value::Null, "{kind}: {plans:?}");
        let parts: Vec<&str> = text.split("\n\n").filter(|part| !part.contains("it writes")).collect();
        let reads = shop.server.file(&format!("{kind}-reads.toml")).to_string_lossy().into_owned();
        fs::write(&reads, parts.join("\n\n")).expect("a file");
        if kind == "log" {
            shop.profile(&reads);
        } else {
            shop.load(&reads);
        }
    }
    // Executions of prepared statements, which the load made, have no digest.
    let (_, text) = shop.from(&url, "after.toml", &[]);
    assert!(text.contains("MariaDB keeps no digests of them"), "{text}");
    let script = shop.server.file("shop.sql");
    let sql = "-- weight: 3\nSELECT id FROM orders WHERE customer = :customer LIMIT 3;\n\
               -- :from = 1..4000\nSELECT COUNT(*) FROM orders WHERE id BETWEEN :from AND :from + 10;\n\
               SELECT total FROM orders WHERE status = 'open' ORDER BY customer DESC LIMIT 9;\n";
    fs::write(&script, sql).expect("a file");
    let script = script.to_string_lossy().into_owned();
    let plans = shop.explain(&script);
    assert_eq!(plans.len(), 3);
    let newest = plans.iter().find(|plan| plan["proposal"] != Value::Null).expect("a proposal");
    assert_eq!(newest["proposal"], "CREATE INDEX `status_customer` ON `orders` (`status`, `customer`)");
    assert_eq!(newest["class"], "complex");
    shop.load(&script);
    let text = shop.run(&["explain", &url, "--workload", &shop.server.file("log.toml").to_string_lossy()]);
    assert!(text.contains("  proposal, not tried: CREATE INDEX `status_created`"), "{text}");
}

/// A private server that lets 40 in, and a workload that needs no tables.
struct Loaded {
    home: Home,
    workload: String,
}

impl Loaded {
    fn up() -> Self {
        let home = Home::up(&["--set", "max_connections=40"]);
        let workload = home.workload("sleep", &[("sleep", "SELECT SLEEP(0.02)")]);
        Self { home, workload }
    }

    fn flags<'a>(&'a self, more: &'a str) -> Vec<&'a str> {
        let load = ["load", "sandbox:a/mysql", "--workload", &self.workload, "--warm-up", "0s"];
        [&load[..], &words(more)].concat()
    }

    fn json(&self, more: &str) -> Value {
        let flags = [&self.flags(more)[..], &["--json"]].concat();
        serde_json::from_str(&measured(self.home.path(), &flags)).expect("JSON")
    }
}

fn codes(load: &Value) -> Vec<&str> {
    let caveats = load["caveats"].as_array().expect("caveats");
    caveats.iter().filter_map(|caveat| caveat["code"].as_str()).collect()
}

#[test]
fn a_load_has_the_sessions_that_it_asks_for_or_says_why_not_and_shows_what_waiting_for_them_takes() {
    let server = Loaded::up();
    let text = refused(server.home.path(), &server.flags("--clients 700"));
    assert!(text.contains("max_connections is 40") && text.contains("--max-sessions"), "{text}");

    let all = server.json("--clients 30 --think 0s --duration 1s");
    assert_eq!(all["sessions_max"], 30);
    assert!(all["measure_start_monotonic_ns"].as_u64() > Some(0), "{all}");
    assert_eq!((&all["session_wait"]["count"], &all["session_wait"]["mean_ms"]), (&0.into(), &Value::Null));
    assert!(!codes(&all).contains(&"session-wait"), "{all}");

    let few = "--clients 8 --max-sessions 1 --think 0s --duration 1s";
    let shared = server.json(few);
    assert_eq!(shared["sessions_max"], 1);
    // Each waits for seven others.
    assert!(shared["session_wait_share"].as_f64() > Some(0.5), "{shared}");
    assert!(codes(&shared).contains(&"session-wait"), "{shared}");
    let text = measured(server.home.path(), &server.flags(few));
    assert!(text.contains("% of the response time") && text.contains("--max-sessions"), "{text}");

    let fewer = server.json("--rate 5 --max-sessions 900 --duration 1s");
    assert!(codes(&fewer).contains(&"fewer-sessions"), "{fewer}");
    assert!(!codes(&server.json("--rate 5 --duration 1s")).contains(&"fewer-sessions"));
}

#[test]
fn what_was_not_measured_is_absent() {
    let server = Loaded::up();
    // The first of these arrivals is due after many years.
    let nothing = "--rate 0.000000001 --duration 100ms";
    let json = server.json(nothing);
    for name in ["response", "lag", "service"] {
        assert_eq!((&json[name]["count"], &json[name]["mean_ms"]), (&0.into(), &Value::Null), "{json}");
    }
    assert_eq!(&json["session_wait_share"], &Value::Null);
    let text = ends(server.home.path(), &server.flags(nothing), 3);
    assert!(text.contains("response -  p50 -") && text.contains("dispatch lag p99 -"), "{text}");
    assert!(text.contains("throughput - ") && text.contains("Measure for longer (--duration)"), "{text}");
    assert_eq!((&json["throughput_per_s"], codes(&json)), (&Value::Null, vec!["no-arrivals"]));
}

const OBJECTS: &str = "\
CREATE TABLE shop.seen (id INT);
CREATE SEQUENCE shop.sq;
DELIMITER //
CREATE FUNCTION shop.sees() RETURNS INT BEGIN INSERT INTO seen VALUES (1); RETURN 1; END//";

const STATEMENTS: [(&str, &str); 6] = [
    ("plain", "SELECT name FROM item WHERE id = 1"),
    ("function", "SELECT sees()"),
    ("derived", "SELECT a FROM (SELECT sees() AS a) AS d"),
    ("sequence", "SELECT NEXTVAL(sq)"),
    ("sleep", "SELECT SLEEP(5)"),
    ("lock", "SELECT stock FROM item WHERE id = 1 FOR UPDATE"),
];

#[test]
fn explain_leaves_nothing_behind_and_says_what_it_did_not_execute() {
    let server = Server::up(&[]);
    server.sql(OBJECTS);
    let file = server.file("written");
    let into = format!("SELECT name FROM item INTO OUTFILE '{}'", file.display());
    let workload = server.workload("acts", &[&STATEMENTS[..], &[("file", into.as_str())]].concat());
    let explain = ["explain", &server.url(), "--workload", &workload];
    let said = done(&server.file("home"), &[&explain[..], &["--json"]].concat());
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.seen"), "0");
    assert_eq!(server.sql("SELECT NEXTVAL(shop.sq)"), "1");
    assert!(!file.exists());

    let json: Vec<Value> = serde_json::from_str(&said).expect("JSON");
    for (name, why) in [
        ("function", "it writes, or calls something that writes"),
        ("derived", "it writes, or calls something that writes"),
        ("sequence", "it has NEXTVAL or SETVAL, which writes"),
        ("file", "it has INTO OUTFILE, which writes"),
        ("sleep", "it has SLEEP(), which waits"),
        ("lock", "it has FOR UPDATE, which locks rows"),
    ] {
        let plan = json.iter().find(|plan| plan["statement"] == name).expect("each statement");
        assert!(plan["not_made"].as_str().is_some_and(|text| text.starts_with(why)), "{name}: {plan}");
        assert_eq!(plan["work_share_percent"], Value::Null, "{name}: {plan}");
    }
    let plain = json.iter().find(|plan| plan["statement"] == "plain").expect("each statement");
    assert_eq!((&plain["not_made"], &plain["work_share_percent"]), (&Value::Null, &100.0.into()));

    let text = done(&server.file("home"), &explain);
    assert!(text.contains("not measured: it has SLEEP(), which waits"), "{text}");
    names_what_makes_a_slow_log(&server);
}

/// Where there are no digests and no slow log, both lines that make one; where they were followed, the log.
fn names_what_makes_a_slow_log(server: &Server) {
    let from = || refused(&server.file("home"), &["workload", "from", &server.url()]);
    let (said, lines) = (from(), ["SET GLOBAL slow_query_log = 1;", "SET GLOBAL long_query_time = 0;"]);
    assert!(said.contains("performance_schema is off"), "{said}");
    assert!(said.contains(&format!("\n    {}\n    {}\n", lines[0], lines[1])), "{said}");
    server.sql(&lines.concat());
    let (said, log) = (from(), server.sql("SELECT CONCAT(@@datadir, @@slow_query_log_file)"));
    assert!(said.contains(&format!("evenkeel workload from {log} > shop.toml")), "{said}");
}
