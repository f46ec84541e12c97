//! Programs that others have made, plain and by TLS.

use crate::client::{Client, READ, option, tcp, unix};
use crate::disk::{DISK, Served};
use crate::{fill, pattern};
use evenkeel_share::server_tls;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

/// What a program says, once it has ended well.
fn run(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {} {error}", done.status);
    String::from_utf8(done.stdout).unwrap()
}

fn is_refused(uri: &str) -> bool {
    !Command::new("nbdinfo").arg(uri).output().unwrap().status.success()
}

#[test]
fn nbdinfo_sees_what_a_disk_can_do() {
    let served = Served::start();
    let seen = run("nbdinfo", &["--json", &served.uri("orders")]);
    let expected = "protocol: newstyle-fixed, structured: false, export-size: 8388608, is_read_only: false, can_fua: true, \
                    can_multi_conn: true, can_trim: true, can_zero: true, block_size_preferred: 4096, \
                    block_size_maximum: 33554432";
    let seen = seen.replace('"', "");
    expected.split(", ").for_each(|line| assert!(seen.contains(line), "{line} is not in {seen}"));
    let read_only = run("nbdinfo", &["--json", &served.uri("archive")]);
    assert!(read_only.contains("\"is_read_only\": true") && read_only.contains("\"can_trim\": false"));
    let list = run("nbdinfo", &["--list", &served.uri("")]);
    assert!(list.contains("\"orders\"") && list.contains("\"archive\""), "{list}");
    assert!(is_refused(&served.uri("nobody")));
}

#[test]
fn the_socket_of_a_disk_has_that_disk_and_no_other() {
    let served = Served::start();
    let uri =
        |name: &str| format!("nbd+unix:///{name}?socket={}", served.folder.path().join("orders").display());
    let list = run("nbdinfo", &["--list", &uri("")]);
    assert!(list.contains("\"orders\"") && !list.contains("archive"), "{list}");
    for name in ["", "orders"] {
        assert!(run("nbdinfo", &["--json", &uri(name)]).contains("\"export-size\": 8388608"));
    }
    assert!(is_refused(&uri("archive")));
}

#[test]
fn nbdcopy_and_qemu_copy_a_disk_there_and_back() {
    let served = Served::start();
    let (there, back) = (served.folder.path().join("there"), served.folder.path().join("back"));
    let (there, back) = (there.to_str().unwrap(), back.to_str().unwrap());
    let uri = served.uri("orders");
    fs::write(there, pattern(5, DISK)).unwrap();
    run("nbdcopy", &["--flush", "--connections=4", there, &uri]);
    assert!(*served.orders.bytes.lock().unwrap() == pattern(5, DISK));
    run("nbdcopy", &[&uri, back]);
    assert!(fs::read(back).unwrap() == pattern(5, DISK));
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", there, &uri]);
    fill(&served);
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &uri, back]);
    assert!(fs::read(back).unwrap() == pattern(0, DISK));
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", there, &uri]);
    assert!(*served.orders.bytes.lock().unwrap() == pattern(5, DISK));
    run(
        "qemu-img",
        &["bench", "-w", "-f", "raw", "-c", "2000", "-d", "64", "-s", "8k", "--flush-interval=100", &uri],
    );
}

#[test]
fn fio_reads_what_it_has_written() {
    let served = Served::start();
    let uri = format!("--uri={}", served.uri("orders"));
    let job =
        ["--ioengine=nbd", &uri, "--name=verify", "--rw=randwrite", "--bsrange=512-64k", "--bs_unaligned=1"];
    let check = ["--iodepth=32", "--size=8M", "--verify=crc32c", "--do_verify=1", "--randseed=7"];
    let folder = format!("--aux-path={}", served.folder.path().display());
    let seen = run("fio", &[&job[..], &check, &["--verify_state_save=0", &folder]].concat());
    assert!(seen.contains("err= 0") && seen.contains("READ:"), "{seen}");
}

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
fn served_by_tls(asks: bool) -> Served {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name);
    let authorities = at("ca-cert.pem");
    let tls = server_tls(at("server-cert.pem"), at("server-key.pem"), asks.then_some(&*authorities)).unwrap();
    Served::start_with(folder, Some(tls))
}

fn tls_uri(served: &Served, name: &str) -> String {
    let folder = served.folder.path().display();
    format!("nbds://localhost:{}/{name}?tls-certificates={folder}", served.engine.ports()[0])
}

#[test]
fn a_disk_is_copied_there_and_back_by_tls() {
    let served = served_by_tls(true);
    let (there, back) = (served.folder.path().join("there"), served.folder.path().join("back"));
    fs::write(&there, pattern(5, DISK)).unwrap();
    let uri = tls_uri(&served, "orders");
    for (from, to) in [(there.to_str().unwrap(), &*uri), (&*uri, back.to_str().unwrap())] {
        run("nbdcopy", &["--connections=4", from, to]);
    }
    assert!(fs::read(back).unwrap() == pattern(5, DISK));
    assert!(*served.orders.bytes.lock().unwrap() == pattern(5, DISK));
}

#[test]
fn who_comes_without_tls_or_without_a_certificate_is_refused_over_tcp_and_not_at_a_socket() {
    let served = served_by_tls(true);
    fill(&served);
    let plain = format!("nbd://localhost:{}/orders", served.engine.ports()[0]);
    assert!(is_refused(&plain), "it is served without TLS");
    for file in ["client-cert.pem", "client-key.pem"] {
        fs::remove_file(served.folder.path().join(file)).unwrap();
    }
    assert!(is_refused(&tls_uri(&served, "orders")), "it has shown no certificate");
    let mut local = Client::open(unix(&served.path()), "orders");
    assert_eq!(local.ask(READ, 0, 512, 512).unwrap(), pattern(512, 512));
}

#[test]
fn words_in_front_of_tls_are_not_taken_for_the_clients() {
    let served = served_by_tls(false);
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
