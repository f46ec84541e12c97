//! CPUs and memory.

use super::{failure, spec, up, value};
use crate::left_out::left_out;
use evenkeel_os::Stop;
use evenkeel_sense::cpu::CpuOf;
use evenkeel_site::sandbox::{CpuSet, Failure, Sandbox, SandboxError, SandboxSpec};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn within(home: &Path, domain: &str) -> SandboxSpec {
    SandboxSpec { domain: domain.parse().unwrap(), ..spec(home, "a") }
}

fn status_line(pid: i32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().into()
}

#[test]
fn cpus_are_limited_also_after_a_restart_and_the_groups_are_removed() {
    let home = tempfile::tempdir().unwrap();
    let cpus: CpuSet = "1".parse().unwrap();
    let mut sandbox = up(&within(home.path(), "cpus=1")).unwrap();
    for _ in 0..2 {
        assert_eq!(status_line(sandbox.pid(), "Cpus_allowed_list"), "1");
        assert_eq!(sandbox.cpu_of(), CpuOf::Cpus(cpus.clone()));
        for group in sandbox.cgroups() {
            let members = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
            assert_eq!(members.trim(), sandbox.pid().to_string());
        }
        sandbox.restart(&BTreeMap::new(), &Stop::default(), &mut |_| {}).unwrap();
    }
    let groups = sandbox.cgroups().to_vec();
    sandbox.down(&mut |_| {}).unwrap();
    assert!(groups.iter().all(|group| !group.path.exists()), "{groups:?}");
}

/// Memory can be limited only where groups can be made: as root, with a memory controller.
#[test]
fn memory_is_limited_or_the_limit_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let limited = within(home.path(), "memory=400M");
    let sandbox = match up(&limited) {
        Ok(sandbox) => sandbox,
        Err(error @ SandboxError::Limit { .. }) => return left_out(error),
        Err(error) => panic!("{error}"),
    };
    let groups = sandbox.cgroups().to_vec();
    let group = groups.iter().find(|group| group.controllers.contains(&"memory".to_string())).unwrap();
    let limit = ["memory.limit_in_bytes", "memory.max"].map(|file| fs::read_to_string(group.path.join(file)));
    assert!(limit.into_iter().flatten().any(|text| text.trim() == (400 << 20).to_string()));
    assert_eq!(value(&sandbox, "SELECT 1"), "1");
    drop(sandbox);
    assert!(!group.path.exists());

    // A pool that the server fills at once cannot live in less memory than the pool.
    let mut tight = within(home.path(), "memory=24M");
    tight.settings.insert("innodb_buffer_pool_size".into(), "64M".into());
    let (found, text) = failure(up(&tight).err().unwrap());
    assert_eq!(found, Failure::OutOfMemory, "{text}");
    assert!(!group.path.exists());
}

/// Direct reads of written blocks a second that a server's own processes get, by what its kernel counts.
fn limit_of(group: &std::path::Path) -> String {
    let files =
        ["blkio.throttle.read_iops_device", "io.max"].map(|file| fs::read_to_string(group.join(file)));
    files.into_iter().flatten().collect()
}

/// I/Os can be held back only where groups can be made, on a disk that the kernel throttles.
#[test]
fn the_disk_is_held_back_while_the_server_is_up_or_the_limit_is_refused() {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let limited = within(home.path(), "disk-iops=300");
    let mut notes = Vec::new();
    let sandbox = match Sandbox::up(&limited, &Stop::default(), &mut |event| notes.push(format!("{event:?}")))
    {
        Ok(sandbox) => sandbox,
        Err(error @ SandboxError::Limit { .. }) => return left_out(error),
        Err(error) => panic!("{error}"),
    };
    assert!(notes.iter().any(|note| note.contains("300 I/Os per second on the disk of")), "{notes:?}");
    let groups = sandbox.cgroups().to_vec();
    let is_for_disks = |held: &String| held == "blkio" || held == "io";
    let group = groups.iter().find(|group| group.controllers.iter().any(is_for_disks)).unwrap();
    assert!(limit_of(&group.path).contains("300"), "{}", limit_of(&group.path));
    let members = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
    assert_eq!(members.trim(), sandbox.pid().to_string());
    sandbox.down(&mut |_| {}).unwrap();
    assert!(!group.path.exists());

    // It was proved, and is not tried again; another one is.
    let mut again = Vec::new();
    let sandbox =
        Sandbox::up(&limited, &Stop::default(), &mut |event| again.push(format!("{event:?}"))).unwrap();
    assert!(again.iter().all(|note| !note.contains("on the disk of")), "{again:?}");
    drop(sandbox);
}

#[test]
fn a_limit_that_the_disk_never_reaches_is_refused_and_so_is_one_in_memory() {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let error = up(&within(home.path(), "disk-iops=9000000")).err().unwrap().to_string();
    let is_told =
        |error: &str, why| [why, "cgroup controller", "ermission"].iter().any(|why| error.contains(why));
    assert!(
        error.starts_with("cannot set disk-iops=9000000: ") && is_told(&error, "would change nothing"),
        "{error}"
    );

    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return left_out("there is no /dev/shm") };
    let error = up(&within(memory.path(), "disk-iops=300")).err().unwrap().to_string();
    let begins = error.starts_with("cannot set disk-iops=300: ");
    assert!(begins && is_told(&error, "is not on a single disk"), "{error}");
}
