//! Homes whose paths are not plain: a sandbox comes up, is loaded and goes down, or the home is refused.

use crate::cli::{evenkeel, refused};
use crate::sandbox::{Down, done, measured};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn a_home_may_have_a_space_quotes_and_signs_that_option_files_and_shells_know() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let home = &folder.path().join("a 'b' \"c\" #d %e $HOME `f` \\n ü *?");
    let _down = Down(home);
    done(home, &["sandbox", "up", "a", "--ebs", "1", "--items", "100"]);
    measured(home, &["load", "sandbox:a", "--rate", "20", "--duration", "1s", "--warm-up", "0s"]);
    done(home, &["data", "check", "sandbox:a"]);
    let asked = done(home, &["sandbox", "shell", "a", "--", "-rNe", "SELECT @@datadir"]);
    assert_eq!(
        asked.trim_end().trim_end_matches('/'),
        home.join("sandboxes/a/data").to_str().expect("UTF-8")
    );
    done(home, &["sandbox", "down", "a"]);
    // A second start finds the data directory of the first one.
    done(home, &["sandbox", "up", "a"]);
    done(home, &["sandbox", "down", "a"]);
    done(home, &["sandbox", "clean", "--yes"]);
}

#[test]
fn a_home_that_no_option_file_can_name_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for name in [&b"line\nend"[..], b"not UTF-8 \xff", b"colon:here"] {
        let home = folder.path().join(OsStr::from_bytes(name));
        let text = refused(&home, &["sandbox", "up", "a"]);
        assert!(text.contains("hint: ") && text.contains("--home"), "{text}");
        assert!(!home.join("sandboxes/a/data").exists() && !home.exists(), "{text}");
        // What needs no server does not care.
        assert!(evenkeel(&home, &["runs"]).status.success());
    }
}
