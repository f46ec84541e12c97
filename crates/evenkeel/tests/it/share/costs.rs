//! What I/Os cost, changed while disks are served.

use super::{Host, line, noise, run, shown, text, uri};
use crate::cli::configured;
use crate::patience::{eventually, found};
use std::path::PathBuf;
use std::process::Command;

/// A figure of a host, or of its first disk.
pub fn figure(metrics: &str, name: &str) -> Option<f64> {
    let asked = Command::new("curl").args(["-s", &format!("http://{metrics}/metrics")]).output();
    let all = String::from_utf8_lossy(&asked.expect("curl is there").stdout).into_owned();
    let line =
        all.lines().find(|line| line.split(['{', ' ']).next() == Some(&format!("evenkeel_share_{name}")))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn costs_change_at_a_signal_for_the_ios_from_then_on_and_the_others_hear_of_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    noise(&at("disk"), 1 << 20);
    let common = |cost: u32| {
        format!(
            "[window]\nperiod = '100ms'\n[bus]\naddress = 'slot:{}'\n\
             [costs]\nread = '16k=1,64k={cost},256k={cost}'\n",
            text(&at("slots"))
        )
    };
    let config = |cost: u32| {
        let disk = format!("[[disk]]\nname = 'd'\nbacking = '{}'\n", text(&at("disk")));
        let host = format!("name = 'h'\nnbd = '{}'\nmetrics = '127.0.0.1:0'\n", text(&at("socket")));
        configured(&at("share.toml"), &(host + &common(cost) + &disk))
    };
    let mut host = Host::start(&[&config(1)]);
    let (other, socket) = (text(&at("other")), text(&at("other.sock")));
    let file = configured(&at("other.toml"), &common(1));
    let mut neighbour =
        Host::start(&[&file, "--name", "other", "--backing", &other, "--size", "1M", "--nbd", &socket]);
    let metrics = host.field("metrics").to_owned();
    // 16 reads of 64k.
    let read = |reads: f64| {
        let uri = format!("--uri={}", uri("d", &at("socket")));
        run("fio", &["--ioengine=nbd", &uri, "--name=read", "--rw=read", "--bs=64k", "--size=1M"]);
        eventually("the reads", || figure(&metrics, "disk_reads_total") == Some(reads));
        found("their cost", || figure(&metrics, "disk_cost_total"))
    };
    assert_eq!(read(16.0), 16.0);
    config(7);
    host.signal("-HUP");
    assert!(line(&mut host.log, "event=reloaded").contains("level=info"));
    assert!(line(&mut neighbour.log, "event=costs_differ").contains("member=h"));
    assert_eq!(read(32.0), 16.0 + 16.0 * 7.0, "what was read before costs what it did");
    config(1);
    host.signal("-HUP");
    assert!(line(&mut neighbour.log, "event=costs_agree").contains("member=h"));
    assert_eq!(read(48.0), 2.0 * 16.0 + 16.0 * 7.0);
    neighbour.stop();
    host.stop();
}

#[test]
fn costs_that_nobody_has_measured_are_told_and_shown_to_be_assumed() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> String { text(&folder.path().join(name)) };
    let host = |name: &str, costs: &str| {
        let (backing, socket, bus) = (at(name), at(&format!("{name}.sock")), format!("slot:{}", at("slots")));
        let place = ["--name", name, "--backing", &backing, "--size", "1M", "--nbd", &socket, "--bus", &bus];
        let settings = format!("[window]\nperiod = '100ms'\n{costs}");
        let file = configured(&folder.path().join(format!("{name}.toml")), &settings);
        Host::start(&[&place[..], &["--metrics", "127.0.0.1:0", &file]].concat())
    };
    let mut one = host("one", "");
    let told = line(&mut one.log, "event=costs_assumed");
    assert!(told.contains("level=warn") && told.contains("share knee --costs"), "{told}");
    let other = host("other", "[costs]\nread = '16k=1,256k=8'\n");
    for (metrics, assumed) in [(one.field("metrics"), 1.0), (other.field("metrics"), 0.0)] {
        assert_eq!(found("a figure", || figure(metrics, "costs_assumed")), assumed);
        let is_shown = shown(folder.path(), metrics).contains("WHAT I/Os COST IS ASSUMED");
        assert_eq!(is_shown, assumed > 0.0);
    }
    other.stop();
    one.stop();
}
