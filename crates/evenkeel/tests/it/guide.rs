//! What the guide tells its reader to paste.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The first block of commands of a page.
fn first_block(page: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page));
    let text = text.expect("the page");
    text.split("```").nth(1).expect("a block of commands").to_owned()
}

#[test]
fn the_five_minutes_of_shares_can_be_pasted() {
    let folder = tempfile::tempdir().expect("a folder");
    let block = first_block("share.md")
        .replace("--runtime=60", "--runtime=3")
        .replace("127.0.0.1:930$n", "127.0.0.1:0")
        .replace("evenkeel share top 127.0.0.1:9302", "sleep 1");
    // The shell that read it ends its disks, by number and no other.
    // A client may have ended before it is waited for, and then it is no job any more.
    let script = format!(
        "{block}\nwhile [ $(jobs -pr | wc -l) -gt 2 ]; do sleep 0.1; done\nkill -TERM %1 %2 && wait\n"
    );
    let program = Path::new(env!("CARGO_BIN_EXE_evenkeel"));
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").expect("a path")
    );
    let mut shell = Command::new("bash");
    shell.args(["-m", "-c", &script]).env("PATH", path).current_dir(&folder).stdin(Stdio::null());
    let done = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    for client in ["fio1.txt", "fio2.txt"] {
        let told = fs::read_to_string(folder.path().join(client)).expect("what fio said");
        assert!(told.contains("err= 0") && told.contains("READ:"), "{client}: {told}\n{said}");
    }
    assert!(!folder.path().join("web1.sock").exists(), "a disk still serves: {said}");
}
