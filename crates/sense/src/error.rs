//! These are refusals; what sense merely cannot find is `None` instead.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum SenseError {
    #[error("not a list of CPUs: {text:?} (expected for example 0-3,8, below {limit})")]
    CpuSet { text: String, limit: u32 },
    #[error("cannot start the sampling thread")]
    Thread { source: io::Error },
    #[error("counters need CAP_PERFMON or kernel.perf_event_paranoid at most 0, which is {paranoid}")]
    CountersForbidden { paranoid: i64 },
    #[error("the kernel has no performance events")]
    CountersAbsent,
    #[error("counters on {cpus} CPUs would take {files} open files, more than {files_max}")]
    CountersTooMany { cpus: usize, files: usize, files_max: usize },
    #[error("no counter can be opened on CPU {cpu}")]
    CountersRefused { cpu: u32, source: io::Error },
}

impl SenseError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::CountersForbidden { .. } => {
                "as root `sysctl kernel.perf_event_paranoid=0`, or `setcap cap_perfmon+ep` on the evenkeel binary"
            }
            Self::CountersAbsent => {
                "a kernel with CONFIG_PERF_EVENTS is needed, and inside a container /proc/sys/kernel must be visible"
            }
            Self::CountersTooMany { .. } => "give the server fewer CPUs to itself",
            Self::CountersRefused { source, .. } => refused_hint(source),
            Self::CpuSet { .. } | Self::Thread { .. } => return None,
        })
    }
}

fn refused_hint(source: &io::Error) -> &'static str {
    match source.raw_os_error().unwrap_or(0) {
        libc::EACCES | libc::EPERM | libc::ENOSYS => {
            "the kernel or a container's seccomp filter forbids it: allow perf_event_open (CAP_PERFMON, in older \
             kernels CAP_SYS_ADMIN) and `sysctl kernel.perf_event_paranoid=0`"
        }
        libc::EMFILE | libc::ENFILE => "raise the limit of open files (`ulimit -n`)",
        libc::EBUSY => "another profiler holds the counters; end it",
        // ENOENT, ENODEV, EOPNOTSUPP, EINVAL: no such hardware behind a kernel that would allow it.
        _ => {
            "there are no hardware counters here: a guest has them if its hypervisor passes the PMU through (KVM: CPU \
             host-passthrough with <pmu state='on'/>, Xen: vpmu=1)"
        }
    }
}
