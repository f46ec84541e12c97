//! A layout file once it is read, and what may be wrong with one.

use crate::blocks::Separator;
use evenkeel_wire::record::{Layout, LayoutError};
use std::path::PathBuf;

/// A layout and what of it is no business of a single record.
#[derive(Clone, Debug)]
pub struct LayoutFile {
    pub layout: Layout,
    pub separator: Separator,
    /// The file as it stands, so that work on one layout is not gone on with by another.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct LayoutFileError {
    pub(super) path: PathBuf,
    /// Counted from one; `None` where it is the file as a whole.
    pub(super) line: Option<usize>,
    pub(super) problem: String,
}

/// What is wrong, and on which line where that is known.
pub(super) struct Problem {
    pub line: Option<usize>,
    pub text: String,
}

impl Problem {
    pub fn new(text: impl Into<String>) -> Self {
        Self { line: None, text: text.into() }
    }
}

impl From<LayoutError> for Problem {
    fn from(error: LayoutError) -> Self {
        Self::new(error.to_string())
    }
}
