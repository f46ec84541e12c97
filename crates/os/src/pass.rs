//! One process can send open descriptors to another, beside bytes.

use super::{Socket, check};
use std::io::{self, ErrorKind, Read};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Bytes of a descriptor in a control message.
const FD_BYTES: u32 = mem::size_of::<RawFd>() as u32;
/// Room for a control message with one descriptor, aligned as its head has to be.
const ROOM: usize = 8;

/// Sends all of the bytes, and a descriptor with the first of them. Both sides own it then.
pub fn send_with(stream: &UnixStream, bytes: &[u8], passed: Option<RawFd>) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match send_once(stream, &bytes[done..], passed.filter(|_| done == 0)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            sent => done += sent?,
        }
    }
    Ok(())
}

fn send_once(stream: &UnixStream, bytes: &[u8], passed: Option<RawFd>) -> io::Result<usize> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut room = [0_u64; ROOM];
    let mut message = message(&raw mut part);
    if let Some(fd) = passed {
        message.msg_control = room.as_mut_ptr().cast();
        // SAFETY: the room is larger than one descriptor with its head, and aligned for that; both macros stay in it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(FD_BYTES) as _;
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(FD_BYTES) as _;
            libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(fd);
        }
    }
    // SAFETY: the message, its part and its room live through the call, which only reads them.
    let sent = unsafe { libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Fills the buffer, and gives the descriptor that came with the first of its bytes, if one did.
pub fn receive_with(stream: &mut UnixStream, bytes: &mut [u8]) -> io::Result<Option<OwnedFd>> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut room = [0_u64; ROOM];
    let mut message = message(&raw mut part);
    message.msg_control = room.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of_val(&room) as _;
    let received = loop {
        // SAFETY: the message, its part and its room are variables of this function, written through the call.
        let received = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        match usize::try_from(received).map_err(|_| io::Error::last_os_error()) {
            // A process that was stopped and goes on, say.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => break received?,
        }
    };
    let passed = passed(&message);
    if received == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    stream.read_exact(&mut bytes[received..])?;
    Ok(passed)
}

/// The descriptor of a message that was received.
fn passed(message: &libc::msghdr) -> Option<OwnedFd> {
    // SAFETY: the kernel has written as much of the room as the message says; a descriptor in it is owned by nobody else.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(message);
        let is_fd = !head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_RIGHTS
            && (*head).cmsg_len as u64 >= u64::from(libc::CMSG_LEN(FD_BYTES));
        is_fd.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<RawFd>().read_unaligned()))
    }
}

fn message(part: *mut libc::iovec) -> libc::msghdr {
    // SAFETY: all zeroes are a valid msghdr: no address, no control data.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (part, 1);
    message
}

impl Socket {
    /// A stream socket that another process had.
    pub fn passed(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// As a stream that waits.
    pub fn into_waiting(self) -> io::Result<UnixStream> {
        let stream = UnixStream::from(self.0);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// The user of the process on the other side of a unix socket.
    pub fn peer_user(&self) -> io::Result<u32> {
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = mem::size_of_val(&peer) as libc::socklen_t;
        let value = (&raw mut peer).cast();
        // SAFETY: both pointers are to variables of this function, of the size told.
        check(unsafe {
            libc::getsockopt(self.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, value, &raw mut length)
        })?;
        Ok(peer.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_descriptor_arrives_with_the_bytes_it_was_sent_with() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let (mut first, second) = UnixStream::pair().unwrap();
        send_with(&here, b"plain", None).unwrap();
        send_with(&here, b"with one", Some(second.as_raw_fd())).unwrap();
        drop(second);
        let (mut plain, mut with) = ([0; 5], [0; 8]);
        assert!(receive_with(&mut there, &mut plain).unwrap().is_none());
        let passed = receive_with(&mut there, &mut with).unwrap().unwrap();
        assert_eq!((&plain, &with), (b"plain", b"with one"));
        UnixStream::from(passed).write_all(b"x").unwrap();
        let mut byte = [0];
        first.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
        drop(here);
        assert!(receive_with(&mut there, &mut plain).is_err(), "the end");
    }
}
