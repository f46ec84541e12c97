//! What a catalog says of a workload.

/// A workload that can be found by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name, for example `tpcw.complex`.
    pub name: &'static str,
    /// One line on what it asks.
    pub help: &'static str,
    /// Tables it touches.
    pub tables: Vec<&'static str>,
}
