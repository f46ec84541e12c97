//! A server that others use: nothing is written unasked, it is asked gently, what is written is counted, and flags that it cannot have
//! are refused.

use crate::cli::{asked, ends, evenkeel, refused, text, words};
use crate::guard::server::Server;
use crate::sandbox::{done, figures};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A shop with a thousand orders, an account that may not delete, and connections for few.
fn shop() -> Server {
    let server = Server::up(&[("max_connections", "27")]);
    server.sql(
        "USE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, total INT NOT NULL, note CHAR(20));
         INSERT INTO shop.orders (total) SELECT seq FROM seq_1_to_1000;
         CREATE FUNCTION shop.price(a INT) RETURNS INT NO SQL RETURN a;
         CREATE USER buyer@localhost; CREATE USER buyer@'%';
         GRANT SELECT, INSERT, UPDATE ON shop.* TO buyer@localhost; GRANT SELECT, INSERT, UPDATE ON shop.* TO buyer@'%';
         GRANT EXECUTE ON FUNCTION shop.price TO buyer@localhost; GRANT EXECUTE ON FUNCTION shop.price TO buyer@'%'",
    );
    server
}

fn url(server: &Server) -> String {
    format!("mysql://buyer@{}/shop", server.address())
}

fn workload(server: &Server, statements: &[(&str, u32)]) -> String {
    let file = server.file("shop.toml");
    let one = |(place, (sql, weight)): (usize, &(&str, u32))| {
        format!("[[statement]]\nname = \"s{place}\"\nsql = \"{sql}\"\nweight = {weight}\n")
    };
    let all: String = statements.iter().enumerate().map(one).collect();
    fs::write(&file, format!("name = \"shop\"\n{all}")).expect("a file");
    file.to_str().expect("UTF-8").to_owned()
}

fn rows(server: &Server) -> u64 {
    server.sql("SELECT COUNT(*) FROM shop.orders").parse().expect("a number")
}

#[test]
fn what_writes_or_locks_on_a_server_of_others_is_refused_before_it_is_sent_and_so_are_flags_that_it_cannot_have()
 {
    let server = shop();
    let (home, url) = (server.file("home"), url(&server));
    for (sql, words) in [
        ("UPDATE orders SET total = total + 1", "writes (UPDATE)"),
        ("SELECT total FROM orders WHERE id = 1 FOR UPDATE", "locks rows (FOR UPDATE)"),
        ("SELECT GET_LOCK('a', 0)", "takes or releases a lock (GET_LOCK())"),
        ("SELECT price(1)", "calls the stored function PRICE"),
        ("CALL fill()", "writes (CALL)"),
        ("SET sort_buffer_size = 2, GLOBAL max_connections = 77", "begins with SET, which may write"),
        ("SET sort_buffer_size = 2, @@GLOBAL.max_connections = 77", "begins with SET, which may write"),
    ] {
        let file = workload(&server, &[("SELECT 1", 9), (sql, 1)]);
        for job in ["profile", "load"] {
            let said = refused(&home, &[job, &url, "--workload", &file, "--rate", "5"]);
            let named = format!("statement \"s1\" of {file} {words}");
            assert!(said.contains(&named) && said.contains("--allow-writes"), "{job} {sql}: {said}");
        }
    }
    assert_eq!(server.sql("SELECT SUM(total) FROM shop.orders"), "500500", "nothing was sent");

    let file = workload(&server, &[("SELECT total FROM orders WHERE id = 5", 1)]);
    let nowhere = url.trim_end_matches("/shop");
    let load = "load URL --rate 20 --duration 1s --warm-up 0s";
    for (line, code) in [("explain URL", 1), (load, 1), ("profile URL --rate 5", 2)] {
        let said = ends(&home, &words(&format!("{} --workload {file}", line.replace("URL", nowhere))), code);
        assert!(said.contains("ame the database: URL/shop"), "{line}: {said}");
    }
    for flag in ["--set a=1", "--at cpus=0", "--factor buffer-pool=20%,40%", "--ebs 10", "--via load"] {
        let said = refused(&home, &words(&format!("profile {url} --workload {file} --rate 5 {flag}")));
        assert!(said.contains("cannot be used with") && said.contains(words(flag)[0]), "{said}");
    }
    let study = server.file("study.toml");
    let text = format!(
        "name = 'flush'\n[profile]\nurl = '{url}'\nworkload = '{file}'\nrate = '5'\n[[factor]]\nname = 'flush'\n\
         [[factor.level]]\nname = 'always'\nset = 'a=1'\n[[factor.level]]\nname = 'lazily'\nset = 'a=2'\n"
    );
    fs::write(&study, text).expect("a file");
    let said = refused(&home, &["study", study.to_str().expect("UTF-8")]);
    assert!(
        said.contains("factor `flush`, level `always`") && said.contains("cannot be used with"),
        "{said}"
    );
}

#[test]
fn what_a_stored_function_writes_needs_the_flag_and_is_told() {
    let server = Server::up(&[]);
    server.sql(
        "CREATE DATABASE other; CREATE TABLE other.noted (a INT);
         DELIMITER //
         CREATE FUNCTION other.addit(a INT) RETURNS INT MODIFIES SQL DATA
             BEGIN INSERT INTO other.noted VALUES (a); RETURN a; END//",
    );
    let home = server.file("home");
    let url = format!("mysql://app@{}/tpcw", server.address());
    done(&home, &["-q", "data", "fill", &url, "--ebs", "1", "--items", "100"]);
    let load = |sql: &str, flags: &[&str]| {
        let file = workload(&server, &[(sql, 1)]);
        let asked = ["load", &url, "--workload", &file, "--rate", "20", "--duration", "1s", "--json"];
        evenkeel(&home, &[&asked, flags].concat())
    };
    let said = |output: &std::process::Output| text(output).1;
    for (sql, words) in [
        ("SELECT other.addit(1) FROM item LIMIT 1", "calls the stored function ADDIT"),
        ("UPDATE item SET i_stock = other.addit(1) WHERE i_id = 1", "writes (UPDATE)"),
    ] {
        let output = load(sql, &[]);
        let said = said(&output);
        assert!(!output.status.success() && said.contains(words), "{sql}: {said}");
        assert!(said.contains("--allow-writes"), "{said}");
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM other.noted"), "0", "nothing was sent");

    let output = load("SELECT other.addit(1) FROM item LIMIT 1", &["--allow-writes"]);
    let told = said(&output);
    assert!(told.contains("statements: 1, 1 of them writing; "), "{told}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let noted: u64 = server.sql("SELECT COUNT(*) FROM other.noted").parse().expect("a number");
    assert!(noted > 0 && found["written"]["uncounted"] == noted, "{noted}: {found}");
}

#[test]
fn the_study_of_variation_asks_servers_of_others_no_more_than_was_said_and_writes_nothing_unasked() {
    let servers = [shop(), shop()];
    let home = servers[0].file("home");
    let urls = servers.each_ref().map(url);
    let study = |sql: &str| {
        let file = workload(&servers[0], &[(sql, 1)]);
        let settings = "rate=10 starts=1 runs=1 duration=1s warm-up=0s timeout=1s may-differ=yes";
        format!("study variation url={} url={} workload={file} {settings}", urls[0], urls[1])
    };
    let line = study("UPDATE orders SET total = total + 1 WHERE id = 5");
    let said = refused(&home, &words(&line));
    assert!(said.contains("writes (UPDATE)") && said.contains("--allow-writes"), "{said}");
    assert_eq!(servers[0].sql("SELECT SUM(total) FROM shop.orders"), "500500", "nothing was sent");
    // What is allowed still has to be taken back.
    let said = refused(&home, &words(&format!("{line} allow-writes=yes")));
    assert!(said.contains("cannot restore the rows"), "{said}");

    servers.iter().for_each(|server| drop(server.sql("FLUSH STATUS")));
    let line = study("SELECT SLEEP(0.05), total FROM orders WHERE id = 5");
    assert!(refused(&home, &words(&line.replace("rate=10", "load=50"))).contains("give the rates by rate="));
    let said = ends(&home, &words(&line), 0);
    assert!(
        said.contains("which only read; connections: at most ") && said.contains("rates: 10/s"),
        "{said}"
    );
    let most = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'MAX_USED_CONNECTIONS'";
    for server in &servers {
        let most: u32 = server.sql(most).parse().expect("a number");
        // A quarter of 27, the observers, and who asks here.
        assert!(most <= 12, "{most} connections at once: {said}");
    }
}

/// What is told on the way, one object a line.
fn events(home: &Path, arguments: &[&str]) -> Vec<Value> {
    let (_, told) = figures(&evenkeel(home, arguments));
    told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// A shop, and a workload that waits, inserts and updates.
struct Mix {
    server: Server,
    home: PathBuf,
    url: String,
    file: String,
}

impl Mix {
    fn up() -> Self {
        let server = shop();
        let mix = [
            ("SELECT SLEEP(0.1)", 8),
            ("INSERT INTO orders (total) VALUES (1), (2)", 1),
            ("UPDATE orders SET total = total + 1 WHERE id <= 3", 1),
        ];
        let file = workload(&server, &mix);
        Self { home: server.file("home"), url: url(&server), file, server }
    }

    fn command<'a>(&'a self, job: &'a str, flags: &'a str) -> Vec<&'a str> {
        let asked = [job, &self.url, "--workload", &self.file, "--allow-writes", "--json"];
        asked.into_iter().chain(flags.split(' ')).collect()
    }
}

#[test]
fn a_server_of_others_is_asked_gently_and_every_row_that_was_written_is_counted() {
    let mix = Mix::up();
    let before = rows(&mix.server);
    let flags = "--rate auto:3 --repeats 1 --duration 1s --warm-up 500ms --retries 0";
    let told = events(&mix.home, &mix.command("profile", flags));
    is_gentle(&told);

    let written = &of(&told, "finished")[0]["written"];
    let count = |what: &str| written[what].as_u64().expect("a count");
    assert_eq!((count("unanswered"), count("unknown_loads")), (0, 0), "{written}");
    assert_eq!((rows(&mix.server) - before, count("updated") % 3), (count("inserted"), 0), "{written}");
    assert!(count("inserted") > 0 && count("updated") > 0, "{written}");
    is_limited_by_connections(&mix);
    counts_one_load(&mix);
}

/// It says before it begins what it will do, begins low, and asks for no more than twice the rate before.
fn is_gentle(told: &[Value]) {
    let begins = of(told, "announced")[0]["text"].as_str().expect("a line");
    let mut most = ["connections: at most 5 (a", "connections: at most 6 (a"].into_iter();
    assert!(most.any(|most| begins.contains(most)) && begins.contains("max_connections is 27"), "{begins}");
    assert!(begins.contains("statements: 3, 2 of them writing; "), "{begins}");
    assert!(begins.contains("rates: first 10/s"), "{begins}");
    let (mut highest, mut probes) = (5.0, 0);
    for probe in of(told, "probed") {
        let rate = probe["rate_per_s"].as_f64().expect("no probe at full speed");
        assert!(rate <= 2.001 * highest, "{rate}/s after {highest}/s");
        highest = f64::max(highest, rate);
        probes += 1;
    }
    assert!(probes >= 3, "{told:?}");
}

/// Three times what so few connections can do: the doubt names them and the flag.
fn is_limited_by_connections(mix: &Mix) {
    let before = rows(&mix.server);
    let flags = "--rate 200 --repeats 1 --whole-sweep --duration 3s --timeout 1s --warm-up 500ms --retries 0";
    let told = events(&mix.home, &mix.command("profile", flags));
    let summary = last_summary(&mix.home);
    let (_, shown) = asked(&mix.home, &["runs", "last"]);
    assert!(shown.contains("The connections may be the limit, not the server"), "{shown}");
    assert!(!shown.contains("More than the server carries"), "{shown}");
    let doubts = summary["cells"][0]["caveats"].as_array().expect("doubts");
    let mut texts = doubts.iter().filter_map(|doubt| doubt["text"].as_str());
    let text = texts.find(|text| text.contains("the limit may be this number"));
    assert!(text.is_some_and(|text| text.contains("--max-sessions")), "{doubts:?}");
    assert_eq!(summary["written"], of(&told, "finished")[0]["written"]);
    let count = |what: &str| summary["written"][what].as_u64().expect("a count");
    let (new, open) = (rows(&mix.server) - before, 2 * count("unanswered"));
    assert!((new - open..=new).contains(&count("inserted")), "{} {new}", summary["written"]);
}

/// So many connections as were asked for, and the rows of one load alone.
fn counts_one_load(mix: &Mix) {
    let before = rows(&mix.server);
    let output =
        evenkeel(&mix.home, &mix.command("load", "--rate 50 --duration 2s --warm-up 1s --max-sessions 8"));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["written"]["inserted"].as_u64(), Some(rows(&mix.server) - before), "{found}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains(
            "statements: 3, 2 of them writing; connections: at most 8, plus timed-out statements; rate: 50/s"
        ),
        "{said}"
    );
}

fn last_summary(home: &Path) -> Value {
    let mut studies: Vec<_> =
        fs::read_dir(home.join("runs")).expect("runs").flatten().map(|one| one.path()).collect();
    studies.sort_by_key(|path| fs::metadata(path.join("plan.json")).and_then(|plan| plan.modified()).ok());
    let path = studies.pop().expect("a study").join("summary.json");
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}
