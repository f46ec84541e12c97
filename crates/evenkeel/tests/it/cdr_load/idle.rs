//! A server that soon ends connections which wait, and that commits nothing by itself.

use super::server::{Server, ok};
use crate::cli::evenkeel;

#[test]
fn a_load_and_a_dispatch_outlast_a_server_that_ends_idle_connections_and_commits_nothing_by_itself() {
    let server = Server::up(&["wait_timeout=1", "autocommit=0"]);
    server.generate("calls", 1_500, "none");
    let create = ["cdr", "load", "--layout", &server.layout(), "--table", "calls", "--print-table"];
    let create = ok(&evenkeel(server.home(), &create));
    for (table, engine) in [("plain", "InnoDB"), ("simple", "MyISAM")] {
        let create =
            create.trim_end().trim_end_matches(';').replace("`calls`", table).replace("InnoDB", engine);
        server.control().exec(&create).expect("a table");
        // Each row takes two milliseconds, so that the other connections wait for three seconds.
        let slow = format!(
            "CREATE TRIGGER slow_{table} BEFORE INSERT ON {table} FOR EACH ROW SET NEW.seq = NEW.seq + SLEEP(0.002)"
        );
        server.control().exec(&slow).expect("a trigger");
        let found = server.json(table, &["calls"], &["--index", "calling"]);
        assert_eq!(
            (&found["tally"]["lines"][0], &found["audit"]["found"]),
            (&1_500.into(), &0.into()),
            "{table}"
        );
        let state = format!("SELECT state FROM evenkeel_loads WHERE tables_loaded = '{table}'");
        assert_eq!(server.value(&state), "done", "{table}");
        assert_eq!(server.json(table, &["calls"], &[])["tally"]["records"], 0, "{table}: a rerun");
        server.control().exec(&format!("DROP TRIGGER slow_{table}")).expect("a statement");
        let words = ["cdr", "dispatch", "sandbox:a/cdr", "--table", table, "--by", "start"];
        ok(&evenkeel(server.home(), &words));
        assert_eq!((server.count(table), server.count(&format!("{table}_20260801"))), (0, 1_500), "{table}");
    }
}
