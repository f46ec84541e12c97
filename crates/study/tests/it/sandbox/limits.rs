//! CPUs and memory.

use super::{failure, spec, up, value};
use crate::left_out::left_out;
use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::{CpuSet, Failure, SandboxError, SandboxSpec};
use std::collections::BTreeMap;
use std::fs;

fn status_line(pid: i32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().into()
}

#[test]
fn cpus_are_limited_also_after_a_restart_and_the_groups_are_removed() {
    let home = tempfile::tempdir().unwrap();
    let cpus: CpuSet = "1".parse().unwrap();
    let mut sandbox = up(&SandboxSpec { cpus: Some(cpus.clone()), ..spec(home.path(), "a") }).unwrap();
    for _ in 0..2 {
        assert_eq!(status_line(sandbox.pid(), "Cpus_allowed_list"), "1");
        let domain = sandbox.domain();
        assert_eq!((domain.pid, domain.cpus), (sandbox.pid(), Some(cpus.clone())));
        for group in &domain.cgroups {
            let members = fs::read_to_string(group.path.join("cgroup.procs")).unwrap();
            assert_eq!(members.trim(), sandbox.pid().to_string());
        }
        sandbox.restart(&BTreeMap::new(), &Stop::default(), &mut |_| {}).unwrap();
    }
    let groups = sandbox.domain().cgroups;
    sandbox.down(&mut |_| {}).unwrap();
    assert!(groups.iter().all(|group| !group.path.exists()), "{groups:?}");
}

#[test]
fn a_cpu_that_the_machine_does_not_have_is_refused() {
    let home = tempfile::tempdir().unwrap();
    for (cpus, refusal) in [
        ("0,1000", "cannot limit CPUs to 0,1000: this machine has CPUs 0"),
        ("", "cannot limit CPUs to none: a server needs at least one"),
    ] {
        let limited = SandboxSpec { cpus: Some(cpus.parse().unwrap()), ..spec(home.path(), "a") };
        let error = up(&limited).err().unwrap().to_string();
        assert!(error.starts_with(refusal), "{error}");
    }
}

/// Memory can be limited only where groups can be made: as root, with a memory controller.
#[test]
fn memory_is_limited_or_the_limit_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let limited = SandboxSpec { memory: Some(400 << 20), ..spec(home.path(), "a") };
    let sandbox = match up(&limited) {
        Ok(sandbox) => sandbox,
        Err(error @ SandboxError::Limit { .. }) => return left_out(error),
        Err(error) => panic!("{error}"),
    };
    let groups = sandbox.domain().cgroups;
    assert_eq!(sandbox.domain().memory, Some(400 << 20));
    let group = groups.iter().find(|group| group.controllers.contains(&"memory".to_string())).unwrap();
    let limit = ["memory.limit_in_bytes", "memory.max"].map(|file| fs::read_to_string(group.path.join(file)));
    assert!(limit.into_iter().flatten().any(|text| text.trim() == (400 << 20).to_string()));
    assert_eq!(value(&sandbox, "SELECT 1"), "1");
    drop(sandbox);
    assert!(!group.path.exists());

    // A pool that the server fills at once cannot live in less memory than the pool.
    let mut tight = SandboxSpec { memory: Some(24 << 20), ..spec(home.path(), "a") };
    tight.settings.insert("innodb_buffer_pool_size".into(), "64M".into());
    let (found, text) = failure(up(&tight).err().unwrap());
    assert_eq!(found, Failure::OutOfMemory, "{text}");
    assert!(!group.path.exists());
}
