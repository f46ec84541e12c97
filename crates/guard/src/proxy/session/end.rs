//! Why a stage of a session ends.

use crate::proxy::arrivals::Refusal;
use evenkeel_wire::ProtocolError;

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

impl From<ProtocolError> for End {
    fn from(error: ProtocolError) -> Self {
        Self::Refusal(error.into())
    }
}
