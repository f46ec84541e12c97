//! One page is fetched by plain HTTP/1.1, bounded in time and size.

use super::super::error::ElsewhereError;
use super::super::lines::next_line;
use evenkeel_os::clock::Clock;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Bytes of a page at most; node_exporter's has some 100 KB.
pub(super) const PAGE_BYTES_MAX: usize = 8 << 20;
/// All of a page is there within this.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
const HEAD_LINES_MAX: usize = 200;
const HEAD_LINE_BYTES_MAX: usize = 8 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Url {
    host: String,
    port: u16,
    path: String,
}

impl Url {
    /// Reads `http://host:port/path`; 9100 and `/metrics` where they are left out.
    pub(in super::super) fn parse(text: &str) -> Result<Self, ElsewhereError> {
        let fail = |why| ElsewhereError::Url { url: crate::server::without_password(text), why };
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => return Err(fail("HTTPS is not supported")),
            _ => return Err(fail("it does not begin with http://")),
        };
        if text
            .chars()
            .any(|character| character.is_ascii_control() || character == ' ' || !character.is_ascii())
        {
            return Err(fail("it has blanks, control characters or letters beyond ASCII"));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (place, path) = rest.split_at(end);
        if place.contains('@') {
            return Err(fail("it has a login"));
        }
        let (host, port) = match place.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((host, rest))) => (host, rest.strip_prefix(':').unwrap_or(rest)),
            Some(None) => return Err(fail("a bracket is not closed")),
            None => place.split_once(':').unwrap_or((place, "")),
        };
        let port = if port.is_empty() { Ok(9100) } else { port.parse() };
        let path = path.split('#').next().unwrap_or_default();
        let path = match path {
            "" | "/" => "/metrics".to_owned(),
            path if path.starts_with('?') => format!("/metrics{path}"),
            path => path.to_owned(),
        };
        match port {
            Ok(port @ 1..) if !host.is_empty() => Ok(Self { host: host.to_owned(), port, path }),
            Ok(_) if host.is_empty() => Err(fail("it names no host")),
            _ => Err(fail("its port is not a number from 1 to 65535")),
        }
    }

    /// Its addresses; asked for once, because nobody bounds how long a name server takes.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }

    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "http://{}{}", self.authority(), self.path)
    }
}

pub(super) fn get(url: &Url, addresses: &[SocketAddr]) -> io::Result<String> {
    let clock = Clock::start();
    let stream = connect(addresses, &clock)?;
    let mut reader = BufReader::new(Deadline { stream, clock });
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: evenkeel\r\nAccept: text/plain;version=0.0.4\r\n\
         Accept-Encoding: identity\r\nConnection: close\r\n\r\n",
        url.path,
        url.authority()
    );
    reader.get_ref().stream.set_write_timeout(Some(left(&clock)?))?;
    reader.get_mut().stream.write_all(request.as_bytes())?;
    let body = match head(&mut reader)? {
        Length::Known(bytes) if bytes > PAGE_BYTES_MAX as u64 => return Err(too_large()),
        Length::Known(bytes) => exactly(&mut reader, bytes as usize)?,
        Length::Chunked => chunks(&mut reader)?,
        Length::ToTheEnd => to_the_end(&mut reader)?,
    };
    Ok(String::from_utf8_lossy(&body).into_owned())
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

fn too_large() -> io::Error {
    io::Error::other(format!("the page has more than {} MiB", PAGE_BYTES_MAX >> 20))
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

enum Length {
    Known(u64),
    Chunked,
    ToTheEnd,
}

fn head(reader: &mut impl BufRead) -> io::Result<Length> {
    let status = next_line(reader, HEAD_LINE_BYTES_MAX)?.unwrap_or_default();
    let code = status.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    match code {
        Some("200") => {}
        Some(code) if code.len() == 3 && code.bytes().all(|digit| digit.is_ascii_digit()) => {
            return Err(io::Error::other(format!("it answers {code}, not 200")));
        }
        _ => return Err(io::Error::other("it does not answer in HTTP")),
    }
    let mut length = Length::ToTheEnd;
    for _ in 0..HEAD_LINES_MAX {
        let line = line(reader)?;
        if line.is_empty() {
            return Ok(length);
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                let bytes =
                    value.parse().map_err(|_| io::Error::other("its Content-Length is not a number"))?;
                length = Length::Known(bytes);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => return skip(reader),
            "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                return Err(io::Error::other("the page is compressed, which was not asked for"));
            }
            _ => {}
        }
    }
    Err(io::Error::other(format!("it has more than {HEAD_LINES_MAX} headers")))
}

/// The rest of the headers of a page in chunks.
fn skip(reader: &mut impl BufRead) -> io::Result<Length> {
    for _ in 0..HEAD_LINES_MAX {
        if line(reader)?.is_empty() {
            return Ok(Length::Chunked);
        }
    }
    Err(io::Error::other(format!("it has more than {HEAD_LINES_MAX} headers")))
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    next_line(reader, HEAD_LINE_BYTES_MAX)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn exactly(reader: &mut impl Read, bytes: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    reader.by_ref().take(bytes as u64).read_to_end(&mut body)?;
    if body.len() == bytes { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn to_the_end(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    reader.by_ref().take(PAGE_BYTES_MAX as u64 + 1).read_to_end(&mut body)?;
    if body.len() > PAGE_BYTES_MAX { Err(too_large()) } else { Ok(body) }
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(reader)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| io::Error::other("a chunk has no length"))?;
        if size == 0 {
            return Ok(body);
        }
        if size > PAGE_BYTES_MAX - body.len() {
            return Err(too_large());
        }
        body.extend(exactly(reader, size)?);
        self::line(reader)?;
    }
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
        let mut reader = answer.as_bytes();
        let body = match head(&mut reader)? {
            Length::Known(bytes) => exactly(&mut reader, bytes as usize)?,
            Length::Chunked => chunks(&mut reader)?,
            Length::ToTheEnd => to_the_end(&mut reader)?,
        };
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn bodies_come_in_three_ways() {
        let ok = "HTTP/1.1 200 OK\r\n";
        assert_eq!(read(&format!("{ok}Content-Length: 3\r\n\r\nabcdef")).expect("a page"), "abc");
        assert_eq!(read(&format!("{ok}\r\nabcdef")).expect("a page"), "abcdef");
        let chunked =
            format!("{ok}Transfer-Encoding: chunked\r\nX: y\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n");
        assert_eq!(read(&chunked).expect("a page"), "abcde");
    }

    #[test]
    fn what_is_no_page_is_told() {
        for (answer, why) in [
            ("SSH-2.0-OpenSSH_9.2\r\n", "HTTP"),
            ("HTTP/1.1 302 Found\r\n\r\n", "302"),
            ("HTTP/1.1 \u{1b}c! no\r\n\r\n", "HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "compressed"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", "MiB"),
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
