//! Disks by TLS, with the programs of others.

use crate::client::{Client, READ, option, tcp, unix};
use crate::disk::{DISK, Served};
use crate::{fill, pattern};
use evenkeel_share::server_tls;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output};

fn openssl(folder: &Path, arguments: &str) {
    let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

/// An authority, and certificates that it has signed, as libnbd names them.
fn certificates(folder: &Path) {
    openssl(
        folder,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
                     -keyout ca-key.pem -out ca-cert.pem",
    );
    for name in ["server", "client"] {
        openssl(
            folder,
            &format!(
                "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={name} -keyout {name}-key.pem -out {name}.csr"
            ),
        );
        fs::write(folder.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
        openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile names \
             -out {name}-cert.pem"
            ),
        );
    }
}

/// Disks by TLS; with `asks` for clients with a certificate alone.
fn served(asks: bool) -> Served {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name);
    let authorities = at("ca-cert.pem");
    let tls = server_tls(at("server-cert.pem"), at("server-key.pem"), asks.then_some(&*authorities)).unwrap();
    Served::start_with(folder, Some(tls))
}

fn uri(served: &Served, name: &str) -> String {
    let folder = served.folder.path().display();
    format!("nbds://localhost:{}/{name}?tls-certificates={folder}", served.engine.ports()[0])
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

#[test]
fn a_disk_is_copied_there_and_back_by_tls() {
    let served = served(true);
    let (there, back) = (served.folder.path().join("there"), served.folder.path().join("back"));
    fs::write(&there, pattern(5, DISK)).unwrap();
    let uri = uri(&served, "orders");
    for (from, to) in [(there.to_str().unwrap(), &*uri), (&*uri, back.to_str().unwrap())] {
        let done = run("nbdcopy", &["--connections=4", from, to]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert!(fs::read(back).unwrap() == pattern(5, DISK));
    assert!(*served.orders.bytes.lock().unwrap() == pattern(5, DISK));
}

#[test]
fn who_comes_without_tls_or_without_a_certificate_is_refused_over_tcp_and_not_at_a_socket() {
    let served = served(true);
    fill(&served);
    let plain = format!("nbd://localhost:{}/orders", served.engine.ports()[0]);
    assert!(!run("nbdinfo", &[&plain]).status.success(), "it is served without TLS");
    for file in ["client-cert.pem", "client-key.pem"] {
        fs::remove_file(served.folder.path().join(file)).unwrap();
    }
    assert!(!run("nbdinfo", &[&uri(&served, "orders")]).status.success(), "it has shown no certificate");
    let mut local = Client::open(unix(&served.path()), "orders");
    assert_eq!(local.ask(READ, 0, 512, 512).unwrap(), pattern(512, 512));
}

#[test]
fn words_in_front_of_tls_are_not_taken_for_the_clients() {
    let served = served(false);
    let mut stream = tcp(served.engine.ports()[0]);
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    // The wish for TLS, and behind it in one piece what somebody in between would like the client to have said.
    let sent = [&[0, 0, 0, 3][..], &option(5, &[]), &option(7, b"\0\0\0\x06orders\0\0")].concat();
    stream.write_all(&sent).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.windows(6).any(|bytes| bytes == b"orders"), "{rest:?}");
    assert!(rest.len() < 64, "only that TLS is possible, and how it ended: {rest:?}");
}
