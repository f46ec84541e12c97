//! One page is fetched by plain HTTP/1.0, which has no chunks, bounded in time and size.

use super::super::error::ElsewhereError;
use crate::server::{Address, without_password};
use evenkeel_os::clock::Clock;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Bytes of an answer at most; node_exporter's page has some 100 KB.
const BYTES_MAX: usize = 8 << 20;
/// All of a page is there within this.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Url {
    address: Address,
    path: String,
}

impl Url {
    /// Reads `http://host:port/path`; 9100 and `/metrics` where they are left out.
    pub(in super::super) fn parse(text: &str) -> Result<Self, ElsewhereError> {
        let fail = |why| ElsewhereError::Url { url: without_password(text), why };
        if text.starts_with("https://") {
            return Err(fail("HTTPS is not supported"));
        }
        let rest = text.strip_prefix("http://").ok_or_else(|| fail("it does not begin with http://"))?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(fail("it has blanks, control characters or letters beyond ASCII"));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (place, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if place.contains('@') {
            return Err(fail("it has a login"));
        }
        let has_port = place.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        let place = if has_port { place.to_owned() } else { format!("{place}:9100") };
        let path = match path {
            "" | "/" => "/metrics".to_owned(),
            path if path.starts_with('?') => format!("/metrics{path}"),
            path => path.to_owned(),
        };
        match place.parse::<Address>() {
            Ok(address @ Address::Tcp { port: 1.., .. }) => Ok(Self { address, path }),
            _ => Err(fail("it names no host, or its port is not a number from 1 to 65535")),
        }
    }

    /// Its addresses; asked for once, because nobody bounds how long a name server takes.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let Address::Tcp { host, port } = &self.address else { return Ok(Vec::new()) };
        Ok((host.as_str(), *port).to_socket_addrs()?.collect())
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "http://{}{}", self.address, self.path)
    }
}

pub(super) fn get(url: &Url, addresses: &[SocketAddr]) -> io::Result<String> {
    let clock = Clock::start();
    let mut stream = connect(addresses, &clock)?;
    let request = format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nUser-Agent: evenkeel\r\nAccept: text/plain;version=0.0.4\r\n\
         Connection: close\r\n\r\n",
        url.path, url.address
    );
    stream.set_write_timeout(Some(left(&clock)?))?;
    stream.write_all(request.as_bytes())?;
    page(Deadline { stream, clock })
}

/// A stream whose every read ends with the time for the whole page.
struct Deadline {
    stream: TcpStream,
    clock: Clock,
}

impl Read for Deadline {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(&self.clock)?))?;
        self.stream.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(),
            _ => error,
        })
    }
}

fn left(clock: &Clock) -> io::Result<Duration> {
    let left = PATIENCE.saturating_sub(clock.now().into());
    if left.is_zero() { Err(late()) } else { Ok(left) }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no complete answer within {} s", PATIENCE.as_secs()))
}

fn connect(addresses: &[SocketAddr], clock: &Clock) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, left(clock)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The page in an answer that ends with its stream.
fn page(stream: impl Read) -> io::Result<String> {
    let mut answer = Vec::new();
    stream.take(BYTES_MAX as u64 + 1).read_to_end(&mut answer)?;
    if answer.len() > BYTES_MAX {
        return Err(io::Error::other(format!("the page has more than {} MiB", BYTES_MAX >> 20)));
    }
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(answer.len());
    let (head, body) = (String::from_utf8_lossy(&answer[..end]), answer.get(end + 4..));
    let code = head.strip_prefix("HTTP/1.").and_then(|rest| rest.split([' ', '\r']).nth(1));
    match code {
        Some("200") => {}
        Some(code) if code.len() == 3 && code.bytes().all(|digit| digit.is_ascii_digit()) => {
            return Err(io::Error::other(format!("it answers {code}, not 200")));
        }
        _ => return Err(io::Error::other("it does not answer in HTTP")),
    }
    let body = body.ok_or(io::ErrorKind::UnexpectedEof)?;
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let is_whole = || value.trim().parse().is_ok_and(|bytes: usize| bytes <= body.len());
        match name.to_ascii_lowercase().as_str() {
            "content-length" if !is_whole() => return Err(io::ErrorKind::UnexpectedEof.into()),
            "content-encoding" | "transfer-encoding" if value.trim() != "identity" => {
                return Err(io::Error::other("the page is compressed or in chunks, which was not asked for"));
            }
            _ => {}
        }
    }
    Ok(String::from_utf8_lossy(body).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_its_defaults() {
        for (text, shown) in [
            ("http://db1:9100/metrics", "http://db1:9100/metrics"),
            ("http://db1", "http://db1:9100/metrics"),
            ("http://[::1]:80/m?collect[]=cpu#x", "http://[::1]:80/m?collect[]=cpu"),
        ] {
            assert_eq!(Url::parse(text).expect(text).to_string(), shown);
        }
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_a_way_out_and_without_its_password() {
        for text in [
            "https://db1:9100",
            "db1:9100",
            "http://",
            "http://a:b@db1/",
            "http://db1:0",
            "http://db1:x",
            "http://a b",
        ] {
            let error = Url::parse(text).expect_err(text);
            assert!(error.hint().is_some_and(|hint| hint.contains("http://db1:9100/metrics")), "{error}");
        }
        let error = Url::parse("https://me:s3cret@db1/").expect_err("HTTPS").to_string();
        assert!(error.contains("HTTPS") && !error.contains("s3cret"), "{error}");
    }

    fn read(answer: &str) -> io::Result<String> {
        page(answer.as_bytes())
    }

    #[test]
    fn a_page_ends_with_its_stream() {
        let ok = "HTTP/1.1 200 OK\r\n";
        assert_eq!(read(&format!("{ok}Content-Length: 6\r\n\r\nabcdef")).expect("a page"), "abcdef");
        assert_eq!(read(&format!("{ok}\r\nabcdef")).expect("a page"), "abcdef");
    }

    #[test]
    fn what_is_no_page_is_told() {
        for (answer, why) in [
            ("SSH-2.0-OpenSSH_9.2\r\n", "HTTP"),
            ("HTTP/1.1 302 Found\r\n\r\n", "302"),
            ("HTTP/1.1 \u{1b}c! no\r\n\r\n", "HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "compressed"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "end of file"),
            ("", "HTTP"),
            ("garbage", "HTTP"),
            ("HTTP/1.1 200 OK\r\nX: y\r\n", "end of file"),
        ] {
            let error = read(answer).expect_err(answer).to_string();
            assert!(error.contains(why), "{answer}: {error}");
        }
    }
}
