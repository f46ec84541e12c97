//! What lives while the plugin is installed, and the way to it.

use crate::sessions::Sessions;
use crate::watcher::Stop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::SeqCst};

pub struct Installed {
    pub sessions: Arc<Sessions>,
    pub stop: Arc<Stop>,
    pub thread: libc::pthread_t,
}

pub static INSTALLED: AtomicPtr<Installed> = AtomicPtr::new(null_mut());
/// Something panicked: the plugin does nothing any more.
pub static BROKEN: AtomicBool = AtomicBool::new(false);

/// Calls `act` with what is installed, if anything is and works. A panic does not leave: the server would end.
pub fn guarded<R>(otherwise: R, act: impl FnOnce(&Installed) -> R) -> R {
    if BROKEN.load(SeqCst) {
        return otherwise;
    }
    // SAFETY: the server calls nothing of the plugin before `init` and after `deinit`.
    let Some(installed) = (unsafe { INSTALLED.load(SeqCst).as_ref() }) else { return otherwise };
    catch_unwind(AssertUnwindSafe(|| act(installed))).unwrap_or_else(|_| {
        BROKEN.store(true, SeqCst);
        installed.sessions.broken.store(true, SeqCst);
        let _ = catch_unwind(AssertUnwindSafe(|| installed.sessions.open()));
        otherwise
    })
}
