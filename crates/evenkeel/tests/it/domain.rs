//! Private servers in domains of their own, and what is left of those when evenkeel is killed: nothing. Only root can make them.

mod refused;

use crate::cli::{Running, evenkeel, eventually, refused, text, unread, words};
use crate::left_out::left_out;
use crate::sandbox::{Down, done};
use crate::study::seen_by_all;
use evenkeel_site::sandbox::{Sandbox, find};
use evenkeel_site::server::{Address, Control};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A home on a disk, since file disks and control groups of disks are on none in memory.
fn home() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory")
}

/// Whether this machine can have such a server, which is up then; else the test is told to be skipped.
fn is_up(home: &Path, domain: &str) -> bool {
    let output = evenkeel(home, &["sandbox", "up", "a", "--at", domain]);
    if output.status.success() {
        return true;
    }
    let told = text(&output).1;
    assert!(told.contains("cannot set") && evenkeel_os::user().0 != 0, "{domain}: {told}");
    left_out(told.lines().next().unwrap_or_default());
    false
}

fn group_folders() -> Vec<PathBuf> {
    let hierarchies =
        fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    hierarchies.chain([PathBuf::from("/sys/fs/cgroup")]).map(|path| path.join("evenkeel")).collect()
}

/// What there is of a sandbox's domain besides its folder: mounts, network and groups.
fn there(home: &Path, member: Option<&str>, process: u32) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let home = home.to_str().expect("UTF-8");
    let mut found: Vec<String> =
        mounts.lines().filter(|line| line.contains(home)).map(str::to_owned).collect();
    let network =
        member.iter().flat_map(|name| [format!("/run/netns/{name}"), format!("/sys/class/net/{name}")]);
    found.extend(network.filter(|path| fs::symlink_metadata(path).is_ok()));
    let groups =
        group_folders().into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_its = |name: &str| name.starts_with("a-") && name.contains(&format!("-{process}"));
    found.extend(groups.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_its(name)));
    found
}

/// The interface of the server on the bridge: that which has its address as its alias.
fn member(sandbox: &Sandbox) -> String {
    let Address::Tcp { host, .. } = sandbox.target().address else { panic!("no address of its own") };
    let entries = fs::read_dir("/sys/class/net").expect("interfaces").flatten();
    let has = |path: &Path| fs::read_to_string(path.join("ifalias")).is_ok_and(|alias| alias.trim() == host);
    let entry = entries.into_iter().find(|entry| has(&entry.path())).expect("its interface");
    entry.file_name().into_string().expect("UTF-8")
}

fn children(pid: u32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn a_server_has_its_quota_its_own_network_and_its_own_file_system_until_it_is_down() {
    let folder = home();
    // Behind a link: the kernel names mounts by the real path.
    let home = folder.path().join("link");
    fs::create_dir(folder.path().join("real")).expect("a folder");
    std::os::unix::fs::symlink("real", &home).expect("a link");
    let domain = "quota=50%,weight=400,file-disk=600M,net=20M";
    if !is_up(&home, domain) {
        return;
    }
    let _down = Down(&home);
    let sandbox = find(&home, "a").expect("it runs");
    let member = member(&sandbox);
    let mut control = Control::connect(&sandbox.target()).expect("a connection to its address");
    let user = control.query_value("SELECT CURRENT_USER()").expect("an answer").expect("a user");
    assert!(user.starts_with("evenkeel@10.") && user.ends_with(".1"), "{user}");
    let data = control.query_value("SELECT @@datadir").expect("an answer").expect("a folder");
    assert!(data.trim_end_matches('/').ends_with("sandboxes/a/disk/data"), "{data}");
    let own = fs::read_link(format!("/proc/{}/ns/net", sandbox.pid())).expect("a namespace");
    assert_ne!(own, fs::read_link("/proc/self/ns/net").expect("a namespace"));
    let listed = done(&home, &["sandbox", "list"]);
    assert!(listed.contains(domain) && !listed.contains("127.0.0.1"), "{listed}");
    // What it is asked for in another way is told, by key.
    let other = refused(&home, &["sandbox", "up", "a", "--at", "quota=60%"]);
    assert!(other.contains("quota 50% instead of 60%"), "{other}");
    done(&home, &["sandbox", "down", "a"]);
    let no_process = u32::MAX;
    assert_eq!(there(folder.path(), Some(&member), no_process), [""; 0]);
    // Its data are where they were, and only there.
    let without = refused(&home, &["sandbox", "up", "a"]);
    assert!(without.contains("start it with file-disk=600M"), "{without}");
    assert!(is_up(&home, "file-disk=600M"));
    done(&home, &["sandbox", "down", "a"]);
    done(&home, &["sandbox", "clean", "a", "--yes"]);
}

/// Killed when so much of it is there; alone, when the janitor takes it away, or with it, when `clean` has to.
fn killed(with_janitor: bool) {
    let home = home();
    let domain = "quota=50%,memory=500M,file-disk=600M,net=1M";
    if !is_up(home.path(), domain) {
        return;
    }
    let member = member(&find(home.path(), "a").expect("it runs"));
    done(home.path(), &["sandbox", "down", "a"]);
    for wanted in 1..=4 {
        let mut running = Running(unread(home.path(), &["sandbox", "up", "a", "--at", domain]));
        let process = running.0.id();
        eventually("some of its domain", || there(home.path(), Some(&member), process).len() >= wanted);
        if with_janitor {
            let is_janitor = |pid: &i32| {
                fs::read_to_string(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line.contains("evenkeel-janitor"))
            };
            children(process).into_iter().filter(is_janitor).for_each(|pid| {
                assert!(evenkeel_os::process::signal(pid, 9));
            });
        }
        running.0.kill().expect("a signal");
        running.0.wait().expect("an end");
        if with_janitor {
            // A server that was up for a moment goes on: it is detached.
            evenkeel(home.path(), &["sandbox", "down", "a"]);
            eventually("its removal", || {
                evenkeel(home.path(), &["sandbox", "clean", "a", "--yes"]).status.success()
            });
            assert_eq!(there(home.path(), Some(&member), process), [""; 0]);
        }
        eventually("the end of its domain", || there(home.path(), Some(&member), process).is_empty());
    }
    evenkeel(home.path(), &["sandbox", "clean", "a", "--yes"]);
}

#[test]
fn a_killed_evenkeel_leaves_no_mount_no_namespace_no_interface_and_no_group() {
    killed(false);
}

#[test]
fn what_a_kill_of_evenkeel_and_its_janitor_leaves_is_removed_by_clean() {
    killed(true);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    let home = home();
    for (domain, words) in [
        ("cpus=900", "this machine has CPUs"),
        ("file-disk=1000000G", if evenkeel_os::user().0 == 0 { "MiB free" } else { "only root" }),
    ] {
        let told = refused(home.path(), &["sandbox", "up", "a", "--at", domain]);
        assert!(told.contains(words), "{domain}: {told}");
    }
}

#[test]
fn the_smallest_study_of_domains_measures_all_places_and_leaves_nothing() {
    let home = home();
    if evenkeel_os::user().0 != 0 {
        return left_out("only root can limit a server");
    }
    let line =
        "-q study domains --quick parts=flush,load,select,beside data=0.1 seconds=1s --json --name tiny";
    let results: Value = serde_json::from_str(&done(home.path(), &words(line))).expect("JSON");
    let cells = results["cells"].as_array().expect("cells");
    let figure = |level: &str, figure: &str| {
        let has = |cell: &&Value| cell["where"] == level || cell["jobs"] == level;
        cells.iter().filter(has).find_map(|cell| cell["figures"][figure]["mean"].as_f64())
    };
    for (level, names) in [
        ("host", &["flush_ms", "seconds"][..]),
        ("two", &["seconds", "a_over_b", "theta_a"]),
        ("both", &["read_s", "write_s"]),
    ] {
        for name in names {
            assert!(figure(level, name).is_some_and(|value| value > 0.0), "{name} of {level}: {cells:#?}");
        }
    }
    let headline = results["headline"].as_str().expect("a headline");
    assert!(headline.contains("stand on single runs"), "{headline}");
    seen_by_all(home.path(), &results, "domains", "study,part,where,");
    assert_eq!(there(home.path(), None, std::process::id()), [""; 0]);
    assert_eq!(fs::read_dir(home.path().join("sandboxes")).map_or(0, Iterator::count), 0);
}
