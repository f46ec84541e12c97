//! An error says why a server cannot be seen from elsewhere.

use std::io;

/// A refusal at the start of a study. What fails later costs figures, not the study.
#[derive(Debug, thiserror::Error)]
pub enum ElsewhereError {
    /// No command line.
    #[error("{command:?} is not a command: {why}")]
    Words {
        /// What was given.
        command: String,
        /// What keeps it from being a command line.
        why: &'static str,
    },
    /// The command does not start.
    #[error("cannot start {command:?}: {source}")]
    Start {
        /// What was given.
        command: String,
        /// What the system answered.
        source: io::Error,
    },
    /// The command runs, or has ended, and says nothing that can be used.
    #[error("{command:?} {how}; {said}")]
    Command {
        /// What was given.
        command: String,
        /// What it does instead.
        how: String,
        /// Its own words, on the error stream.
        said: String,
    },
    /// Not the address of a page with metrics.
    #[error("{url:?} cannot be read as the address of metrics: {why}")]
    Url {
        /// What was given, without password.
        url: String,
        /// What keeps it from being such an address.
        why: &'static str,
    },
    /// The page cannot be had, or is none of node_exporter.
    #[error("{url}: {why}")]
    Page {
        /// Address of the page, without password.
        url: String,
        /// What happened in place of a page with metrics.
        why: String,
    },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

impl ElsewhereError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Words { .. } => "write it as --sense-with 'ssh db1 evenkeel sense'",
            Self::Start { .. } => "it is run without a shell; where one is needed write sh -c '...'",
            Self::Command { .. } => {
                "run it alone: its first line must be {\"sense\":...}; it must not ask for a password (ssh: \
                 a key and BatchMode), and must keep its standard input open (no ssh -n)"
            }
            Self::Url { .. } => {
                "write it as http://db1:9100/metrics; HTTPS and passwords are not supported; use a tunnel: \
                 ssh -L 9100:localhost:9100 db1"
            }
            Self::Page { .. } => "try it with `curl`; it must show node_cpu_seconds_total",
            Self::Stopped => return None,
        })
    }
}
