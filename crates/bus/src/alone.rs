//! A host that is alone has this bus, on which its own messages come back to it.

use super::{BusError, Carrier, Piece};
use std::time::Duration;

/// The carrier of one member.
#[derive(Clone, Debug, Default)]
pub struct Alone(Vec<u8>);

impl Carrier for Alone {
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError> {
        self.send(hello)
    }

    fn send(&mut self, report: &[u8]) -> Result<(), BusError> {
        self.0 = report.to_vec();
        Ok(())
    }

    fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
        let message = (!self.0.is_empty()).then(|| Piece { bytes: self.0.clone(), sender: None });
        Ok(message.into_iter().collect())
    }

    fn keeps(&self) -> bool {
        true
    }

    fn note(&self) -> Option<String> {
        Some("no bus: this host is alone with its storage".to_owned())
    }
}
