//! Asks a server of this kind.

use crate::failure::{self, WithHint};
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A server is waited for so long: it may be on a machine that is at its limit.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest answer that is read: a thousand tenants with their histograms.
const ANSWER_MAX: u64 = 16 << 20;

/// Where a server of this kind listens, or is to listen.
pub fn place(address: &str) -> Result<SocketAddr> {
    let found = ToSocketAddrs::to_socket_addrs(address);
    let is_wrong = found.as_ref().is_err_and(|error| error.kind() == ErrorKind::InvalidInput);
    let found = found.with_context(|| format!("looking up {address}"));
    let found = if is_wrong { found.hint("write host:port, as 127.0.0.1:9307") } else { found };
    found?.next().with_context(|| format!("{address} has no address"))
}

/// Asks a server of this kind, or any that closes after its answer: code and body.
pub fn get(address: &str, path: &str) -> Result<(u16, String)> {
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
