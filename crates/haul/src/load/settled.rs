//! What a load works on, once it is settled.

use super::files::Looked;
use super::manifest::{KnownFile, Origin};
use crate::table::Engine;

/// The tables, the files and the manifest, once they agree.
pub(super) struct Settled {
    /// The tables' names as the manifest has them.
    pub named: String,
    pub engine: Engine,
    pub origin: Origin,
    pub looked: Vec<Looked>,
    pub known: Vec<KnownFile>,
    pub notes: Vec<String>,
}
