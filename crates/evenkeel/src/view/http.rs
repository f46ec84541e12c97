//! A tiny HTTP server for metrics: one thread, one request at a time, everything bounded.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest request that is read; what a scraper sends has some hundred bytes.
const REQUEST_MAX: usize = 8 << 10;
/// A client that is slower than this is left.
const PATIENCE: Duration = Duration::from_secs(2);
/// A server is waited for longer: it answers one after the other, on a machine that may be at its limit.
const ANSWER: Duration = Duration::from_secs(10);
/// How often the thread looks whether it should end.
const NAP: Duration = Duration::from_millis(50);

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// 200, 404 or 503.
    pub code: u16,
    /// Its media type.
    pub content_type: &'static str,
    /// The text.
    pub body: String,
}

impl Page {
    /// Plain text.
    pub fn text(code: u16, body: impl Into<String>) -> Self {
        Self { code, content_type: "text/plain; charset=utf-8", body: body.into() }
    }
}

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address`; `answer` is called with the path of each GET.
    pub fn start(address: &str, answer: impl Fn(&str) -> Page + Send + 'static) -> Result<Self> {
        let listener =
            TcpListener::bind(address).with_context(|| format!("listening on {address} for metrics"))?;
        listener.set_nonblocking(true)?;
        let (address, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let serve = move || serve(&listener, &stopped, &answer);
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(serve)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in it has been told already.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, stop: &AtomicBool, answer: &dyn Fn(&str) -> Page) {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            // A client that fails or goes away is its own affair.
            Ok((stream, _)) => drop(converse(stream, answer)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(NAP),
            // Out of files, or a connection that ended while it waited: later is better than never.
            Err(_) => std::thread::sleep(NAP),
        }
    }
}

fn converse(mut stream: TcpStream, answer: &dyn Fn(&str) -> Page) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let clock = crate::clock::Clock::start();
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !is_whole(&request) {
        let late = std::time::Duration::from(clock.now()) > PATIENCE;
        if late || request.len() >= REQUEST_MAX {
            return Ok(());
        }
        match stream.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => request.extend_from_slice(&piece[..count]),
            // Stopped and continued while it waited.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let page = match path(&request) {
        Some(path) => answer(path),
        None => Page::text(405, "only GET is answered\n"),
    };
    stream.write_all(head(&page).as_bytes())?;
    stream.write_all(page.body.as_bytes())
}

fn is_whole(request: &[u8]) -> bool {
    request.windows(4).any(|four| four == b"\r\n\r\n") || request.windows(2).any(|two| two == b"\n\n")
}

/// The path of a GET, without its query.
fn path(request: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(request.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.split_ascii_whitespace();
    (words.next()? == "GET").then_some(())?;
    words.next()?.split('?').next()
}

fn head(page: &Page) -> String {
    let reason = match page.code {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    };
    format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.code,
        page.content_type,
        page.body.len()
    )
}

/// Asks a server of this kind, or any that closes after its answer: code and body.
pub fn get(address: &str, path: &str) -> Result<(u16, String)> {
    let place = std::net::ToSocketAddrs::to_socket_addrs(address)
        .with_context(|| format!("looking up {address}"))?
        .next()
        .with_context(|| format!("{address} has no address"))?;
    let mut stream =
        TcpStream::connect_timeout(&place, ANSWER).with_context(|| format!("connecting to {address}"))?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer).with_context(|| format!("reading from {address}"))?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").context("the answer is no HTTP")?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).context("the answer is no HTTP")?;
    Ok((code, body.to_owned()))
}

/// Longest answer that [`get`] reads: a thousand tenants with their histograms.
const ANSWER_MAX: u64 = 16 << 20;

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What [`get`] brings in the end: a client that the machine holds up for too long is left, and may ask
    /// again.
    pub fn answer(address: &str, path: &str) -> (u16, String) {
        (0..30).find_map(|_| get(address, path).ok()).expect("an answer to one of thirty requests")
    }

    fn server() -> Server {
        let answer = |path: &str| match path {
            "/metrics" => Page::text(200, "x 1\n"),
            other => Page::text(404, format!("no {other}\n")),
        };
        Server::start("127.0.0.1:0", answer).expect("a port")
    }

    #[test]
    fn pages_are_served_by_path() {
        let server = server();
        let address = server.address().to_string();
        assert_eq!(answer(&address, "/metrics?x=1"), (200, "x 1\n".to_owned()));
        assert_eq!(answer(&address, "/else"), (404, "no /else\n".to_owned()));
    }

    #[test]
    fn what_is_no_request_ends_that_connection_alone() {
        let server = server();
        for garbage in [&b"\0\xff\n\n"[..], b"POST /metrics HTTP/1.1\r\n\r\n", b"\n\n", b"GET\n\n"] {
            let said = || -> std::io::Result<String> {
                let mut stream = TcpStream::connect(server.address())?;
                stream.write_all(garbage)?;
                let mut said = String::new();
                stream.read_to_string(&mut said).map(|_| said)
            };
            // Nothing is said to who was too slow.
            let said = (0..30).find_map(|_| said().ok().filter(|said| !said.is_empty()));
            assert!(said.as_ref().is_some_and(|said| said.starts_with("HTTP/1.1 405")), "{said:?}");
        }
        let mut endless = TcpStream::connect(server.address()).unwrap();
        // More than is read: the server may have closed before all is written.
        let _ = endless.write_all(&vec![b'a'; 4 * REQUEST_MAX]);
        assert_eq!(answer(&server.address().to_string(), "/metrics").0, 200);
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let server = server();
        let address = server.address().to_string();
        let error = Server::start(&address, |_| Page::text(200, "")).err().expect("taken");
        assert!(format!("{error:#}").contains(&address), "{error:#}");
    }

    #[test]
    fn the_port_is_free_once_the_server_is_dropped() {
        let address = server().address().to_string();
        assert!(get(&address, "/metrics").is_err());
    }
}
