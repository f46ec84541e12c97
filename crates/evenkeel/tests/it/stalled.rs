//! A server that lets everybody in and never answers one statement, as one does that waits for a lock.

use crate::cli::command;
use crate::guard::server::Server;
use crate::patience::found;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The statement that never gets to the server.
const LOST: &[u8] = b"SHOW GLOBAL VARIABLES";

/// Passes bytes on until that statement comes, and says that it came; the connection stays open.
fn pass(mut from: TcpStream, mut to: TcpStream, came: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if bytes[..count].windows(LOST.len()).any(|window| window == LOST) {
            came.store(true, Ordering::Relaxed);
        } else if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// An address by which a server is reached, but for that statement.
fn way(server: String, came: &Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let came = Arc::clone(came);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(&server) else { return };
            let (asks, answers) = (client.try_clone().expect("it"), server.try_clone().expect("it"));
            let (one, other) = (Arc::clone(&came), Arc::clone(&came));
            thread::spawn(move || pass(asks, server, &one));
            thread::spawn(move || pass(answers, client, &other));
        }
    });
    address
}

#[test]
fn a_load_ends_at_sigterm_while_the_server_says_nothing_to_its_own_connection() {
    let server = Server::up(&[]);
    let workload = server.file("one.toml");
    fs::write(&workload, "name = \"one\"\n[[statement]]\nname = \"one\"\nsql = \"SELECT 1\"\n")
        .expect("a file");
    let came = Arc::new(AtomicBool::new(false));
    let url = format!("mysql://app@{}/shop", way(server.address(), &came));
    let mut load = command(&server.file("home"), &["-q", "load", &url, "--rate", "10", "--workload"]);
    let load = load.arg(&workload).stdout(Stdio::null()).stderr(Stdio::null());
    let mut load = load.spawn().expect("the binary can be started");
    found("the statement", || came.load(Ordering::Relaxed).then_some(()));
    let told = Command::new("kill").arg(load.id().to_string()).status().expect("kill");
    assert!(told.success());
    let status = found("the end of the load", || load.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(143), "{status}");
}
