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
    /// Errors: `TimedOut`, or what the system says.
    pub fn connect(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(address, limit)?;
        socket.set_nodelay(true)?;
        keep_alive(&socket)?;
        Ok(Self { socket, tls: None })
    }

    /// Connects to a unix socket.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        let socket = TcpStream::from(OwnedFd::from(UnixStream::connect(path)?));
        Ok(Self { socket, tls: None })
    }

    /// Does the handshake of TLS; from now on all goes through it.
    /// Errors: `InvalidData` where TLS itself fails, or what the system says.
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
    /// Errors: a limit of no time at all, or what the system says.
    pub fn limit_waits(&self, limit: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(limit)?;
        self.socket.set_write_timeout(limit)
    }

    /// The socket for another thread, which may end what this one waits for.
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
mod tests {
    use super::*;
    use crate::tls::{BackendMode, BackendTls, ClientTls, Identity, TlsMode};
    use std::io::ErrorKind;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc;
    use std::thread;

    const LIMIT: Duration = Duration::from_secs(10);

    /// A channel, and what its listener got.
    fn connected() -> (Channel, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let channel = Channel::connect(&listener.local_addr().unwrap(), LIMIT).unwrap();
        (channel, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_go_both_ways_by_either_kind_of_socket() {
        let (mut channel, mut other) = connected();
        assert_eq!(channel.cable().unwrap().port(), Some(other.peer_addr().unwrap().port()));
        channel.write_all(b"ask").unwrap();
        let mut bytes = [0; 3];
        other.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"ask");

        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut channel = Channel::connect_unix(&path).unwrap();
        assert_eq!(channel.cable().unwrap().port(), None);
        listener.accept().unwrap().0.write_all(b"say").unwrap();
        channel.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"say");
        assert_eq!(channel.read(&mut bytes).unwrap(), 0, "the other side has gone");
    }

    #[test]
    fn a_read_waits_as_long_as_it_may_and_ends_when_the_cable_is_cut() {
        let (mut channel, _other) = connected();
        channel.limit_waits(Some(Duration::from_millis(20))).unwrap();
        let error = channel.read(&mut [0]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");

        channel.limit_waits(None).unwrap();
        let cable = channel.cable().unwrap();
        let reader = thread::spawn(move || channel.read(&mut [0]));
        cable.cut();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    }

    #[test]
    fn bytes_go_both_ways_through_tls_and_plain_bytes_end_it() {
        let clients = ClientTls { mode: TlsMode::Required, identity: Some(Identity::SelfSigned) };
        let any = BackendTls { mode: Some(BackendMode::Required), authorities: None };
        let setup = TlsSetup::new(&clients, &any, "localhost").unwrap();
        let (mut channel, mut other) = connected();
        let mut server = setup.accept().unwrap();
        let (was_read, reads) = mpsc::channel();
        let answering = thread::spawn(move || {
            while server.is_handshaking() {
                server.complete_io(&mut other).unwrap();
            }
            let mut asked = [0; 3];
            // Nothing to read is an error here, until something has come.
            while server.reader().read(&mut asked).is_err() {
                server.complete_io(&mut other).unwrap();
            }
            server.writer().write_all(&asked).unwrap();
            server.complete_io(&mut other).unwrap();
            // Plain bytes that come together with the answer would end it before it is read.
            reads.recv().unwrap();
            other.write_all(b"\x15plain bytes").unwrap();
        });
        channel.start_tls(&setup).unwrap();
        channel.write_all(b"ask").unwrap();
        let mut answer = [0; 3];
        channel.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"ask");
        was_read.send(()).unwrap();
        assert_eq!(channel.read(&mut answer).unwrap_err().kind(), ErrorKind::InvalidData);
        answering.join().unwrap();
    }

    #[test]
    fn a_server_that_speaks_no_tls_is_told_as_such() {
        let setup = TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "localhost").unwrap();
        let (mut channel, mut other) = connected();
        other.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap();
        assert_eq!(channel.start_tls(&setup).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
