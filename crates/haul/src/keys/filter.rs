//! Says of most keys that no run has them, without a look at the disk.

/// A Bloom filter of fixed size: four bits of one word for each key. The more keys it has the oftener it says yes, which costs time and
/// nothing else.
pub(super) struct Filter(Vec<u64>);

/// Words of it: 32 MB, which say no to a hundred to one for twenty million keys.
const WORDS: usize = if cfg!(test) { 1 << 14 } else { 1 << 22 };

impl Filter {
    pub fn new() -> Self {
        Self(vec![0; WORDS])
    }

    pub fn add(&mut self, key: (u64, u32)) {
        let (word, bits) = place(key);
        self.0[word] |= bits;
    }

    /// Whether a key may be among those added; one that was is never said no to.
    pub fn may_have(&self, key: (u64, u32)) -> bool {
        let (word, bits) = place(key);
        self.0[word] & bits == bits
    }
}

fn place((high, low): (u64, u32)) -> (usize, u64) {
    let bits = (0..4).fold(0, |bits, part| bits | 1 << (low >> (6 * part) & 63));
    (high as usize & (WORDS - 1), bits)
}
