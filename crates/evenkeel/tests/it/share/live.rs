//! A host that is out of descriptors.

use super::{Host, line, text};
use crate::cli::{Running, configured};
use crate::patience::eventually;
use std::fs;
use std::io::{BufReader, Read};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn who_came_while_descriptors_were_out_is_served_when_there_are_some() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (backing, socket) = (text(&home.path().join("disk")), text(&home.path().join("socket")));
    let disk = format!("--name d --backing {backing} --size 1M --nbd {socket}");
    let file = configured(&home.path().join("share.toml"), "[window]\nperiod = '50ms'\n");
    let serve = format!("ulimit -n 48; exec {} share disk {disk} {file}", env!("CARGO_BIN_EXE_evenkeel"));
    let mut command = Command::new("sh");
    command.args(["-c", &serve]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("a shell is there");
    let mut log = BufReader::new(process.stderr.take().expect("stderr is piped"));
    let serving = line(&mut log, "event=serving");
    let mut host = Host { process: Running(process), log, serving };
    let socket = home.path().join("socket");
    let idle: Vec<UnixStream> =
        (0..60).map(|_| UnixStream::connect(&socket).expect("the kernel keeps it")).collect();
    let open = || fs::read_dir(format!("/proc/{}/fd", host.process.0.id())).map_or(0, Iterator::count);
    eventually("the last descriptor", || open() >= 48);
    let mut client = UnixStream::connect(&socket).expect("the kernel keeps it");
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    assert!(line(&mut host.log, "event=crowded").contains("Too many open files"));
    drop(idle);
    let mut greeting = [0; 18];
    client.read_exact(&mut greeting).expect("a greeting");
    assert_eq!(&greeting[..8], b"NBDMAGIC");
    host.stop();
}
