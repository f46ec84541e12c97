//! A slot file has a header block, and then a block for each member.

pub const BLOCK: usize = 4_096;
/// Most slots that a file may have.
pub const SLOTS_MAX: usize = 1_024;

/// The header begins with this; then slots u32, little-endian, and a CRC-32 of both.
const MAGIC: &[u8; 16] = b"evenkeel slots 1";

/// The bytes of the first block, which says how many slots there are.
pub fn header(slots: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK);
    block.extend(MAGIC);
    block.extend((slots as u32).to_le_bytes());
    block.extend(crc32fast::hash(&block).to_le_bytes());
    block.resize(BLOCK, 0);
    block
}

/// How many slots a first block says that there are; `None` of a block that is no header.
pub fn slots_in(first: &[u8]) -> Option<usize> {
    let slots = u32::from_le_bytes(first.get(16..20)?.try_into().ok()?) as usize;
    let is_header = (1..=SLOTS_MAX).contains(&slots) && first.get(..24)? == &header(slots)[..24];
    is_header.then_some(slots)
}
