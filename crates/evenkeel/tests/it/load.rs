//! `evenkeel load` as a user runs it: how many sessions it has, and what it says where nothing was measured.

use crate::cli::{ends, refused, words};
use crate::sandbox::{Home, measured};
use serde_json::Value;

/// A private server that lets 40 in, and a workload that needs no tables.
struct Server {
    home: Home,
    workload: String,
}

impl Server {
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
    let server = Server::up();
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
    let server = Server::up();
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
