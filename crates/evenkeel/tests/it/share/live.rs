//! A host that is told of other disks while it serves, and one that is out of descriptors.

use super::{Host, line, shown, text, uri};
use crate::cli::{Running, configured};
use crate::patience::eventually;
use std::fs;
use std::io::{BufReader, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A folder with a configuration.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A disk with a socket of its own, and what else is to be said of it.
    fn disk(&self, name: &str, more: &str) -> String {
        let backing = text(&self.at(name));
        format!(
            "[[disk]]\nname = '{name}'\nbacking = '{backing}'\nsize = '1M'\nnbd = '{backing}.sock'\n{more}\n"
        )
    }

    fn configure(&self, disks: &[String]) {
        let host = "name = 'h'\nmetrics = '127.0.0.1:0'\n[window]\nperiod = '50ms'\n";
        configured(&self.at("share.toml"), &format!("{host}{}", disks.concat()));
    }

    fn start(&self) -> Host {
        Host::start(&["--config", &text(&self.at("share.toml"))])
    }

    /// Tells the host of these disks; its answer.
    fn reload(&self, host: &mut Host, disks: &[String]) -> String {
        self.configure(disks);
        host.signal("-HUP");
        line(&mut host.log, "event=reload")
    }
}

#[test]
fn what_fails_of_new_disks_leaves_none_of_them_behind_and_later_ones_are_who_they_are() {
    let home = Home::new();
    let a = |share: &str| home.disk("a", &format!("share = {share}"));
    home.configure(&[a("1")]);
    let mut host = home.start();
    let missing = format!("fuse = '{}'", text(&home.at("no folder")));
    let told = home.reload(&mut host, &[a("1"), home.disk("b", &missing)]);
    assert!(
        told.contains("reload_failed") && told.contains("the old configuration stays in force"),
        "{told}"
    );
    assert!(!home.at("b.sock").exists(), "it is served though it failed");
    let told = home
        .reload(&mut host, &[a("1"), home.disk("e", ""), home.disk("f", "socket_group = 'no such group'")]);
    assert!(told.contains("reload_failed") && !home.at("e.sock").exists(), "{told}");
    let told = home.reload(&mut host, &[a("1"), home.disk("b", "share = 7")]);
    assert!(told.contains("event=reloaded") && home.at("b.sock").exists(), "{told}");
    let all = [a("2"), home.disk("b", "share = 7"), home.disk("c", "share = 9")];
    assert!(home.reload(&mut host, &all).contains("event=reloaded"));
    let copied =
        Command::new("nbdcopy").args([&uri("c", &home.at("c.sock")), &text(&home.at("copy"))]).status();
    assert!(copied.expect("nbdcopy is there").success());
    let metrics = host.field("metrics").to_owned();
    eventually("the shares of all", || {
        let shown = shown(home.0.path(), &metrics);
        let has = |name: &str, share: &str| {
            let mut lines = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            lines.any(|words| words.first() == Some(&name) && words.get(1) == Some(&share))
        };
        has("a", "2") && has("b", "7") && has("c", "9")
    });
    host.stop();
}

#[test]
fn who_came_while_descriptors_were_out_is_served_when_there_are_some() {
    let home = Home::new();
    let (backing, socket) = (text(&home.at("disk")), text(&home.at("socket")));
    let disk = format!("--name d --backing {backing} --size 1M --nbd {socket} --metrics 127.0.0.1:0");
    let file = configured(&home.at("share.toml"), "[window]\nperiod = '50ms'\n");
    let serve = format!("ulimit -n 48; exec {} share disk {disk} {file}", env!("CARGO_BIN_EXE_evenkeel"));
    let mut command = Command::new("sh");
    command.args(["-c", &serve]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("a shell is there");
    let mut log = BufReader::new(process.stderr.take().expect("stderr is piped"));
    let serving = line(&mut log, "event=serving");
    let mut host = Host { process: Running(process), log, serving };
    let address = host.field("metrics").to_owned();
    let idle: Vec<TcpStream> =
        (0..60).map(|_| TcpStream::connect(&address).expect("the kernel keeps it")).collect();
    let open = || fs::read_dir(format!("/proc/{}/fd", host.process.0.id())).map_or(0, Iterator::count);
    eventually("the last descriptor", || open() >= 48);
    let mut client = UnixStream::connect(home.at("socket")).expect("the kernel keeps it");
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    assert!(line(&mut host.log, "event=crowded").contains("Too many open files"));
    drop(idle);
    let mut greeting = [0; 18];
    client.read_exact(&mut greeting).expect("a greeting");
    assert_eq!(&greeting[..8], b"NBDMAGIC");
    host.stop();
}
