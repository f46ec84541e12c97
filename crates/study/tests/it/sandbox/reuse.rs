//! A sandbox that is there already: reused as it is asked for, or refused with what stands against it.

use super::*;
use evenkeel_site::copy::Snapshot;

#[test]
fn no_server_starts_on_half_restored_data_until_they_are_restored() {
    let home = tempfile::tempdir().unwrap();
    let wanted = spec(home.path(), "a");
    let sandbox = up(&wanted).unwrap();
    let data = sandbox.dir().join("data");
    sandbox.down(&mut |_| {}).unwrap();
    let snapshot = Snapshot::take(&data, &home.path().join("copy")).unwrap();
    // What a kill in the middle of a restore leaves.
    std::fs::write(data.join("evenkeel-restoring"), "").unwrap();
    std::fs::remove_file(data.join("ibdata1")).unwrap();
    let refused = up(&wanted).map(drop).unwrap_err();
    assert!(matches!(&refused, SandboxError::HalfRestored { name, .. } if name == "a"), "{refused}");
    let told = |refused: &SandboxError, what: &str| refused.hint().is_some_and(|hint| hint.contains(what));
    assert!(told(&refused, "resume the study") && told(&refused, "evenkeel sandbox clean a"), "{refused}");
    std::fs::write(data.with_file_name("snapshot.study"), "20261121-one 1795000000").unwrap();
    let refused = up(&wanted).map(drop).unwrap_err();
    assert!(told(&refused, "`evenkeel runs 20261121-one`"), "{refused}");
    snapshot.restore().unwrap();
    assert!(up(&wanted).unwrap().check().is_ok());
}
