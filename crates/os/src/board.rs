//! Where a loop shows its latest moment to whoever looks.

use std::sync::{Arc, Mutex, PoisonError};

/// The latest `T`, for any thread that shows it.
#[derive(Debug)]
pub struct Board<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T> Clone for Board<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Board<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Board<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces what is shown.
    pub fn post(&self, latest: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(latest));
    }

    /// The latest; `None` before the first.
    pub fn latest(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
