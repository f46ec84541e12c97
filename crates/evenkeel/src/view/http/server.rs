//! The server: a thread that accepts clients, and one for each of them. A client costs a thread, a descriptor, a request of some
//! kilobytes and its answer; where too many are there, the oldest one goes. So a client that is quick is answered, whatever
//! others do or leave undone.

use super::client::place;
use super::page::Page;
use anyhow::{Context, Result};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

/// More clients than ever watch one process.
pub const CLIENTS: usize = 16;
/// Longest request that is read; what a scraper sends has some hundred bytes.
pub const REQUEST_MAX: usize = 8 << 10;
/// A client that says nothing, or takes nothing, for so long is left: times that a machine at its limit does not reach.
const SILENCE: Duration = Duration::from_secs(30);
/// Time for a client to close after its answer: who closes first while bytes of the other are unread takes away the
/// answer's last bytes too.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often the thread looks for clients, and whether it should end.
const NAP: Duration = Duration::from_millis(50);

/// A running server; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address`; `answer` is called with the path of each GET, and must not wait.
    pub fn start(address: &str, answer: impl Fn(&str) -> Page + Send + 'static) -> Result<Self> {
        let listener = TcpListener::bind(place(address)?)
            .with_context(|| format!("listening on {address} for metrics"))?;
        listener.set_nonblocking(true)?;
        let (address, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let serve = move || serve(&listener, answer, &stopped);
        let thread = Builder::new().name("metrics".into()).spawn(serve)?;
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

fn serve(listener: &TcpListener, answer: impl Fn(&str) -> Page + Send + 'static, stop: &AtomicBool) {
    let answer = Arc::new(Mutex::new(answer));
    let mut clients: VecDeque<(Arc<TcpStream>, JoinHandle<()>)> = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        clients.retain(|(_, thread)| !thread.is_finished());
        // Nobody is there, no descriptor is left, or a client left while it waited: later is better than never.
        let Ok((stream, _)) = listener.accept() else {
            sleep(NAP);
            continue;
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
    while stream.read(&mut piece)? > 0 {}
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
