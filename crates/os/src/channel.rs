//! A channel is a stream socket that waits, with TLS on it or without, for one conversation at a time.

use super::socket::set_option;
use crate::tls::TlsSetup;
use rustls::{ClientConnection, Stream};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Seconds after which the other machine is asked whether it is there.
const ALIVE_AFTER: libc::c_int = 30;

pub struct Channel {
    /// Of either kind: what is asked of a `TcpStream` here is the same for a unix socket.
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Channel {
    /// Connects by TCP within this time; the other machine is asked now and then whether it is there.
    ///
    /// # Errors
    /// `TimedOut`, or what the system says.
    pub fn connect(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(address, limit)?;
        socket.set_nodelay(true)?;
        keep_alive(&socket)?;
        Ok(Self { socket, tls: None })
    }

    /// Connects to a unix socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        let socket = TcpStream::from(OwnedFd::from(UnixStream::connect(path)?));
        Ok(Self { socket, tls: None })
    }

    /// Does the handshake of TLS; from now on all goes through it.
    ///
    /// # Errors
    /// `InvalidData` where TLS itself fails, or what the system says.
    pub fn start_tls(&mut self, setup: &TlsSetup) -> io::Result<()> {
        let failed = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut tls = setup.dial().map_err(failed)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut self.socket)?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// How long each read and each write may wait; `None` for as long as it takes.
    ///
    /// # Errors
    /// A limit of no time at all, or what the system says.
    pub fn limit_waits(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(limit)?;
        self.socket.set_write_timeout(limit)
    }

    /// The socket for another thread, which may end what this one waits for.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn cable(&self) -> io::Result<Cable> {
        self.socket.try_clone().map(Cable)
    }

    /// Ends it both ways.
    pub fn hang_up(&self) {
        hang_up(&self.socket);
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).read(buffer),
            None => self.socket.read(buffer),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).write(bytes),
            None => self.socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).flush(),
            None => Ok(()),
        }
    }
}

/// A channel's socket in another hand.
#[derive(Debug)]
pub struct Cable(TcpStream);

impl Cable {
    pub fn cut(&self) {
        hang_up(&self.0);
    }

    /// The port on this side, where it is one of TCP.
    pub fn port(&self) -> Option<u16> {
        self.0.local_addr().ok().map(|address| address.port())
    }
}

/// A socket whose other side has gone returns an error, which is no loss.
fn hang_up(socket: &TcpStream) {
    let _ = socket.shutdown(Shutdown::Both);
}

fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, ALIVE_AFTER)
}

#[cfg(test)]
mod tests;
