//! Programs that others have made.

use crate::disk::{DISK, Served};
use crate::{fill, pattern};
use std::fs;
use std::process::Command;

/// What a program says, once it has ended well.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {} {error}", done.status);
    String::from_utf8(done.stdout).unwrap()
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
    assert!(!Command::new("nbdinfo").arg(served.uri("nobody")).output().unwrap().status.success());
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
    assert!(!Command::new("nbdinfo").arg(uri("archive")).output().unwrap().status.success());
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
