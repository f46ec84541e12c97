//! Why a published study cannot go on: what went wrong, while doing what, and what can be done about it.

use crate::profile::StudyError;
use crate::store::StoreError;
use evenkeel_haul::HaulError;
use evenkeel_haul::dispatch::DispatchError;
use evenkeel_lab::data::DataError;
use evenkeel_lab::load::LoadError;
use evenkeel_os::tools::ToolError;
use evenkeel_site::sandbox::SandboxError;
use evenkeel_site::server::TargetError;
use std::error::Error;

/// What may go wrong in a published study.
pub type Result<T, E = PublishedError> = std::result::Result<T, E>;

pub type AnyError = Box<dyn Error + Send + Sync>;

/// Why a published study cannot go on. What was finished before stays in its folder. An error of a library is also its
/// source, so that whoever shows errors finds what that library advises.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    #[error("{0}")]
    Target(#[from] TargetError),
    #[error("{0}")]
    Data(#[from] DataError),
    #[error("{0}")]
    Load(#[from] LoadError),
    #[error("{0}")]
    Haul(#[from] HaulError),
    #[error("{0}")]
    Dispatch(#[from] DispatchError),
    #[error("{0}")]
    Server(#[from] StudyError),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Something failed while this was done.
    #[error("{doing}")]
    While { doing: String, source: AnyError },
    /// Something is not as it must be; with the way out, where there is one.
    #[error("{what}")]
    Wrong { what: String, hint: Option<String> },
    /// The program around the studies, or one of the system, failed; with the way out, where it is known.
    #[error("{source}")]
    Outside { source: AnyError, hint: Option<String> },
}

impl PublishedError {
    /// Something is not as it must be.
    pub fn wrong(what: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), hint: None }
    }

    /// Something is not as it must be, and this can be done about it.
    pub fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), hint: Some(hint.into()) }
    }

    /// This of a run of the plan is none that the study knows.
    pub(crate) fn unreadable(what: &str) -> Self {
        Self::with_hint(
            format!("plan.json has a run whose {what} cannot be read"),
            "restore plan.json from a backup; finished runs stay in the folder",
        )
    }

    /// What the user can do about it, where the error is of no library that says so itself.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Wrong { hint, .. } | Self::Outside { hint, .. } => hint.as_deref(),
            Self::While { source, .. } => source.downcast_ref::<Self>().and_then(Self::hint),
            _ => None,
        }
    }
}

/// Says what was being done when something failed.
pub(crate) trait While<T> {
    /// Adds what was being done.
    fn doing<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<AnyError>> While<T> for Result<T, E> {
    fn doing<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| PublishedError::While { doing: doing().into(), source: error.into() })
    }
}
