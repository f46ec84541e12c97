//! The server against clients that are slow, silent, endless, or many.

use super::{CLIENTS, REQUEST_MAX, *};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// What [`get`] brings in the end: a client that the machine holds up for too long is left, and may ask
/// again.
pub fn answer(address: &str, path: &str) -> (u16, String) {
    (0..30).find_map(|_| get(address, path).ok()).expect("an answer to one of thirty requests")
}

/// More than sockets keep of what nobody reads.
const BIG: usize = 12 << 20;

fn pages(path: &str) -> Page {
    match path {
        "/metrics" => Page::text(200, "x 1\n"),
        "/big" => Page::text(200, "x".repeat(BIG)),
        other => Page::text(404, format!("no {other}\n")),
    }
}

fn server() -> Server {
    Server::start("127.0.0.1:0", pages).expect("a port")
}

fn says(server: &Server, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.write_all(words).expect("room for a few bytes");
    stream
}

/// Whether the server has neither said anything nor closed.
fn is_waited_for(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    stream.read(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn pages_are_served_by_path() {
    let server = server();
    let address = server.address().to_string();
    assert_eq!(answer(&address, "/metrics?x=1"), (200, "x 1\n".to_owned()));
    assert_eq!(answer(&address, "/else"), (404, "no /else\n".to_owned()));
    assert_eq!(answer(&address, "/big").1.len(), BIG);
}

#[test]
fn a_quick_client_is_answered_while_ten_others_are_still_waited_for() {
    let server = server();
    let words: [&[u8]; 3] = [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: a\r\n"];
    let mut slow: Vec<TcpStream> = (0..10).map(|number| says(&server, words[number % 3])).collect();
    assert_eq!(answer(&server.address().to_string(), "/metrics").0, 200);
    assert!(slow.iter_mut().all(is_waited_for), "the answer did not wait for the end of another client");
}

#[test]
fn two_hundred_silent_clients_do_not_keep_a_quick_one_out() {
    let server = server();
    let mut slow: Vec<TcpStream> = (0..200).map(|_| says(&server, b"GET /metrics HT")).collect();
    for _ in 0..5 {
        assert_eq!(answer(&server.address().to_string(), "/metrics").0, 200);
    }
    let waited_for = slow.iter_mut().filter_map(|stream| is_waited_for(stream).then_some(())).count();
    assert!(
        (1..=CLIENTS).contains(&waited_for),
        "{waited_for} of 200 silent clients are kept, and {CLIENTS} at most may be"
    );
}

#[test]
fn a_page_that_panics_is_a_page_and_no_end() {
    let server = Server::start("127.0.0.1:0", |path: &str| match path {
        "/defect" => panic!("told to"),
        other => pages(other),
    });
    let address = server.as_ref().expect("a port").address().to_string();
    assert_eq!(answer(&address, "/defect").0, 500);
    assert_eq!(answer(&address, "/metrics").0, 200);
}

#[test]
fn what_is_no_request_ends_that_connection_alone() {
    let server = server();
    let endless = vec![b'a'; 4 * REQUEST_MAX];
    for garbage in [&b"\0\xff\n\n"[..], b"POST /metrics HTTP/1.1\r\n\r\nx=1", b"\n\n", b"GET\n\n", &endless] {
        let mut stream = says(&server, garbage);
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        assert!(said.starts_with("HTTP/1.1 405"), "{said:?}");
    }
    assert_eq!(answer(&server.address().to_string(), "/metrics").0, 200);
}
