//! The first words of a server.

use evenkeel_guard::proxy::Address;
use evenkeel_wire::relay::hello::ServerHello;
use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest greeting that is read; one has about a hundred bytes.
const GREETING_MAX: usize = 4 << 10;

/// Connects to the server; each of its addresses, and each read afterwards, may take `patience`.
fn connect(backend: &Address, patience: Duration) -> io::Result<Box<dyn Read>> {
    let (host, port) = match backend {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(patience))?;
            return Ok(Box::new(stream));
        }
        Address::Tcp { host, port } => (host.as_str(), *port),
    };
    let mut failed = io::Error::other("no address of that name");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_read_timeout(Some(patience))?;
                return Ok(Box::new(stream));
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

pub fn offers_tls(backend: &Address, patience: Duration) -> io::Result<bool> {
    read(&mut *connect(backend, patience)?)
}

fn read(stream: &mut dyn Read) -> io::Result<bool> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    if length > GREETING_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    // What is no greeting is an error in place of one: too many connections, a host that is blocked.
    let hello = ServerHello::parse(payload).map_err(io::Error::other)?;
    Ok(hello.offers_tls())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greeting of a MariaDB 10.11 with the capabilities given in its lower half.
    fn greeting(low: u16) -> Vec<u8> {
        let mut payload = b"\x0a10.11.14-MariaDB\0\x01\0\0\0abcdefgh\0".to_vec();
        payload.extend(low.to_le_bytes());
        payload.extend(b"\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0");
        let mut packet = vec![payload.len() as u8, 0, 0, 0];
        packet.append(&mut payload);
        packet
    }

    #[test]
    fn a_greeting_says_whether_there_is_tls() {
        assert!(read(&mut &greeting(0xfffe)[..]).unwrap());
        assert!(!read(&mut &greeting(0xf7fe)[..]).unwrap());
    }

    #[test]
    fn what_is_no_greeting_says_nothing() {
        let whole = greeting(0xfffe);
        for bytes in [&b""[..], b"\x03\0\0\0\xff\x10\x04", b"\xff\xff\xff\0", &whole[..whole.len() / 2]] {
            assert!(read(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}
