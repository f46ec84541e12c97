//! A session that may hold what others wait for goes on, while all places are taken.

use crate::server::{LONG, Server, said};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

/// A session that says one statement after the other.
struct Holder {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Holder {
    fn new(server: &Server) -> Self {
        Self::by(server.client("app"))
    }

    /// Goes on after errors, and sends all up to `$$` in one packet.
    fn undaunted(server: &Server) -> Self {
        let mut client = server.client("app");
        client.args(["--force", "--delimiter=$$"]);
        Self::by(client)
    }

    fn by(mut client: Command) -> Self {
        let mut child = client.stdin(Stdio::piped()).spawn().expect("a client");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, answers }
    }

    /// Says it, and waits until it was done.
    fn say(&mut self, sql: &str) {
        self.begin(sql, ";");
        self.done(sql);
    }

    /// Says it as one packet.
    fn send(&mut self, sql: &str) {
        self.begin(sql, "$$");
        self.done(sql);
    }

    fn begin(&mut self, sql: &str, delimiter: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{sql}{delimiter}\nSELECT 'done'{delimiter}").expect("it reads");
    }

    fn done(&mut self, sql: &str) {
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert!(self.answers.read_line(&mut line).expect("it answers") > 0, "{sql} failed");
        }
    }

    /// What went wrong.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut errors = String::new();
        self.child.stderr.take().expect("its errors").read_to_string(&mut errors).expect("text");
        let _ = self.child.wait();
        errors
    }
}

/// With all places taken and others waiting, the holder does its work and gives back what it holds.
fn goes_on(server: &Server, take: &[&str], works: &str, give_back: &str) {
    let mut holder = Holder::new(server);
    take.iter().for_each(|sql| holder.say(sql));
    let busy = server.occupied();
    let writers: Vec<_> =
        (0..20).map(|_| server.app(&format!("{LONG}UPDATE t SET v = v + 1 WHERE id = 1"))).collect();
    server.until("others to wait", || server.waiting().len() >= 20);
    holder.say(&format!("{LONG}{works}"));
    holder.say(give_back);
    holder.end();
    server.clear();
    writers.into_iter().for_each(|writer| drop(said(writer)));
    said(busy);
}

/// What fails gives no place back that its transaction needs, and leaves none behind; nor do packets of several statements.
pub fn failures(server: &Server) {
    server.root("DELETE FROM d.t WHERE id > 3");
    let clear = |what: &str| server.until(what, || server.is_clear());
    let open = |what: &str| {
        server.until(what, || server.status("aside") == "1" && server.status("short_running") == "0")
    };
    let mut holder = Holder::undaunted(server);
    holder.send("BEGIN; UPDATE t SET v = v WHERE id = 2; INSERT INTO t VALUES (1, 1); SELECT 'not reached'");
    open("a duplicate key to leave the transaction open");
    holder.send("COMMIT");
    clear("COMMIT after a duplicate key");
    for packet in [
        "BEGIN; UPDATE t SET v = v WHERE id = 2; UPDATE t SET v = v WHERE id = 3; COMMIT",
        "UPDATE t SET v = v WHERE id = 2; SELECT v FROM t; INSERT INTO t VALUES (1, 1); SELECT v FROM t",
        "PREPARE s FROM 'UPDATE t SET v = v + ? WHERE id = 2'; SET @a = 0; EXECUTE s USING @a; BEGIN; EXECUTE s USING @a; \
         EXECUTE s USING @a; ROLLBACK; DEALLOCATE PREPARE s",
        "SELECT wrong FROM t",
        "not SQL at all",
    ] {
        holder.send(packet);
        clear(packet);
    }
    let mut other = Holder::undaunted(server);
    // It has changed more rows, so that a deadlock rolls back the holder.
    other.send("BEGIN; UPDATE t SET v = v + 1 WHERE id = 1; UPDATE t SET v = v - 1 WHERE id = 1");
    open("the other transaction");
    holder.send("SET innodb_lock_wait_timeout = 1; BEGIN; UPDATE t SET v = v WHERE id = 2; UPDATE t SET v = v WHERE id = 1");
    server.until("a timeout to leave the transaction open", || server.status("aside") == "2");
    other.begin("UPDATE t SET v = v WHERE id = 2; COMMIT", "$$");
    let waits =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app' AND info LIKE 'UPDATE%'";
    server.until("the other to wait for the row", || server.root(waits) == "1");
    holder.send("UPDATE t SET v = v WHERE id = 1");
    other.done("COMMIT of who went on");
    clear("the deadlock to end both");
    let errors = holder.end() + &other.end();
    for code in [1062, 1054, 1064, 1205, 1213] {
        assert!(errors.contains(&format!("ERROR {code} ")), "{code} is not among {errors}");
    }
}

#[test]
fn errors_and_packets_leave_no_place_behind() {
    failures(&Server::start("failures"));
}

#[test]
fn an_open_transaction_goes_on() {
    let server = Server::start("open");
    goes_on(
        &server,
        &["BEGIN", "UPDATE t SET v = 9 WHERE id = 2"],
        "UPDATE t SET v = 10 WHERE id = 2",
        "COMMIT",
    );
    let taken = ["SET autocommit = 0", "UPDATE t SET v = 9 WHERE id = 2"];
    goes_on(&server, &taken, "UPDATE t SET v = 10 WHERE id = 3", "ROLLBACK");
    goes_on(
        &server,
        &["XA START 'x'", "UPDATE t SET v = 9 WHERE id = 2"],
        "UPDATE t SET v = 11 WHERE id = 2",
        "XA END 'x'",
    );
    let prepared = ["XA START 'y'", "INSERT INTO t VALUES (7, 7)", "XA END 'y'", "XA PREPARE 'y'"];
    goes_on(&server, &prepared, "XA COMMIT 'y'", "SELECT 1");
}

#[test]
fn whoever_holds_locks_beside_a_transaction_goes_on() {
    let server = Server::start("locks");
    for (take, give_back) in [
        ("LOCK TABLES t WRITE", "UNLOCK TABLES"),
        ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
        ("BACKUP STAGE START", "BACKUP STAGE END"),
        ("SELECT GET_LOCK('a', 1)", "SELECT RELEASE_LOCK('a')"),
        ("HANDLER t OPEN", "HANDLER t CLOSE"),
    ] {
        let mut holder = Holder::new(&server);
        holder.say(take);
        let busy = server.occupied_elsewhere();
        let waiter = server.app(&format!("{LONG}SELECT MAX(a) FROM other"));
        server.until("another to wait", || server.waiting().len() == 1);
        holder.say(&format!("{LONG}SELECT MAX(v) FROM t"));
        holder.say(give_back);
        // It holds nothing any more: it waits like the others.
        holder
            .child
            .stdin
            .as_mut()
            .expect("its input")
            .write_all(format!("{LONG}SELECT MAX(v) FROM t;\n").as_bytes())
            .expect("it reads");
        if !take.starts_with("HANDLER") {
            server.until("it to wait", || server.waiting().len() == 2);
        }
        server.clear();
        holder.end();
        said(waiter);
        said(busy);
    }
}

#[test]
fn a_named_lock_that_a_transaction_took_on_its_way_outlasts_it() {
    let server = Server::start("named");
    let taken =
        ["BEGIN", "SELECT MAX(v) FROM t", "SELECT GET_LOCK('a', 1)", "SELECT MAX(a) FROM other", "COMMIT"];
    goes_on(&server, &taken, "SELECT MAX(v) FROM t", "SELECT RELEASE_LOCK('a')");
}

#[test]
fn locks_that_a_routine_took_count_and_so_do_those_from_before() {
    let server = Server::start("routine");
    server.root("CREATE PROCEDURE d.p() DO GET_LOCK('a', 1)");
    goes_on(&server, &["CALL p()"], "SELECT MAX(v) FROM t", "SELECT RELEASE_LOCK('a')");
    for begin in ["SET autocommit = 0", "BEGIN"] {
        let mut holder = Holder::new(&server);
        holder.say("SELECT MAX(v) FROM t");
        server.root("SET GLOBAL evenkeel_mode = 'off'");
        holder.say(begin);
        holder.say("UPDATE t SET v = 9 WHERE id = 2");
        server.root("SET GLOBAL evenkeel_mode = 'auto'");
        let busy = server.occupied();
        holder.say(&format!("{LONG}UPDATE t SET v = 9 WHERE id = 3"));
        holder.say("ROLLBACK");
        holder.end();
        server.clear();
        said(busy);
    }
}

#[test]
fn a_statement_that_waited_for_rows_does_not_count_as_long() {
    let server = Server::start("rows");
    let update = |id: u32| format!("UPDATE t SET v = v + 3 * 3 - 9 WHERE id = {id}");
    let mut holder = Holder::new(&server);
    holder.say("BEGIN");
    holder.say("UPDATE t SET v = 9 WHERE id = 1");
    let waiters: Vec<_> = (0..5).map(|_| server.app(&update(1))).collect();
    server.until("all to be aside", || server.status("aside") == "6");
    crate::server::pause(300);
    holder.say("COMMIT");
    waiters.into_iter().for_each(|waiter| assert_eq!(said(waiter).1, ""));
    let busy = server.occupied();
    let mut next = server.app(&update(2));
    server.until("it to pass the long lane", || next.try_wait().expect("a child").is_some());
    holder.end();
    server.clear();
    said(busy);
}

#[test]
fn idle_transactions_leave_all_places_to_others() {
    let server = Server::start("idle");
    server.root("SET GLOBAL evenkeel_mode = '2'");
    let mut pool: Vec<_> = (0..80).map(|_| Holder::new(&server)).collect();
    for (number, idle) in pool.iter_mut().enumerate() {
        idle.say(if number % 2 == 0 { "SET autocommit = 0" } else { "BEGIN" });
        idle.say("SELECT v FROM t WHERE id = 1");
    }
    server.until("all to be aside", || server.status("aside") == "80");
    assert_eq!(server.status("short_running"), "0");
    pool.into_iter().for_each(|holder| drop(holder.end()));
    server.until("places to come back", || server.is_clear());
}

#[test]
fn a_text_that_only_seems_to_be_several_statements_keeps_no_place() {
    let server = Server::start("modes");
    let mut holder = Holder::new(&server);
    holder.say("SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    holder.say("UPDATE t SET v = v WHERE id = 2 AND 'C:\\' <> 'a;b;c'");
    server.until("the place to come back", || server.is_clear());
    holder.end();
}
