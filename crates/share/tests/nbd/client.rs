//! A client that says exactly what a test wants it to.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZERO: u16 = 6;
/// The flag that asks for durability.
pub const FUA: u16 = 1;

pub struct Client {
    pub stream: TcpStream,
}

/// An answer to one request, as it came.
#[derive(Debug, PartialEq)]
pub struct Answered {
    pub cookie: u64,
    pub error: u32,
    pub bytes: Vec<u8>,
}

pub fn unix(path: &Path) -> TcpStream {
    patient(UnixStream::connect(path).unwrap().into())
}

pub fn tcp(port: u16) -> TcpStream {
    patient(TcpStream::connect(("127.0.0.1", port)).unwrap().into())
}

/// A socket of either kind is read, written and ended by the same calls.
fn patient(socket: OwnedFd) -> TcpStream {
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [b"IHAVEOPT", &number.to_be_bytes()[..], &length, data].concat()
}

pub fn request(kind: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

impl Client {
    pub fn open(mut stream: TcpStream, name: &str) -> Self {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        let mut client = Self { stream };
        let mut choice = 3_u32.to_be_bytes().to_vec();
        let length = (name.len() as u32).to_be_bytes();
        choice.extend(option(7, &[&length, name.as_bytes(), &[0, 0]].concat()));
        client.send(&choice);
        let mut wanted = 1;
        while wanted > 0 {
            let head = client.exactly(20);
            let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
            assert!(number(12) < 1 << 31, "refused: {head:?}");
            wanted -= u32::from(number(12) == 1);
            client.exactly(number(16) as usize);
        }
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The next answer; so many bytes if it is to a read that was done.
    pub fn answer(&mut self, length: u32) -> Answered {
        let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        let head = self.exactly(16);
        assert_eq!(number(&head[..4]), 0x6744_6698);
        let error = number(&head[4..8]) as u32;
        let bytes = self.exactly(if error == 0 { length as usize } else { 0 });
        Answered { cookie: number(&head[8..]), error, bytes }
    }

    /// Asks for one thing and waits for its end: the bytes of a read, or the error.
    pub fn ask(&mut self, kind: u16, flags: u16, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        self.send(&request(kind, flags, 5, offset, length));
        self.ended(if kind == READ { length } else { 0 })
    }

    pub fn write(&mut self, flags: u16, offset: u64, bytes: &[u8]) -> Result<Vec<u8>, u32> {
        self.send(&[&request(WRITE, flags, 5, offset, bytes.len() as u32)[..], bytes].concat());
        self.ended(0)
    }

    fn ended(&mut self, length: u32) -> Result<Vec<u8>, u32> {
        let answer = self.answer(length);
        assert_eq!(answer.cookie, 5);
        if answer.error == 0 { Ok(answer.bytes) } else { Err(answer.error) }
    }

    /// Whether the server has ended the connection, with nothing left to read.
    pub fn is_ended(&mut self) -> bool {
        // A server that leaves with bytes unread resets the connection.
        read(&mut self.stream, &mut [0]).is_ok_and(|count| count == 0) || self.stream.write(&[0]).is_err()
    }
}

/// Reads what there is. A process that is stopped and goes on has its read with a timeout interrupted.
pub fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}
