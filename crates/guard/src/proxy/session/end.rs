//! Why a stage of a session ends.

use crate::proxy::refusal::Refusal;

/// Why a stage ends.
#[derive(Debug)]
pub enum End {
    /// The guard says no.
    Refusal(Refusal),
    /// The server has ended.
    Server,
    /// The client is gone.
    Client,
    /// Nothing is left to say or to wait for.
    Over,
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}
