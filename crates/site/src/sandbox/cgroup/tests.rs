//! Groups in folders that look like those of both versions.

use super::*;

/// A directory that looks like version 2; the kernel's checks are not part of it.
fn fake_v2(offered: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("user/session");
    fs::create_dir_all(&own).unwrap();
    fs::write(dir.path().join("cgroup.controllers"), offered).unwrap();
    (dir, own)
}

#[test]
fn version_2_uses_the_nearest_group_above_that_offers_the_controllers() {
    let (dir, own) = fake_v2("cpuset cpu memory\n");
    let domain = "cpus=0-1,quota=50%,weight=400,memory=256M".parse().unwrap();
    let groups = create_v2(&own, "a", &domain).unwrap().unwrap();
    let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
    assert_eq!(read("cgroup.subtree_control"), "+cpuset +cpu +memory");
    assert_eq!(read("evenkeel/a/cpuset.cpus"), "0-1");
    assert_eq!(read("evenkeel/a/memory.max"), "268435456");
    assert_eq!(read("evenkeel/a/cpu.max"), "50000 100000");
    assert_eq!(read("evenkeel/a/cpu.weight"), "400");
    groups.set_quota(None).unwrap();
    assert_eq!(read("evenkeel/a/cpu.max"), "max 100000");
    assert_eq!(groups.set_memory(1 << 20).unwrap(), 1 << 20);
    assert!(groups.has("memory") && groups.groups()[0].path.ends_with("evenkeel/a"));
    groups.keep();
}

#[test]
fn in_version_2_a_sandbox_is_beside_the_others_since_weights_hold_only_there() {
    let (dir, own) = fake_v2("cpu\n");
    let domain = "weight=400".parse().unwrap();
    let first = create_v2(&own, "a", &domain).unwrap().unwrap();
    // As the kernel has it once that was handed down.
    fs::write(dir.path().join("user/cgroup.controllers"), "cpu\n").unwrap();
    let second = create_v2(&own, "b", &domain).unwrap().unwrap();
    assert!(second.groups()[0].path == dir.path().join("evenkeel/b"), "{second:?}");
    first.keep();
    second.keep();
}

#[test]
fn memory_cannot_be_limited_without_a_controller() {
    let (_dir, own) = fake_v2("pids\n");
    let domain = "memory=256M".parse().unwrap();
    assert!(create_v2(&own, "a", &domain).is_none());
    let error = create_v1(|_| None, "a", &domain).unwrap_err().to_string();
    assert_eq!(error, "cannot set memory=256M: this system has no memory cgroup controller");
}

#[test]
fn version_1_has_weights_as_shares_of_1024() {
    let dir = tempfile::tempdir().unwrap();
    for (file, usual) in [("cpu.shares", "1024"), ("cpu.cfs_quota_us", "-1")] {
        fs::write(dir.path().join(file), usual).unwrap();
    }
    set_time(dir.path(), &"quota=25%,weight=400".parse().unwrap()).unwrap();
    let read = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
    assert_eq!((read("cpu.shares"), read("cpu.cfs_quota_us")), ("4096".to_owned(), "25000".to_owned()));
}

#[test]
fn cpus_without_a_controller_are_left_to_the_affinity() {
    let groups = create_v1(|_| None, "a", &"cpus=0".parse().unwrap()).unwrap();
    assert!(groups.groups().is_empty() && !groups.has("cpuset"));
}
