//! The processor and the kernel count events (`perf_event_open`).

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// The first published version of the kernel's `perf_event_attr`, which every kernel still takes.
#[derive(Default)]
#[repr(C)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`: a reading is three words.
const READ_FORMAT: u64 = 1 | 2;
/// `PERF_FLAG_FD_CLOEXEC`: a server that we start must not inherit the counter.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Opens a counter of everything that runs on one CPU (process -1, no group). It counts at once.
pub fn open_event(kind: u32, config: u64, cpu: u32) -> io::Result<File> {
    let attributes = EventAttributes {
        kind,
        size: size_of::<EventAttributes>() as u32,
        config,
        read_format: READ_FORMAT,
        ..EventAttributes::default()
    };
    let cpu = libc::c_int::try_from(cpu).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the kernel reads `size` bytes of the attributes, which live until the call returns, and
    // takes the four numbers as int, int, int and unsigned long.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            -1 as libc::pid_t,
            cpu,
            -1 as libc::c_int,
            CLOSE_ON_EXEC,
        )
    };
    let file =
        libc::c_int::try_from(file).ok().filter(|&file| file >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(file) }))
}
