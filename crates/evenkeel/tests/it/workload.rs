//! Workloads made of what a server was asked, and workloads as SQL: what is written, `explain` and `profile` take.

use crate::cli::{asked, words};
use crate::guard::server::Server;
use crate::sandbox::{done, measured};
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
