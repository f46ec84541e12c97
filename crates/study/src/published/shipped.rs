//! How a study that is shipped is named in lists.

/// A study that is shipped: what it asks, and the command that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Name by which it is stored.
    pub name: &'static str,
    /// What it asks.
    pub question: &'static str,
    /// The command after `evenkeel`, to which `--resume` may be added.
    pub command: &'static str,
}
