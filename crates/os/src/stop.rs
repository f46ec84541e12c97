//! One switch ends long work early and in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once (by Ctrl-C, say), seen by everyone who holds a clone. Long work looks at it at least
/// every 100 ms, ends what it began, and leaves nothing behind.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
