//! What the options of a handshake carry.

use super::{ALLOCATION, NAME_MAX, Reader};

pub(super) const EXPORT_NAME: u32 = 1;
pub(super) const ABORT: u32 = 2;
pub(super) const LIST: u32 = 3;
pub(super) const STARTTLS: u32 = 5;
pub(super) const INFO: u32 = 6;
pub(super) const GO: u32 = 7;
pub(super) const STRUCTURED_REPLY: u32 = 8;
pub(super) const LIST_META_CONTEXT: u32 = 9;
pub(super) const SET_META_CONTEXT: u32 = 10;

/// A piece of information on an export: its name, as the server calls it.
pub(super) const INFO_NAME: u16 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It has not the form of the option.
    Malformed,
    /// A name in it is too long.
    TooBig,
}

/// An export, and whether its name is asked for: what GO and INFO carry.
pub(super) fn wanted(data: &[u8]) -> Result<(&[u8], bool), Flaw> {
    let mut reader = Reader(data);
    let name = name(&mut reader)?;
    let count = reader.u16().ok_or(Flaw::Malformed)?;
    if reader.0.len() != usize::from(count) * 2 {
        return Err(Flaw::Malformed);
    }
    let names = reader.0.chunks_exact(2).any(|info| info == INFO_NAME.to_be_bytes());
    Ok((name, names))
}

/// What a client asks about contexts of metadata. How many queries there are, the length of the option bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queries<'a> {
    pub export: &'a [u8],
    /// For every context that there is: by no query, or by the name of the only namespace.
    pub all: bool,
    /// For holes by their name.
    pub allocation: bool,
}

pub(super) fn contexts(data: &[u8]) -> Result<Queries<'_>, Flaw> {
    let mut reader = Reader(data);
    let export = name(&mut reader)?;
    let count = reader.u32().ok_or(Flaw::Malformed)?;
    let mut queries = Queries { export, all: count == 0, allocation: false };
    for _ in 0..count {
        let query = name(&mut reader)?;
        queries.all |= query == b"base:";
        queries.allocation |= query == ALLOCATION.as_bytes();
    }
    if reader.0.is_empty() { Ok(queries) } else { Err(Flaw::Malformed) }
}

fn name<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Flaw> {
    let name = reader.string().ok_or(Flaw::Malformed)?;
    if name.len() > NAME_MAX { Err(Flaw::TooBig) } else { Ok(name) }
}
