//! Numbers in the bytes of a page, which are big-endian. What lies beyond the page is zero: a damaged page may point anywhere, and
//! whoever reads one checks what it says.

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let end = at.saturating_add(N);
    bytes.get(at..end).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

pub(super) fn u8_at(bytes: &[u8], at: usize) -> u8 {
    array::<1>(bytes, at)[0]
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}
