//! An error says why a server cannot be seen from elsewhere.

use std::io;

/// A refusal at the start of a study. What fails later costs figures, not the study.
#[derive(Debug, thiserror::Error)]
pub enum ElsewhereError {
    #[error("cannot start {command:?}: {source}")]
    Start { command: String, source: io::Error },
    #[error("{command:?} {how}; {said}")]
    Command { command: String, how: String, said: String },
    #[error("{url:?} cannot be read as the address of metrics: {why}")]
    Url {
        url: String,
        /// What keeps it from being such an address.
        why: &'static str,
    },
    #[error("{url}: {why}")]
    Page { url: String, why: String },
    #[error("stopped")]
    Stopped,
}

impl ElsewhereError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Command { .. } => {
                "run it alone: its first line must be {\"sense\":...}; it must not ask for a password (ssh: \
                 a key and BatchMode), and must keep its standard input open (no ssh -n)"
            }
            Self::Url { .. } => {
                "write it as http://db1:9100/metrics; HTTPS and passwords are not supported; use a tunnel: \
                 ssh -L 9100:localhost:9100 db1"
            }
            Self::Page { .. } => "try it with `curl`; it must show node_cpu_seconds_total",
            Self::Start { .. } | Self::Stopped => return None,
        })
    }
}
