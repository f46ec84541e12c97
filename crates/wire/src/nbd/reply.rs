//! What stands before the bytes of an answer.

use super::Failure;

const MAGIC: u32 = 0x6744_6698;

/// The head of an answer, or all of it where it carries no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head([u8; 16]);

impl Head {
    /// The bytes of a read follow where it was done.
    pub fn new(cookie: u64, result: Result<(), Failure>) -> Self {
        let mut head = [0; 16];
        head[..4].copy_from_slice(&MAGIC.to_be_bytes());
        head[4..8].copy_from_slice(&result.err().map_or(0, Failure::code).to_be_bytes());
        head[8..].copy_from_slice(&cookie.to_be_bytes());
        Self(head)
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}
