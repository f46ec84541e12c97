//! What I/Os cost, changed while disks are served.

use super::{Host, line, noise, run, text, uri};
use crate::patience::{eventually, found};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A figure of a host, or of its first disk.
fn figure(metrics: &str, name: &str) -> Option<f64> {
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
    let bus = format!("slot:{}", text(&at("slots")));
    let config = |cost: u32| {
        let disk = format!("[[disk]]\nname = 'd'\nbacking = '{}'\n", text(&at("disk")));
        let costs = format!("[costs]\nread = '16k=1,64k={cost},256k={cost}'\n");
        let host = format!("name = 'h'\nnbd = '{}'\nmetrics = '127.0.0.1:0'\n", text(&at("socket")));
        fs::write(at("share.toml"), host + &costs + &disk).expect("a file can be written");
    };
    config(1);
    let place = ["--period", "100ms", "--bus", &bus];
    let mut host = Host::start(&[&["--config", &text(&at("share.toml"))][..], &place].concat());
    let (other, socket) = (text(&at("other")), text(&at("other.sock")));
    let flags = ["--name", "other", "--backing", &other, "--size", "1M", "--nbd", &socket];
    let mut neighbour = Host::start(&[&flags[..], &place, &["--cost-read", "16k=1,64k=1,256k=1"]].concat());
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
