//! The kernel can note when bytes came in, so that one who reads them late knows how late.

use super::socket::message;
use super::{Socket, clock};
use evenkeel_core::Nanos;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;

/// Bytes of an instant in a control message.
const INSTANT_BYTES: u32 = mem::size_of::<libc::timespec>() as u32;
/// Room for a control message with one instant, aligned as its head has to be.
const ROOM: usize = 8;

impl Socket {
    /// Has the kernel note when bytes come in. Sockets of TCP do; a unix socket takes the wish and notes nothing.
    /// Errors: the kernel has no such notes.
    pub fn stamp_arrivals(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
    }

    /// As [`Socket::receive`], and how long ago the last of these bytes came in, where the kernel noted it.
    /// Errors: `WouldBlock` where nothing is there, and what is wrong with the connection.
    pub fn receive_stamped(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<Nanos>)> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut room = [0_u64; ROOM];
        let mut message = message(&raw mut part, 1);
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&room) as _;
        // SAFETY: the message, its part and its room live through the call; the part is the caller's own buffer.
        let received = unsafe { libc::recvmsg(self.as_raw_fd(), &raw mut message, 0) };
        let count = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        // The clock of stamps is that of the day. Where somebody set it in between the age is wrong, and one below
        // zero becomes none.
        let age = stamp(&message).map(|stamped| clock::of_day() - stamped);
        Ok((count, age))
    }
}

/// The instant of a message that was received.
fn stamp(message: &libc::msghdr) -> Option<Nanos> {
    // SAFETY: the kernel has written as much of the room as the message says.
    let time = unsafe {
        let head = libc::CMSG_FIRSTHDR(message);
        let is_instant = !head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_TIMESTAMPNS
            && (*head).cmsg_len as u64 >= u64::from(libc::CMSG_LEN(INSTANT_BYTES));
        is_instant.then(|| libc::CMSG_DATA(head).cast::<libc::timespec>().read_unaligned())?
    };
    (time.tv_sec > 0).then(|| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;
    use crate::address::Address;
    use std::io::Write;
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Duration;

    const LAY: Duration = Duration::from_millis(20);
    const TRIES: usize = 100;

    fn received(socket: &Socket) -> (usize, Option<Nanos>) {
        let mut buffer = [0; 16];
        loop {
            match socket.receive_stamped(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                received => return received.unwrap(),
            }
        }
    }

    #[test]
    fn bytes_that_lay_there_for_a_while_are_at_least_as_old_as_that() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
        let socket = Socket::connect(&Endpoint::resolve(&address).unwrap()[0]).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        socket.stamp_arrivals().unwrap();
        // The kernel begins to note a moment after it was asked.
        let age = (0..TRIES).find_map(|_| {
            server.write_all(b"late").unwrap();
            thread::sleep(LAY);
            let (count, age) = received(&socket);
            assert_eq!(count, 4);
            age
        });
        let age = age.expect("TCP has stamps");
        assert!(age >= LAY.into() && age < Nanos::from_secs(600), "{age:?}");
    }

    #[test]
    fn bytes_of_a_unix_socket_have_no_stamp_and_come_all_the_same() {
        let (mut server, client) = UnixStream::pair().unwrap();
        let socket = Socket(client.into());
        socket.stamp_arrivals().unwrap();
        server.write_all(b"here").unwrap();
        assert_eq!(received(&socket), (4, None));
    }
}
