//! Bytes of the NBD protocol, the server's side: what a client asks for, and answers to it.
//!
//! [`Handshake`] brings a connection from the greeting to the choice of an export, [`RequestReader`] reads the heads of
//! requests in whatever pieces they arrive, [`Head`] is what stands before the bytes of an answer. What a write carries is
//! left to the caller, who knows where it goes. Fixed newstyle with the option GO, and simple replies. TLS is asked for and
//! answered here, and done by the caller.

mod failure;
mod handshake;
mod reply;
mod request;

pub use failure::Failure;
pub use handshake::{Export, Handshake, Step};
pub use reply::Head;
pub use request::{Command, Request, RequestReader};

/// Longest name of an export, in bytes.
pub const NAME_MAX: usize = 4_096;
/// Most bytes that one read or write may carry.
pub const PAYLOAD_MAX: u32 = 32 << 20;
/// The size of I/Os that clients are told to prefer, in bytes.
const PREFERRED: u32 = 4_096;

/// Reads numbers in the order of the network from the front; `None` where there are too few bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A length and as many bytes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(usize::try_from(length).ok()?)
    }
}

#[cfg(test)]
mod tests;
