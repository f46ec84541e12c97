//! Files that are mapped into memory may be made shorter by somebody else.
//!
//! To touch a page that a file no longer has is SIGBUS, which ends the process. Within the mappings that are known here it puts
//! an empty page there instead, which belongs to this process alone; whoever uses them looks at the file's size and finds
//! out. Anywhere else the signal does what it did before.

use std::mem;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most mappings at a time.
const MAPPINGS_MAX: usize = 1_024;

struct Mapping {
    start: AtomicUsize,
    bytes: AtomicUsize,
}

static MAPPINGS: [Mapping; MAPPINGS_MAX] =
    [const { Mapping { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0) } }; MAPPINGS_MAX];
static HANDLER: Once = Once::new();
static PAGE: AtomicUsize = AtomicUsize::new(4_096);

/// Watches over a mapping from now on; false where there are too many.
pub fn watch(start: usize, bytes: usize) -> bool {
    HANDLER.call_once(install);
    MAPPINGS.iter().any(|mapping| {
        let free = mapping.start.compare_exchange(0, start, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if free {
            mapping.bytes.store(bytes, Ordering::SeqCst);
        }
        free
    })
}

/// The mapping goes.
pub fn forget(start: usize) {
    for mapping in MAPPINGS.iter().filter(|mapping| mapping.start.load(Ordering::SeqCst) == start) {
        mapping.bytes.store(0, Ordering::SeqCst);
        mapping.start.store(0, Ordering::SeqCst);
    }
}

fn install() {
    // SAFETY: all zeroes are a valid sigaction; the handler has the form that SA_SIGINFO asks for and calls nothing that a
    // handler may not.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE);
        PAGE.store(usize::try_from(page).unwrap_or(4_096), Ordering::SeqCst);
        let mut action: libc::sigaction = mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives the information; that of SIGBUS has an address.
    let at = unsafe { (*info).si_addr() } as usize;
    let within = |mapping: &&Mapping| {
        let start = mapping.start.load(Ordering::SeqCst);
        start != 0 && at >= start && at - start < mapping.bytes.load(Ordering::SeqCst)
    };
    if MAPPINGS.iter().any(|mapping| within(&mapping)) {
        let page = PAGE.load(Ordering::SeqCst);
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        // SAFETY: the page belongs to a mapping that is known here; its bytes are those of a file that has none there.
        let put = unsafe { libc::mmap((at & !(page - 1)) as *mut _, page, protection, flags, -1, 0) };
        if put != libc::MAP_FAILED {
            return;
        }
    }
    // SAFETY: a call without pointers: touched again, the page ends the process as it always did.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
