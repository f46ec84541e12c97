//! One process takes the place of another one that serves disks.

use super::costs::figure;
use super::{Host, line, run, text, uri};
use crate::patience::eventually;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Writes to a disk and reads it back, checked, until told to end, so long at most.
fn fio(folder: &Path, uri: &str) -> Child {
    let uri = format!("--uri={uri}");
    let job = ["--ioengine=nbd", &uri, "--name=verify", "--rw=randwrite", "--bs=4k", "--iodepth=16"];
    let check = ["--size=4M", "--verify=crc32c", "--verify_backlog=64", "--verify_state_save=0"];
    let long = ["--time_based", "--runtime=600", "--fsync=32", "--error_dump=1"];
    let aux = format!("--aux-path={}", folder.display());
    let mut command = Command::new("fio");
    command.args(job).args(check).args(long).arg(aux).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("fio is installed")
}

/// Waits until a process has done some reads of its own.
fn serves(host: &Host) {
    let metrics = host.field("metrics");
    eventually("reads through this process", || {
        figure(metrics, "disk_reads_total").is_some_and(|reads| reads > 100.0)
    });
}

/// Ends fio, which has to have read what it has written all the time.
fn was_right(mut client: Child) {
    assert!(client.try_wait().expect("a child").is_none(), "its disk is there");
    let pid = client.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill is there").success());
    let output = client.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("err= 0") && !told.contains("verify:"), "{said}{told}");
}

#[test]
fn disks_go_from_process_to_process_and_their_clients_notice_nothing() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let disk = format!("[[disk]]\nname = 'd'\nbacking = '{}'\nsize = '4M'\nshare = 3\n", text(&at("disk")));
    let place = format!("nbd = '{}'\nhandover = '{}'\n", text(&at("socket")), text(&at("bell")));
    let window = "[window]\nlaw = 'evenkeel'\nperiod = '100ms'\ninitial_window = 7.0\n";
    let bus = format!("[bus]\naddress = 'slot:{}'\n", text(&at("slots")));
    fs::write(at("share.toml"), format!("name = 'h'\nmetrics = '127.0.0.1:0'\n{place}{window}{bus}{disk}"))
        .expect("a file can be written");
    let config = text(&at("share.toml"));
    let mut host = Host::start(&["--config", &config]);
    let mut client = fio(folder.path(), &uri("d", &at("socket")));
    for _ in 0..3 {
        serves(&host);
        let window = || figure(host.field("metrics"), "window").unwrap_or_default();
        eventually("a window that is not the one to begin with", || window() > 8.0);
        let mut before = host;
        host = Host::start(&["--config", &config]);
        let (took, handed) =
            (line(&mut host.log, "event=took_over"), line(&mut before.log, "event=handed_over"));
        assert!(took.contains("clients=1") && handed.contains("cut=0"), "{took}{handed}");
        let window = |said: &str| said.split("window=").nth(1).map(|rest| rest.trim().to_owned());
        assert_eq!(window(&took), window(&handed), "the window in force");
        assert_eq!(before.process.wait().expect("it ends").code(), Some(0));
        assert!(client.try_wait().expect("a child").is_none(), "its disk is there");
    }
    serves(&host);
    was_right(client);
    run("nbdinfo", &["--size", &uri("d", &at("socket"))]);
    host.stop();
    assert!(!at("socket").exists() && !at("bell").exists(), "a socket is left behind");
}

#[test]
fn a_successor_that_cannot_serve_leaves_the_disks_where_they_were() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let (disk, socket, bell) = (text(&at("disk")), text(&at("socket")), text(&at("bell")));
    let place = ["--name", "h", "--size", "4M", "--nbd", &socket, "--handover", &bell];
    let flags = [&place[..], &["--period", "100ms", "--metrics", "127.0.0.1:0"]].concat();
    let mut host = Host::start(&[&flags[..], &["--backing", &disk]].concat());
    let client = fio(folder.path(), &uri("h", &at("socket")));
    serves(&host);
    let missing = text(&at("no folder/disk"));
    let failed = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["share", "disk", "--backing", &missing])
        .args(flags)
        .output()
        .expect("the binary can be started");
    assert_eq!(failed.status.code(), Some(2), "{}", String::from_utf8_lossy(&failed.stderr));
    assert!(line(&mut host.log, "event=handover_failed").contains("this process goes on"));
    host.serving = line(&mut host.log, "event=serving");
    serves(&host);
    was_right(client);
    host.stop();
}

/// What comes next. A process that is stopped and goes on has its waiting with a timeout interrupted.
fn received(socket: &UnixDatagram, said: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match socket.recv(said) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

#[test]
fn a_signal_starts_the_successor_and_whoever_watches_is_told_which_process_serves() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let (disk, socket, bell) = (text(&at("disk")), text(&at("socket")), text(&at("bell")));
    let watcher = UnixDatagram::bind(at("notify")).expect("a socket");
    watcher.set_read_timeout(Some(Duration::from_secs(120))).expect("a time");
    let heard = || {
        let mut said = [0; 200];
        let length = received(&watcher, &mut said).expect("it says which process it is");
        let said = String::from_utf8_lossy(&said[..length]).into_owned();
        let pid = said.strip_prefix("MAINPID=").and_then(|rest| rest.strip_suffix("\nREADY=1"));
        pid.and_then(|pid| pid.parse::<u32>().ok()).expect("a process")
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(["share", "disk", "--name", "h", "--size", "1M", "--nbd", &socket, "--handover", &bell]);
    command.args(["--backing", &disk]).env("NOTIFY_SOCKET", at("notify"));
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut first = command.spawn().expect("the binary can be started");
    assert_eq!(heard(), first.id());
    let signal = |name: &str, pid: u32| {
        let sent = Command::new("kill").args([name, &pid.to_string()]).status();
        assert!(sent.expect("kill is there").success());
    };
    signal("-USR2", first.id());
    let second = heard();
    assert_ne!(second, first.id());
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    run("nbdinfo", &["--size", &uri("h", &at("socket"))]);
    signal("-TERM", second);
    eventually("the end of the second one", || !at("socket").exists());
}
