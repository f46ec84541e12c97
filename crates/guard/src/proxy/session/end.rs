//! Why a stage of a session ends.

use crate::proxy::refusal::Refusal;

#[derive(Debug)]
pub enum End {
    Refusal(Refusal),
    Server,
    Client,
    /// Nothing is left to say or to wait for.
    Over,
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}
