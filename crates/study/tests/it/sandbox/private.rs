//! A sandbox is its owner's alone, whatever it is asked for.

use super::*;

/// The program stands for any way round the names: a server that was started otherwise than the sandbox asked.
#[test]
fn a_server_that_asks_for_no_password_or_listens_to_others_is_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let first = up(&spec(home.path(), "a")).unwrap();
    first.down(&mut |_| {}).unwrap();
    for option in ["--skip-grant-tables", "--bind-address=*", "--skip-name-resolve=OFF"] {
        let program = home.path().join("mariadbd");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) set -- ;; esac\n\
             PATH=$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec\n\
             [ $# = 0 ] && exec mariadbd --no-defaults --version\nexec mariadbd \"$@\" {option}\n"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut pid = 0;
        let spec = SandboxSpec { server_binary: Some(program), ..spec(home.path(), "a") };
        let outcome = Sandbox::up(&spec, &Stop::default(), &mut |event| {
            if let SandboxEvent::Starting { pid: started } = event {
                pid = started;
            }
        });
        let (why, text) = failure(outcome.map(drop).unwrap_err());
        assert!(matches!(why, Failure::Open(_)), "{option}: {text}");
        assert!(pid > 0 && !is_alive(pid), "{option}: it was started, and is not any more");
    }
}
