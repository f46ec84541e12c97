//! How a study that is shipped is named in lists.

/// A study that is shipped: what it asks, and the command that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    pub name: &'static str,
    pub question: &'static str,
    /// The command after `evenkeel`, to which `--resume` may be added.
    pub command: &'static str,
}
