//! A tiny HTTP server for metrics, everything bounded.

use crate::failure;
use crate::failure::WithHint;
use anyhow::{Context, Result, bail};
use evenkeel_os::{Background, Until};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A server is waited for so long: it may be on a machine that is at its limit.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest answer that is read: a thousand tenants with their histograms.
const ANSWER_MAX: u64 = 16 << 20;

/// Where a server of this kind listens, or is to listen.
fn place(address: &str) -> Result<SocketAddr> {
    let found = ToSocketAddrs::to_socket_addrs(address);
    let is_wrong = found.as_ref().is_err_and(|error| error.kind() == ErrorKind::InvalidInput);
    let found = found.with_context(|| format!("looking up {address}"));
    let found = if is_wrong { found.hint("write host:port, as 127.0.0.1:9307") } else { found };
    found?.next().with_context(|| format!("{address} has no address"))
}

/// Asks a server of this kind, or any that closes after its answer: code and body.
fn get(address: &str, path: &str) -> Result<(u16, String)> {
    let place = place(address)?;
    let mut stream =
        TcpStream::connect_timeout(&place, ANSWER).with_context(|| format!("connecting to {address}"))?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer).with_context(|| format!("reading from {address}"))?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").context("the answer is not HTTP")?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).context("the answer is not HTTP")?;
    Ok((code, body.to_owned()))
}

/// What a server of this kind answers in JSON; `hint` is for where there is none.
pub fn get_json<T: DeserializeOwned>(address: &str, path: &str, hint: &str) -> Result<T> {
    let answer = get(address, path);
    let known = answer.as_ref().err().and_then(failure::hint);
    let (code, body) = answer.hint(known.unwrap_or_else(|| hint.to_owned()))?;
    if code != 200 {
        bail!("{address} answers {code}: {}", body.trim());
    }
    serde_json::from_str(&body).hint(hint)
}

// The server: a thread that accepts clients, and one for each of them. A client costs a thread, a descriptor, a request of some
// kilobytes and its answer; where too many are there, the oldest one goes. So a client that is quick is answered, whatever
// others do or leave undone.

/// More clients than ever watch one process.
const CLIENTS: usize = 64;
/// Longest request that is read; what a scraper sends has some hundred bytes.
const REQUEST_MAX: usize = 8 << 10;
/// A client that says nothing, or takes nothing, for so long is left: times that a machine at its limit does not reach.
const SILENCE: Duration = Duration::from_secs(30);
/// Time for a client to close after its answer: who closes first while bytes of the other are unread takes away the
/// answer's last bytes too.
const FAREWELL: Duration = Duration::from_secs(1);
const FAREWELL_PIECES: usize = 64;
/// How often the thread looks for clients, and whether it should end.
const NAP: Duration = Duration::from_millis(50);

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    _serving: Background<()>,
}

impl Server {
    /// Listens on `address`; `answer` is called with the path of each GET, and must not wait.
    pub fn start(address: &str, answer: impl Fn(&str) -> Page + Send + 'static) -> Result<Self> {
        let listener = TcpListener::bind(place(address)?)
            .with_context(|| format!("listening on {address} for metrics"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let serving = Background::start("metrics", move |until| serve(&listener, answer, until))?;
        Ok(Self { address, _serving: serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn serve(listener: &TcpListener, answer: impl Fn(&str) -> Page + Send + 'static, until: &Until) {
    let answer = Arc::new(Mutex::new(answer));
    let mut clients: VecDeque<(Arc<TcpStream>, JoinHandle<()>)> = VecDeque::new();
    loop {
        clients.retain(|(_, thread)| !thread.is_finished());
        // Nobody is there, no descriptor is left, or a client left while it waited: later is better than never.
        let Ok((stream, _)) = listener.accept() else {
            if until.wait(NAP) {
                continue;
            }
            break;
        };
        let stream = Arc::new(stream);
        if clients.len() >= CLIENTS
            && let Some((oldest, _)) = clients.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let (client, answer) = (Arc::clone(&stream), Arc::clone(&answer));
        // A client that fails or goes away is its own affair.
        let talk = move || drop(talk(&client, &answer));
        if let Ok(thread) = Builder::new().name("metrics".into()).spawn(talk) {
            clients.push_back((stream, thread));
        }
    }
    for (client, _) in clients {
        let _ = client.shutdown(Shutdown::Both);
    }
}

/// Reads a request until it is whole, or too long to be one, and answers it.
fn talk(mut stream: &TcpStream, answer: &Mutex<impl Fn(&str) -> Page>) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let (mut request, mut piece) = (Vec::new(), [0; 1024]);
    while request.len() < REQUEST_MAX && !is_whole(&request) {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    let page = match path(&request) {
        None => Page::text(405, "only GET is answered\n"),
        Some(path) => {
            let answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
            // Where making it panics one page is lost, not the server.
            catch_unwind(AssertUnwindSafe(|| (*answer)(path)))
                .unwrap_or_else(|_| Page::text(500, "a defect: this page cannot be created\n"))
        }
    };
    stream.write_all((page.head() + &page.body).as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(FAREWELL))?;
    // Who goes on talking is left.
    for _ in 0..FAREWELL_PIECES {
        if stream.read(&mut piece)? == 0 {
            break;
        }
    }
    Ok(())
}

fn is_whole(request: &[u8]) -> bool {
    request.windows(4).any(|four| four == b"\r\n\r\n") || request.windows(2).any(|two| two == b"\n\n")
}

fn path(request: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(request.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.split_ascii_whitespace();
    (words.next()? == "GET").then_some(())?;
    words.next()?.split('?').next()
}

/// An answer to a client: a page, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// 200, 404 or 503, say.
    pub code: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Page {
    pub fn text(code: u16, body: impl Into<String>) -> Self {
        Self { code, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    /// For Prometheus.
    pub fn metrics(body: String) -> Self {
        Self { code: 200, content_type: "text/plain; version=0.0.4; charset=utf-8", body }
    }

    pub fn json(value: &Value) -> Self {
        Self { code: 200, content_type: "application/json", body: value.to_string() }
    }

    fn head(&self) -> String {
        let reason = match self.code {
            200 => "OK",
            404 => "Not Found",
            405 => "Method Not Allowed",
            500 => "Internal Server Error",
            _ => "Service Unavailable",
        };
        format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.code,
            self.content_type,
            self.body.len()
        )
    }
}

#[cfg(test)]
pub mod tests {
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
        for garbage in
            [&b"\0\xff\n\n"[..], b"POST /metrics HTTP/1.1\r\n\r\nx=1", b"\n\n", b"GET\n\n", &endless]
        {
            let mut stream = says(&server, garbage);
            let mut said = String::new();
            stream.read_to_string(&mut said).expect("an answer");
            assert!(said.starts_with("HTTP/1.1 405"), "{said:?}");
        }
        assert_eq!(answer(&server.address().to_string(), "/metrics").0, 200);
    }
}
