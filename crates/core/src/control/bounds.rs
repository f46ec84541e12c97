/// The limit that a controller begins with and the range that it never leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub initial: u32,
    pub range: (u32, u32),
}

impl Bounds {
    pub fn starting_at(initial: u32) -> Self {
        Self { initial, ..Self::default() }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self { initial: 8, range: (1, 1_024) }
    }
}
