//! The server of these sessions is played here: it answers each command with what was laid out for it.

use super::*;
use evenkeel_core::random::{Random, Seed};
use evenkeel_wire::{CapabilityFlags, Parameter, ProtocolError};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const ERROR: &[u8] = b"\xff\x28\x04#42000You have an error";
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 3, 0];
const MORE: &[u8] = &[0xfe, 0, 0, 8, 0, 0, 0];

fn greeting() -> Vec<u8> {
    let offered = CapabilityFlags::all() - CapabilityFlags::CLIENT_SSL;
    let [a, b, c, d] = offered.bits().to_le_bytes();
    let mut payload = b"\x0a11.4.2-MariaDB\0\x07\0\0\0abcdefgh".to_vec();
    payload.extend_from_slice(&[0, a, b, 45, 2, 0, c, d, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    payload
}

fn definition(name: &str) -> Vec<u8> {
    let mut payload = b"\x03def\x01d\x01t\x01t".to_vec();
    payload.push(name.len() as u8);
    payload.extend_from_slice(name.as_bytes());
    payload.extend_from_slice(&[1, b'c', 12, 45, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0]);
    payload
}

fn row(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

/// An answer in packets from this number on.
fn packets(mut sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        packet::put(&mut out, &mut sequence, |out| out.extend_from_slice(payload));
    }
    out
}

fn rows(name: &str, texts: &[&str], end: &[u8]) -> Vec<u8> {
    let mut payloads = vec![vec![1], definition(name)];
    payloads.extend(texts.iter().map(|text| row(text)));
    payloads.push(end.to_vec());
    packets(1, &payloads.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn next_packet(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    socket.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    socket.read_exact(&mut payload).ok()?;
    Some(payload)
}

type Server = JoinHandle<Vec<Vec<u8>>>;

/// A session with a server that gives these answers, one for each packet that it gets, and then none; what it got is its end.
fn session(answers: Vec<Vec<u8>>) -> (Session, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(&packets(0, &[&greeting()])).unwrap();
        next_packet(&mut socket).unwrap();
        socket.write_all(&packets(2, &[OK])).unwrap();
        let (mut got, mut answers) = (Vec::new(), answers.into_iter());
        while let Some(command) = next_packet(&mut socket) {
            got.push(command);
            let _ = socket.write_all(&answers.next().unwrap_or_default());
        }
        got
    });
    let channel = Channel::connect(&address, Duration::from_secs(10)).unwrap();
    channel.limit_waits(Some(Duration::from_secs(20))).unwrap();
    let target = crate::server::Target::parse("mysql://u:p@127.0.0.1:1/d?tls=preferred").unwrap();
    (Session::open(channel, &target).unwrap(), server)
}

/// What the server got, once the session is closed.
fn got(session: Session, server: Server) -> Vec<Vec<u8>> {
    drop(session);
    server.join().unwrap()
}

fn texts(session: &mut Session) -> (Result<Outcome, SessionError>, Vec<String>) {
    let mut found = Vec::new();
    let outcome = session.query(
        "SELECT",
        Some(&mut |row| {
            for text in row.texts() {
                found.push(String::from_utf8_lossy(text?.unwrap_or(b"NULL")).into_owned());
            }
            Ok(())
        }),
    );
    (outcome, found)
}

#[test]
fn an_answer_brings_names_rows_and_warnings_and_the_session_ends_with_a_farewell() {
    let (mut session, server) = session(vec![rows("one", &["1", "2"], END), packets(1, &[OK])]);
    assert_eq!(session.id(), 7);
    let (outcome, found) = texts(&mut session);
    assert_eq!((outcome.unwrap().rows, session.warnings()), (2, 3));
    assert_eq!((session.names(), found), (&["one".to_owned()][..], vec!["1".to_owned(), "2".to_owned()]));
    session.ping().unwrap();
    assert_eq!(got(session, server), [b"\x03SELECT".to_vec(), vec![0x0e], vec![0x01]]);
}

#[test]
fn only_the_first_result_of_several_is_handed_out() {
    let first = rows("first", &["1"], MORE);
    let second = [&[1][..], &definition("second"), &row("2"), MORE, OK];
    let (mut session, _server) = session(vec![[first, packets(5, &second)].concat()]);
    let (outcome, found) = texts(&mut session);
    assert_eq!((outcome.unwrap().rows, found), (2, vec!["1".to_owned()]));
    assert_eq!(session.names(), ["first"]);
}

#[test]
fn after_an_error_of_the_server_or_of_the_taker_the_session_goes_on() {
    let answers = vec![rows("c", &["1"], ERROR), rows("c", &["1", "2", "3"], END), packets(1, &[OK])];
    let (mut session, _server) = session(answers);
    assert!(matches!(texts(&mut session).0, Err(SessionError::Server(error)) if error.code == 1064));
    let mut given = 0;
    let ended = session.query(
        "SELECT",
        Some(&mut |_| {
            given += 1;
            Err(SessionError::Enough(io::Error::other("enough")))
        }),
    );
    assert!(matches!(ended, Err(SessionError::Enough(_))));
    assert_eq!(given, 1);
    session.ping().unwrap();
}

#[test]
fn whoever_keeps_too_much_ends_the_session() {
    let (mut session, server) = session(vec![rows("c", &["1"], END)]);
    let ended = session.query("SELECT", Some(&mut |_| Err(SessionError::TooLarge(7))));
    assert_eq!(ended.unwrap_err().to_string(), "answer above the limit of 7 bytes");
    assert!(matches!(session.ping(), Err(SessionError::Io(_))));
    assert_eq!(got(session, server), [b"\x03SELECT"], "neither the ping nor a farewell");
}

#[test]
fn a_file_is_sent_to_its_end() {
    let wanted = packets(1, &[b"\xfbrows"]);
    let (mut session, server) = session(vec![wanted, Vec::new(), packets(4, &[OK])]);
    session.load("LOAD", &mut &b"1\n2\n"[..]).unwrap();
    assert_eq!(got(session, server), [&b"\x03LOAD"[..], b"1\n2\n", b"", &[0x01]]);
}

#[test]
fn a_failing_reader_is_told_apart_from_a_failing_server() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk"))
        }
    }
    let wanted = || packets(1, &[b"\xfbrows"]);
    let (mut broken, server) = session(vec![wanted()]);
    let error = broken.load("LOAD", &mut Broken).unwrap_err();
    assert!(matches!(&error, SessionError::File(error) if error.to_string() == "disk"), "{error}");
    assert_eq!(
        got(broken, server),
        [b"\x03LOAD"],
        "no end of the file, and nothing that could be taken for rows"
    );

    let (mut lost, _server) = session(vec![wanted()]);
    let cable = lost.cable().unwrap();
    let mut cutting = CutFirst(cable);
    assert!(matches!(lost.load("LOAD", &mut cutting), Err(SessionError::Io(_))));
}

/// A file that never ends, on whose first read the connection breaks.
struct CutFirst(Cable);

impl Read for CutFirst {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.cut();
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn a_server_that_asks_for_a_file_by_itself_gets_none() {
    let (mut session, server) = session(vec![packets(1, &[b"\xfb/etc/passwd"])]);
    let error = session.query("SELECT", None).unwrap_err();
    assert!(matches!(error, SessionError::Protocol(ProtocolError::LocalFile)), "{error}");
    assert_eq!(got(session, server), [b"\x03SELECT"]);
}

fn prepared(statement: u8, parameters: u8) -> Vec<u8> {
    let head = [0, statement, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0];
    let definitions = vec![definition("?"); parameters.into()];
    let payloads: Vec<&[u8]> = [&head[..]].into_iter().chain(definitions.iter().map(Vec::as_slice)).collect();
    packets(1, &payloads)
}

#[test]
fn a_statement_is_prepared_once_and_the_oldest_of_too_many_is_closed() {
    let mut answers: Vec<_> = (0..32).map(|statement| prepared(statement, 0)).collect();
    // The first is used again; the second is closed for the last, which is known to the server before.
    answers.extend([packets(1, &[OK]), Vec::new(), prepared(32, 0)]);
    let (mut session, server) = session(answers);
    for statement in 0..32 {
        session.prepare(&format!("DO {statement}")).unwrap();
    }
    session.execute("DO 0", &[], None).unwrap();
    session.prepare("DO 32").unwrap();
    let commands: Vec<_> = got(session, server)
        .into_iter()
        .skip(32)
        .map(|command| command[..2.min(command.len())].to_vec())
        .collect();
    assert_eq!(commands, [&[0x17, 0][..], &[0x19, 1], &[0x16, b'D'], &[0x01]]);
}

#[test]
fn a_wrong_number_of_parameters_is_not_sent() {
    let (mut session, server) = session(vec![prepared(1, 2)]);
    let error = session.execute("DO ? + ?", &[Parameter::Int(1)], None).unwrap_err();
    assert_eq!(error.to_string(), "statement takes 2 parameters, got 1");
    assert_eq!(got(session, server), [&b"\x16DO ? + ?"[..], &[0x01]]);
}

#[test]
fn garbage_is_an_error_or_an_answer_and_never_a_panic() {
    let mut random = Random::new(Seed(11));
    for _ in 0..300 {
        let mut answer = rows("c", &["1"], END);
        // Most go wrong somewhere in the middle; some are cut off, after which nothing comes.
        for _ in 0..1 + random.bits() % 3 {
            let at = random.bits() as usize % answer.len();
            answer[at] = random.bits() as u8;
        }
        let (mut session, _server) = session(vec![answer]);
        session.limit_waits(Some(Duration::from_millis(5))).unwrap();
        let _ = texts(&mut session);
    }
}
