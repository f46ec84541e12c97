//! Channels are opened to listeners of this process.

use super::*;
use crate::tls::{BackendMode, BackendTls, ClientTls, Identity, TlsMode};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;

const LIMIT: Duration = Duration::from_secs(10);

/// A channel, and what its listener got.
fn connected() -> (Channel, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let channel = Channel::connect(&listener.local_addr().unwrap(), LIMIT).unwrap();
    (channel, listener.accept().unwrap().0)
}

#[test]
fn bytes_go_both_ways_by_either_kind_of_socket() {
    let (mut channel, mut other) = connected();
    assert_eq!(channel.cable().unwrap().port(), Some(other.peer_addr().unwrap().port()));
    channel.write_all(b"ask").unwrap();
    let mut bytes = [0; 3];
    other.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ask");

    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let mut channel = Channel::connect_unix(&path).unwrap();
    assert_eq!(channel.cable().unwrap().port(), None);
    listener.accept().unwrap().0.write_all(b"say").unwrap();
    channel.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"say");
    assert_eq!(channel.read(&mut bytes).unwrap(), 0, "the other side has gone");
}

#[test]
fn a_read_waits_as_long_as_it_may_and_ends_when_the_cable_is_cut() {
    let (mut channel, _other) = connected();
    channel.limit_waits(Some(Duration::from_millis(20))).unwrap();
    let error = channel.read(&mut [0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");

    channel.limit_waits(None).unwrap();
    let cable = channel.cable().unwrap();
    let reader = thread::spawn(move || channel.read(&mut [0]));
    cable.cut();
    assert_eq!(reader.join().unwrap().unwrap(), 0);
}

#[test]
fn bytes_go_both_ways_through_tls_and_plain_bytes_end_it() {
    let clients = ClientTls { mode: TlsMode::Required, identity: Some(Identity::SelfSigned) };
    let any = BackendTls { mode: Some(BackendMode::Required), authorities: None };
    let setup = TlsSetup::new(&clients, &any, "localhost").unwrap();
    let (mut channel, mut other) = connected();
    let mut server = setup.accept().unwrap();
    let (was_read, reads) = mpsc::channel();
    let answering = thread::spawn(move || {
        while server.is_handshaking() {
            server.complete_io(&mut other).unwrap();
        }
        let mut asked = [0; 3];
        // Nothing to read is an error here, until something has come.
        while server.reader().read(&mut asked).is_err() {
            server.complete_io(&mut other).unwrap();
        }
        server.writer().write_all(&asked).unwrap();
        server.complete_io(&mut other).unwrap();
        // Plain bytes that come together with the answer would end it before it is read.
        reads.recv().unwrap();
        other.write_all(b"\x15plain bytes").unwrap();
    });
    channel.start_tls(&setup).unwrap();
    channel.write_all(b"ask").unwrap();
    let mut answer = [0; 3];
    channel.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"ask");
    was_read.send(()).unwrap();
    assert_eq!(channel.read(&mut answer).unwrap_err().kind(), ErrorKind::InvalidData);
    answering.join().unwrap();
}

#[test]
fn a_server_that_speaks_no_tls_is_told_as_such() {
    let setup = TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "localhost").unwrap();
    let (mut channel, mut other) = connected();
    other.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap();
    assert_eq!(channel.start_tls(&setup).unwrap_err().kind(), ErrorKind::InvalidData);
}
