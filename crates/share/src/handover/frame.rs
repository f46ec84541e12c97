//! What two processes say to each other: a kind, a length, and bytes; with some a socket.

use super::handed::HandedDoor;
use crate::front::nbd::Guest;
use evenkeel_os::address::Address;
use evenkeel_os::{Listener, Socket, receive_with, send_with};
use evenkeel_wire::nbd::Agreed;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// What both sides have to speak. Whoever changes the form changes this.
const VERSION: &[u8] = b"evenkeel handover 1";
/// Most bytes of a frame: far more than a client may hold.
const LENGTH_MAX: u32 = 1 << 30;
/// Bytes of the head of a frame: a kind and a length.
const HEAD: usize = 5;

/// A frame of the conversation between predecessor and successor.
pub(super) enum Frame {
    Asks,
    Refused(String),
    Report(Vec<u8>),
    Door(Box<HandedDoor>),
    Guest(Box<Guest>),
    All,
    Takes,
    Given,
}

const ASKS: u8 = 1;
const REFUSED: u8 = 2;
const REPORT: u8 = 3;
const DOOR: u8 = 4;
const GUEST: u8 = 5;
const ALL: u8 = 6;
const TAKES: u8 = 7;
const GIVEN: u8 = 8;

/// Flags of a client.
const STRUCTURED: u8 = 1;
const HOLES: u8 = 2;
const OVER: u8 = 4;

pub(super) fn send(stream: &mut UnixStream, frame: &Frame) -> io::Result<()> {
    match frame {
        Frame::Asks => put(stream, ASKS, &[VERSION], None),
        Frame::Refused(why) => put(stream, REFUSED, &[why.as_bytes()], None),
        Frame::Report(report) => put(stream, REPORT, &[report], None),
        Frame::Door(door) => send_door(stream, door),
        Frame::Guest(guest) => send_guest(stream, guest),
        Frame::All => put(stream, ALL, &[], None),
        Frame::Takes => put(stream, TAKES, &[], None),
        Frame::Given => put(stream, GIVEN, &[], None),
    }
}

pub(super) fn send_door(stream: &mut UnixStream, door: &HandedDoor) -> io::Result<()> {
    let (kind, address) = match &door.address {
        Address::Unix(path) => (0, path.as_os_str().as_bytes().to_vec()),
        tcp @ Address::Tcp { .. } => (1, tcp.to_string().into_bytes()),
    };
    let disk = door.disk.as_deref().unwrap_or_default().as_bytes();
    let parts = [&[kind][..], &length(&address), &address, disk];
    put(stream, DOOR, &parts, Some(door.listener.as_raw_fd()))
}

pub(super) fn send_guest(stream: &mut UnixStream, guest: &Guest) -> io::Result<()> {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let agreed = flag(guest.agreed.structured, STRUCTURED) | flag(guest.agreed.holes, HOLES);
    let flags = agreed | flag(guest.over, OVER);
    let (disk, unread) = (guest.disk.as_bytes(), &guest.unread);
    let parts = [&[flags][..], &length(disk), disk, &length(unread), unread, &guest.unsent];
    put(stream, GUEST, &parts, Some(guest.socket.as_raw_fd()))
}

fn length(bytes: &[u8]) -> [u8; 4] {
    // What is longer than that is refused by whoever reads the frame.
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes()
}

fn put(stream: &UnixStream, kind: u8, parts: &[&[u8]], passed: Option<RawFd>) -> io::Result<()> {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let bytes = u32::try_from(bytes).map_err(|_| ErrorKind::InvalidInput)?;
    send_with(stream, &[&[kind][..], &bytes.to_le_bytes()].concat(), passed)?;
    parts.iter().try_for_each(|part| send_with(stream, part, None))
}

/// The next word; one that is none is an error.
pub(super) fn receive(stream: &mut UnixStream) -> io::Result<Frame> {
    let mut head = [0; HEAD];
    let passed = receive_with(stream, &mut head)?;
    let bytes = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    if bytes > LENGTH_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = Vec::new();
    // As much memory as really comes.
    stream.take(bytes.into()).read_to_end(&mut body)?;
    if body.len() != bytes as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    understand(head[0], body, passed).ok_or_else(|| ErrorKind::InvalidData.into())
}

fn understand(kind: u8, body: Vec<u8>, passed: Option<OwnedFd>) -> Option<Frame> {
    Some(match (kind, passed) {
        (ASKS, None) if body == VERSION => Frame::Asks,
        (REFUSED, None) => Frame::Refused(String::from_utf8_lossy(&body).into_owned()),
        (REPORT, None) => Frame::Report(body),
        (DOOR, Some(fd)) => Frame::Door(Box::new(door(&body, fd)?)),
        (GUEST, Some(fd)) => Frame::Guest(Box::new(guest(&body, fd)?)),
        (ALL, None) => Frame::All,
        (TAKES, None) => Frame::Takes,
        (GIVEN, None) => Frame::Given,
        _ => return None,
    })
}

fn door(body: &[u8], fd: OwnedFd) -> Option<HandedDoor> {
    let (kind, rest) = body.split_first()?;
    let (address, disk) = string(rest)?;
    let address = match kind {
        0 => Address::Unix(PathBuf::from(OsStr::from_bytes(address))),
        _ => std::str::from_utf8(address).ok()?.parse().ok()?,
    };
    let disk = std::str::from_utf8(disk).ok()?;
    let disk = (!disk.is_empty()).then(|| disk.to_owned());
    Some(HandedDoor { listener: Listener::passed(fd, &address), address, disk })
}

fn guest(body: &[u8], fd: OwnedFd) -> Option<Guest> {
    let (flags, rest) = body.split_first()?;
    let (disk, rest) = string(rest)?;
    let (unread, unsent) = string(rest)?;
    Some(Guest {
        socket: Socket::passed(fd),
        disk: std::str::from_utf8(disk).ok()?.to_owned(),
        agreed: Agreed { structured: flags & STRUCTURED != 0, holes: flags & HOLES != 0 },
        over: flags & OVER != 0,
        unread: unread.to_vec(),
        unsent: unsent.to_vec(),
    })
}

/// Bytes behind their length, and what follows them.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_arrives_as_it_was_sent() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let (socket, _) = UnixStream::pair().unwrap();
        let guest = Guest {
            socket: Socket::passed(socket.into()),
            disk: "orders".to_owned(),
            agreed: Agreed { structured: true, holes: false },
            over: true,
            unread: vec![7; 300_000],
            unsent: vec![8; 5],
        };
        let sending = std::thread::spawn(move || send(&mut here, &Frame::Guest(Box::new(guest))).unwrap());
        let Frame::Guest(seen) = receive(&mut there).unwrap() else { panic!("no client") };
        sending.join().unwrap();
        assert_eq!((seen.disk.as_str(), seen.over), ("orders", true));
        assert_eq!(seen.agreed, Agreed { structured: true, holes: false });
        assert_eq!((seen.unread, seen.unsent), (vec![7; 300_000], vec![8; 5]));
    }

    #[test]
    fn words_that_are_none_are_errors() {
        let cut = [GUEST, 3, 0, 0, 0, 1, 9, 9];
        for bytes in [
            &[ASKS, 1, 0, 0, 0, b'x'][..],
            &[99, 0, 0, 0, 0],
            &[ALL, 0xff, 0xff, 0xff, 0xff],
            &[REPORT, 9, 0, 0, 0, 1],
            &[DOOR, 0, 0, 0, 0],
            &cut,
        ] {
            let (here, mut there) = UnixStream::pair().unwrap();
            send_with(&here, bytes, None).unwrap();
            drop(here);
            assert!(receive(&mut there).is_err(), "{bytes:?}");
        }
        let (socket, _) = UnixStream::pair().unwrap();
        assert!(understand(GUEST, vec![1, 9, 9], Some(socket.into())).is_none(), "it has no name");
    }
}
