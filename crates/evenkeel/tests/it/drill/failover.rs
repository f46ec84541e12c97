//! Failovers, as a user drills them or makes them.

use super::{Scene, json, text};
use crate::cli::{ended, evenkeel, piped, refused};
use crate::sandbox::done;
use serde_json::Value;
use std::time::Duration;

/// Failovers with these flags, each of which has to come to an end.
pub fn made(words: &[&str], code: i32) -> Value {
    let home = tempfile::tempdir().expect("a folder");
    let all = [&["--quiet", "drill", "failover", "--json"][..], words].concat();
    let found = json(&ended(&evenkeel(home.path(), &all), code).0);
    let left = done(home.path(), &["sandbox", "list", "--json"]);
    assert_eq!(json(&left), serde_json::json!([]), "nothing stays");
    found[0].clone()
}

#[test]
fn a_kill_with_semi_synchronous_replicas_loses_nothing() {
    let found = made(&["--mode", "after-sync", "--fault", "lag"], 0);
    assert!(found["account"]["acknowledged"].as_u64() > Some(300), "{found}");
    assert_eq!(found["extra_acknowledged"], 0, "{found}");
}

/// Whoever knows one address only is led to the new primary; the guard by SIGHUP.
#[test]
fn clients_of_an_address_of_haproxy_and_of_the_guard_are_led_to_the_new_primary() {
    for (reach, fault) in [("guard", "kill"), ("guard", "freeze"), ("haproxy", "freeze"), ("address", "kill")]
    {
        if reach == "haproxy" && !evenkeel_os::tools::is_there("haproxy")
            || reach == "address" && !crate::mounted::can_mount()
        {
            crate::left_out::left_out(format!("failover by {reach} needs haproxy, or root"));
            continue;
        }
        let found = made(&["--reach", reach, "--fault", fault], 0);
        assert!(found["account"]["acknowledged"].as_u64() > Some(300), "{found}");
        assert!(found["timeline"]["first_success_s"].is_number(), "{found}");
    }
}

/// By hand, as a user's own tool would.
#[test]
fn a_failover_of_others_is_watched_on_servers_that_are_confirmed_by_name() {
    let scene = Scene::new();
    let url = format!("mysql://app@{}/shop", scene.server.address());
    let ledger = text(&scene.server.file("ledger"));
    let words = ["--quiet", "drill", "failover", "--servers", &url, "--ledger", &ledger, "--json"];
    let before = scene.server.sql("SHOW TABLES FROM shop");
    let said = refused(scene.home(), &words);
    let host = scene.server.sql("SELECT @@hostname");
    assert!(said.contains(&format!("is on {host}, and")) && said.contains("--staging NAME"), "{said}");
    assert!(refused(scene.home(), &[&words[..], &["--staging", "other"]].concat()).contains("is on"));
    assert_eq!(scene.server.sql("SHOW TABLES FROM shop"), before, "it was not written to");
    let watch = piped(scene.home(), &[&words[..], &["--staging", &host]].concat());
    let is_written = || scene.server.sql("SHOW TABLES FROM shop").contains("evenkeel_ledger");
    crate::cli::eventually("writes", is_written);
    std::thread::sleep(Duration::from_secs(1));
    let pid = scene.server.sandbox.pid();
    evenkeel_os::process::signal(pid, 19);
    std::thread::sleep(Duration::from_secs(3));
    evenkeel_os::process::signal(pid, 18);
    let found = json(&ended(&watch.wait_with_output().expect("it ends"), 0).0);
    let outage = found[0]["account"]["outage_s"].as_f64().expect("a number");
    assert!(outage > 2.5, "{found}");
    assert_eq!(found[0]["account"]["errors"]["0"], 8, "{found}");
}

#[test]
fn what_a_lagging_replica_has_not_received_is_counted_as_lost_and_found_on_the_old_primary() {
    let found = made(&["--fault", "lag"], 1);
    let lost = found["account"]["found"]["lost"].as_u64();
    assert!(lost > Some(50), "{found}");
    assert_eq!(found["extra_acknowledged"].as_u64(), lost, "{found}");
    assert!(found["does_not_follow"].is_string(), "{found}");
}

/// A promotion has to apply what the replica has received; an error 1290 is one to try the next server for.
#[test]
fn a_promotion_that_does_not_drain_relay_logs_loses_what_ours_keeps() {
    let ours = made(&["--mode", "after-sync", "--fault", "slow"], 0);
    assert!(ours["account"]["errors"]["1290"].as_u64() > Some(0), "{ours}");
    assert!(ours["timeline"]["first_success_s"].is_number(), "{ours}");
    let naive = "mariadb --defaults-file=\"$1\" -e 'STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF'";
    let found = made(&["--mode", "after-sync", "--fault", "slow", "--promote", naive], 1);
    assert!(found["account"]["found"]["lost"].as_u64() > Some(50), "{found}");
}
