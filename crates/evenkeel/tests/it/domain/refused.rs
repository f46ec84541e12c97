//! Domains on machines that lack something: told with a way out, and nothing is left of them. A machine lacks it in a mount namespace of
//! ours, where something else is mounted over it.

use super::{home, there};
use crate::cli::{ended, evenkeel, eventually, found, piped, text, words};
use crate::left_out::left_out;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// As root, after this shell script in a mount namespace; `$HERE` is an empty folder, `$HOME` the one of sandboxes. `None` for others.
fn after(script: &str, home: &Path, arguments: &str) -> Option<Output> {
    if evenkeel_os::user().0 != 0 {
        left_out("only root can make a mount namespace");
        return None;
    }
    let here = tempfile::tempdir().expect("a temporary directory");
    let script = format!("set -e\n{script}\nexec \"$0\" --home \"$HOME\" \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    command.arg(env!("CARGO_BIN_EXE_evenkeel")).args(words(arguments));
    Some(command.env("HERE", here.path()).env("HOME", home).output().expect("unshare"))
}

/// Takes a program out of its folder.
fn without(program: &str) -> String {
    format!(
        "mount --bind /dev/null \"$(readlink -f \"$(PATH=$PATH:/usr/sbin:/sbin command -v {program})\")\""
    )
}

/// Folders of sandboxes.
fn sandboxes(home: &Path) -> Vec<PathBuf> {
    let entries = home.join("sandboxes").read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Groups are looked for by the folder of their sandbox.
const NO_PROCESS: u32 = u32::MAX;

const NO_LOOP: &str =
    "mount -t tmpfs none $HERE; cp -a /dev/null /dev/zero /dev/urandom $HERE; mount --bind $HERE /dev";
const SMALL: &str = "mount -t tmpfs -o size=400M none $HOME";
/// Something else where the controller of memory is mounted, and the controller in another folder, or nowhere.
const MOUNTED_OVER: &str =
    "for at in $(awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts); do mount -t tmpfs none $at; done";
const MOUNTED_TWICE: &str = "if grep -q '^[^ ]* [^ ]* cgroup .*memory' /proc/mounts; then mount -t cgroup -o memory none $HERE; \
                             else mount -t cgroup2 none $HERE; fi";

#[test]
fn what_a_machine_lacks_is_told_with_a_way_out_and_no_sandbox_is_left() {
    for (script, flags, told, hint) in [
        (
            &without("mkfs.xfs")[..],
            "--at file-disk=600M:xfs",
            "there is no mkfs.xfs, which is in the package xfsprogs",
            "install it",
        ),
        (&without("ip"), "--at net", "there is no ip, which is in the package iproute2", "install it"),
        (SMALL, "--at file-disk=600M", "MiB free, need 600 MiB", "free space"),
        (SMALL, "--at disk-iops=300", "is not on a single disk", "a folder on a disk by --home"),
        (NO_LOOP, "--at file-disk=600M", "no loop device is left", "modprobe loop"),
        (
            MOUNTED_OVER,
            "--at memory=300M",
            "this system has no memory cgroup controller",
            "mount the controller",
        ),
        (AS_NOBODY, "--at net", "only root may do that", "as root"),
        (AS_NOBODY, "--at file-disk=600M", "only root may do that", "as root"),
        (AS_NOBODY, "--at quota=50%", "cannot set quota=50%: ", "as root"),
    ] {
        let home = home();
        let Some(output) = after(script, home.path(), &format!("sandbox up a {flags}")) else { return };
        let error = ended(&output, 2).1;
        assert!(error.contains(told) && error.contains(hint), "{flags}: {error}");
        assert_eq!(
            (sandboxes(home.path()).len(), there(home.path(), None, NO_PROCESS)),
            (0, vec![]),
            "{flags}: {error}"
        );
    }
}

/// Who is root no more, in a folder that is its own.
const AS_NOBODY: &str = "chown 65534 \"$HOME\"; \
                         set -- --reuid=65534 --regid=65534 --clear-groups \"$0\" --home \"$HOME\" \"$@\"; exec setpriv \"$@\"";

#[test]
fn a_controller_that_is_mounted_twice_limits_all_the_same() {
    let home = home();
    let script = format!("{MOUNTED_TWICE}\n\"$0\" --home \"$HOME\" sandbox up a --at memory=300M");
    let Some(output) = after(&script, home.path(), "sandbox down a") else { return };
    let told = ended(&output, 0).1;
    assert!(told.contains("memory=300M holds"), "{told}");
    assert_eq!(groups(home.path()).len(), 0, "{:?}", groups(home.path()));
}

/// What tells a sandbox of this folder from others (FNV-1a).
fn number(folder: &Path) -> u32 {
    let bytes = folder.to_str().expect("UTF-8").bytes();
    let add = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.fold(0xcbf2_9ce4_8422_2325, add) as u32
}

/// Control groups of sandboxes of a home.
fn groups(home: &Path) -> Vec<PathBuf> {
    let numbers: Vec<_> = sandboxes(home).iter().map(|folder| format!("-{:08x}-", number(folder))).collect();
    let all = super::group_folders().into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let all = all.flatten().flatten().map(|entry| entry.path());
    all.filter(|path| numbers.iter().any(|number| path.to_string_lossy().contains(number))).collect()
}

#[test]
fn a_port_in_use_is_refused_and_no_sandbox_is_left() {
    let home = home();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output = evenkeel(home.path(), &["sandbox", "up", "a", "--port", &port]);
    let told = ended(&output, 2).1;
    assert!(told.contains(&format!("port {port} is taken")) && told.contains("leave the port out"), "{told}");
    assert_eq!(sandboxes(home.path()).len(), 0);
}

#[test]
fn a_job_whose_program_is_missing_is_refused_before_any_server_starts() {
    let home = home();
    let Some(output) = after(&without("fio"), home.path(), "-q interfere --jobs read --jobs idle,disk")
    else {
        return;
    };
    let told = ended(&output, 2).1;
    assert!(
        told.contains("there is no fio, which the job disk needs") && told.contains("apt install fio"),
        "{told}"
    );
    assert_eq!(
        (sandboxes(home.path()).len(), home.path().join("runs").read_dir().map_or(0, Iterator::count)),
        (0, 0)
    );
}

const DOMAINS: &str = "-q interfere --at quota=50%,file-disk=600M,net --at memory=400M,file-disk=600M:btrfs --jobs write \
                       --repeats 3 --seconds 1 --rows 1000 --name tiny";

/// Servers of a home, by process.
fn servers(home: &Path) -> Vec<i32> {
    let pid = |folder: PathBuf| fs::read_to_string(folder.join("server.pid")).ok()?.trim().parse().ok();
    sandboxes(home).into_iter().filter_map(pid).collect()
}

/// Mounts, interfaces, groups and servers of a home.
fn left(home: &Path) -> Vec<String> {
    let members = sandboxes(home).into_iter().map(|folder| format!("evk{:08x}", number(&folder)));
    let mut found: Vec<String> = members.flat_map(|name| there(home, Some(&name), NO_PROCESS)).collect();
    found.extend(groups(home).into_iter().map(|path| path.display().to_string()));
    let is_alive = |pid: &i32| Path::new("/proc").join(pid.to_string()).exists();
    found.extend(servers(home).into_iter().filter(is_alive).map(|pid| format!("server {pid}")));
    found
}

#[test]
fn an_interfere_that_is_killed_in_any_phase_leaves_no_server_and_nothing_of_its_domains() {
    if evenkeel_os::user().0 != 0 {
        return left_out("only root can make such domains");
    }
    for phase in ["a file disk", "a server", "two servers", "a run"] {
        let home = home();
        let mut study = piped(home.path(), &words(DOMAINS));
        let is_reached = || match phase {
            "a file disk" => sandboxes(home.path()).iter().any(|folder| folder.join("disk.img").exists()),
            "a server" => servers(home.path()).len() == 1,
            "two servers" => servers(home.path()).len() == 2,
            _ => home.path().join("runs/tiny/runs").read_dir().is_ok_and(|all| all.count() > 0),
        };
        let mut is_over = || study.try_wait().expect("a process").is_some();
        let is_in_time = found(phase, || is_reached().then_some(true).or(is_over().then_some(false)));
        study.kill().expect("a signal");
        let told = text(&study.wait_with_output().expect("an end")).1;
        assert!(is_in_time, "{phase}: {told}");
        eventually(&format!("the end of its domains ({phase})"), || left(home.path()).is_empty());
    }
}

#[test]
fn a_server_that_dies_in_a_run_ends_the_study_with_a_reason_and_nothing_is_left() {
    let home = home();
    let line = "-q interfere --jobs write --repeats 5 --seconds 3 --rows 1000 --name tiny";
    let study = piped(home.path(), &words(line));
    eventually("a run", || home.path().join("runs/tiny/runs").read_dir().is_ok_and(|all| all.count() > 0));
    assert!(evenkeel_os::process::signal(servers(home.path())[0], 9));
    let told = text(&study.wait_with_output().expect("an end")).1;
    assert!(told.contains("was killed by signal 9") && told.contains("hint: "), "{told}");
    assert_eq!((sandboxes(home.path()).len(), there(home.path(), None, NO_PROCESS)), (0, vec![]));
}
