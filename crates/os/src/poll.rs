//! Some descriptors at once are waited for by `poll`, where a [`super::Poller`] would be too much.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What one descriptor is waited for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited<'a> {
    Read(BorrowedFd<'a>),
    /// Room to write, or the end.
    Write(BorrowedFd<'a>),
    /// It is passed over, and keeps its place.
    Nothing,
}

/// Waits until one of them is ready, a signal comes, or the time is over, which counts in whole milliseconds: which ones are ready, in
/// their order.
pub fn poll(awaited: &[Awaited<'_>], limit: Duration) -> Vec<bool> {
    let entry = |awaited: &Awaited<'_>| match awaited {
        Awaited::Read(file) => libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 },
        Awaited::Write(file) => libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLOUT, revents: 0 },
        // The kernel passes over a descriptor below zero.
        Awaited::Nothing => libc::pollfd { fd: -1, events: 0, revents: 0 },
    };
    let mut polled: Vec<libc::pollfd> = awaited.iter().map(entry).collect();
    let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the pointer and the length are those of a vector that lives through the call.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, limit) };
    polled.iter().map(|polled| polled.revents != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn who_can_go_on_is_told_in_the_order_of_the_question() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let awaited = [
            Awaited::Read(ours.as_fd()),
            Awaited::Nothing,
            Awaited::Write(ours.as_fd()),
            Awaited::Read(theirs.as_fd()),
        ];
        assert_eq!(poll(&awaited, Duration::ZERO), [false, false, true, false]);
        std::io::Write::write_all(&mut &theirs, b"x").unwrap();
        assert_eq!(poll(&awaited[..2], Duration::from_secs(60)), [true, false]);
        assert!(poll(&[], Duration::ZERO).is_empty());
    }
}
