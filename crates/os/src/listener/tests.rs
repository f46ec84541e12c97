//! Listeners come and go at the same path.

use super::*;
use std::os::unix::net::{UnixListener, UnixStream};

fn at(path: &Path) -> io::Result<Listener> {
    Listener::bind(&Address::Unix(path.to_owned()))
}

#[test]
fn the_file_of_a_socket_goes_with_its_listener_and_a_successors_stays() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("guard.sock");
    let first = at(&path).unwrap();
    assert!(at(&path).is_err(), "somebody listens there");
    // By another file under the same name, as a successor does that must not leave clients without a socket.
    let next = home.path().join("next.sock");
    let second = UnixListener::bind(&next).unwrap();
    fs::rename(&next, &path).unwrap();
    drop(first);
    assert!(UnixStream::connect(&path).is_ok(), "the successor's file is there");
    drop(second);
    // By removing the old one and binding anew.
    let third = at(&path).expect("nobody listens at the second one's file any more");
    fs::remove_file(&path).unwrap();
    let fourth = at(&path).unwrap();
    drop(third);
    assert!(UnixStream::connect(&path).is_ok());
    drop(fourth);
    assert!(!path.exists());
}

#[test]
fn a_socket_has_the_mode_and_the_group_that_it_is_given() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("disk.sock");
    let own = super::super::user().1;
    for (access, mode) in [
        (Access { mode: Some(0o600), group: None }, 0o600),
        (Access { mode: Some(0o666), group: None }, 0o666),
        (Access { mode: None, group: Some(own) }, 0o660),
    ] {
        let _listener = Listener::bind_for(&Address::Unix(path.clone()), access).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.mode() & 0o777, found.gid()), (mode, own));
    }
}

#[test]
fn what_is_no_socket_is_not_removed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("guard.sock");
    fs::write(&path, "of value").unwrap();
    assert!(at(&path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "of value");
}
