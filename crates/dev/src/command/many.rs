//! Many tries of one thing, on all processors.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What each try brings, in the order of their numbers, whichever thread made it: the same for the same seed.
pub fn tries<T: Send, E: Send>(count: u64, one: impl Fn(u64) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let next = AtomicU64::new(0);
    let done: Mutex<Vec<(u64, Result<T, E>)>> = Mutex::new(Vec::new());
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            break;
        }
        let outcome = one(number);
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
