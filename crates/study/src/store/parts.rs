//! What the response times of a run are made of, as it stands in `run.json`.

use super::estimates::EstimateRecord;
use serde::{Deserialize, Serialize};

/// The parts of the response times of some requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartsRecord {
    /// Share of the requests that was drawn, percent.
    pub share_percent: f64,
    pub drawn: u64,
    /// Of those, requests of which the server told how long it worked.
    pub told: u64,
    /// Means over these; absent where the server told of none.
    pub means: Option<PartMeansRecord>,
    /// What a drawn request took longer than one that was not drawn, ms, with its interval: requests are drawn by chance, so that nothing
    /// but the measuring makes the two differ. Absent where all or none were drawn.
    pub price_ms: Option<EstimateRecord>,
}

/// Parts of the mean response time, ms. The five add up to it; the waking of the server is a part of the network where it is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartMeansRecord {
    /// Completion - arrival.
    pub response_ms: f64,
    /// What is no statement: dispatch lag, wait for a session, connecting, preparing.
    pub before_ms: f64,
    /// The way, both directions, with the sockets.
    pub network_ms: f64,
    /// From when an answer was there to when the generator's thread read it.
    pub waking_ms: f64,
    /// What the server's thread could have run and waited for a CPU; absent where the server runs elsewhere or does not name its threads.
    pub server_waking_ms: Option<f64>,
    /// What the server says that it worked.
    pub execution_ms: f64,
    /// What the question behind a request took; no part of its response time.
    pub question_ms: f64,
    /// Share of the answers of which the kernel noted when they came in, percent; of the others only the wait of the generator's thread
    /// for a CPU counts as waking.
    pub noted_percent: f64,
}

impl PartMeansRecord {
    /// Response less execution, without what came before: the study's network delay.
    pub fn mu_ms(&self) -> f64 {
        self.network_ms + self.waking_ms + self.server_waking_ms.unwrap_or(0.0)
    }
}
