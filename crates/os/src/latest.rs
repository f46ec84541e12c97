//! A loop puts the latest value of something that changes here, and the threads that show it take it from here.

use std::sync::{Arc, Mutex, PoisonError};

/// The latest `T`, which one thread puts here and any thread may get. Clones share it.
#[derive(Debug)]
pub struct Latest<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Latest<T> {
    /// There is no value yet.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(value));
    }

    /// The latest value; `None` before the first.
    pub fn get(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
