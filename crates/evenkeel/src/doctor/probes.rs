//! What is tried, one thing each. A thing is used as the commands use it, not looked up in a list.

use super::finding::{Finding, State};
use crate::format::{counted, percent};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::threshold::TAKEN_MAX;
use evenkeel_os::clock::Clock;
use evenkeel_sense::counters::Counters;
use evenkeel_sense::cpu::{CpuUse, Domain};
use evenkeel_sense::pressure::PressureReading;
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_site::sandbox::{self, DiskLimit, Limited};
use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// All of them, in the order in which they are shown.
pub const ALL: [fn() -> Finding; 12] =
    [server, cpus, neighbours, groups, disk, counters, pressure, waits, descriptors, uring, fuse, loops];

/// Events that the throttling study counts.
const EVENTS: usize = 4;
/// For how long neighbours are watched.
const WATCHED: Duration = Duration::from_millis(1_500);
/// Descriptors below which a profile may want for sessions: two for each of a thousand.
const DESCRIPTORS_MIN: u64 = 2_048;
/// The major number of miscellaneous devices and the minor number of FUSE among them (Linux, devices.txt).
const FUSE_DEVICE: u64 = (10 << 8) | 229;
/// And that of the control of loop devices.
const LOOP_CONTROL: u64 = (10 << 8) | 237;

fn server() -> Finding {
    match sandbox::check_server(None) {
        Ok(version) => Finding::ok("private server", version),
        Err(error) => Finding::less(
            "private server",
            State::Missing,
            error.to_string(),
            "a profile without a URL, `sandbox` and the studies have no server of their own",
            "apt-get install mariadb-server-core, or name yours as mysql://user@host/database",
        ),
    }
}

fn cpus() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    match count {
        1 => Finding::less(
            "CPUs",
            State::Limited,
            "1",
            "load generator and server disturb one another, so that runs of a busy server are not valid",
            "measure a server on another machine, or give this one a second CPU",
        ),
        _ => Finding::ok("CPUs", format!("{count}, so that the load generator has one to itself")),
    }
}

/// What others and the hypervisor take just now.
fn neighbours() -> Finding {
    let clock = Clock::start();
    let before = (Domain::Host.read(), clock.now());
    std::thread::sleep(WATCHED);
    let after = (Domain::Host.read(), clock.now());
    let own = before
        .0
        .zip(after.0)
        .and_then(|(one, other)| CpuUse::between(&one, &other, Nanos(after.1.0 - before.1.0)));
    let Some(found) = own else {
        return Finding::less(
            "neighbours",
            State::Missing,
            "no /proc/stat",
            "stolen CPU time and the CPU use of others are not available",
            "mount /proc as the kernel provides it",
        );
    };
    let stolen = found
        .steal
        .map_or_else(|| "stolen time not shown".to_owned(), |steal| format!("{} stolen", percent(steal)));
    let seen = format!("{} of the CPUs used and {stolen} just now", percent(found.total));
    let taken = found.total + found.steal.unwrap_or(0.0);
    match () {
        () if found.steal.is_none() => Finding::less(
            "neighbours",
            State::Limited,
            seen,
            "what the hypervisor gives to others looks like a slow server",
            "measure on a host that shows guests their stolen time",
        ),
        () if taken > 100.0 * TAKEN_MAX => Finding::less(
            "neighbours",
            State::Limited,
            seen,
            "bounds of a profile are wider",
            "stop what else runs here, or give a profile more time (--within)",
        ),
        () => Finding::ok("neighbours", seen),
    }
}

fn groups() -> Finding {
    const LOST: &str = "`--memory` of private servers is refused, and `--cpus` is kept by affinity alone";
    const REMEDY: &str = "run as root, or have systemd delegate a group (systemd-run --user -p Delegate=yes)";
    let found = [sandbox::try_limit(Limited::Cpus), sandbox::try_limit(Limited::Memory)];
    match found {
        [Ok(true), Ok(_)] => {
            Finding::ok("control groups", "CPUs and memory of private servers can be limited")
        }
        [Ok(false), Ok(_)] => Finding::less(
            "control groups",
            State::Limited,
            "memory can be limited, CPUs by affinity alone",
            "a private server may leave the CPUs of --cpus, if it wants to",
            REMEDY,
        ),
        [_, Err(error)] => Finding::less("control groups", State::Missing, error, LOST, REMEDY),
        [Err(error), _] => Finding::less("control groups", State::Limited, error, LOST, REMEDY),
    }
}

/// I/Os per second that the disk of a private server is held back to for a moment.
const IOPS_TRIED: u64 = 500;

fn disk() -> Finding {
    let folder = sandbox::default_home().ok().filter(|home| home.is_dir()).unwrap_or_else(std::env::temp_dir);
    match sandbox::try_disk(&folder, DiskLimit { iops: Some(IOPS_TRIED), bytes_per_s: None }) {
        Ok(found) => Finding::ok("disk limit", found),
        Err(error) => Finding::less(
            "disk limit",
            State::Missing,
            error.to_string(),
            "`--disk-iops` and `--disk-bandwidth` of private servers are refused",
            "run it as root, with blkio or io control groups, and with --home on a disk of its own",
        ),
    }
}

fn counters() -> Finding {
    const LOST: &str =
        "the guard and the throttling study use throughput and CPU time, without misses per commit";
    let cpus = Domain::Host.cpus().unwrap_or_default();
    match Counters::open(&cpus) {
        Ok(counters) => {
            let names: Vec<&str> = counters.events().map(|event| event.name()).collect();
            let seen = names.join(", ");
            match names.len() {
                EVENTS => Finding::ok("hardware counters", seen),
                _ => Finding::less(
                    "hardware counters",
                    State::Limited,
                    format!("{seen} of {EVENTS} events"),
                    LOST,
                    "a guest sees as many as its hypervisor passes on",
                ),
            }
        }
        Err(error) => {
            let hint = error.hint().unwrap_or("a guest sees as many as its hypervisor passes on");
            Finding::less("hardware counters", State::Missing, error.to_string(), LOST, hint)
        }
    }
}

fn pressure() -> Finding {
    match PressureReading::host() == PressureReading::default() {
        false => Finding::ok("pressure", "waits for CPU, memory and I/O are shown"),
        true => Finding::less(
            "pressure",
            State::Missing,
            "no /proc/pressure",
            "a run does not say how long its server waited for CPU, memory and I/O",
            "boot with psi=1, or a kernel with CONFIG_PSI",
        ),
    }
}

fn waits() -> Finding {
    match ThreadWaits::own() {
        Some(_) => Finding::ok("scheduler's waits", "a thread's waits for a CPU are shown"),
        None => Finding::less(
            "scheduler's waits",
            State::Missing,
            "no schedstat",
            "waking up cannot be separated from the network in the probe delay",
            "a kernel with CONFIG_SCHED_INFO is needed, and sysctl kernel.sched_schedstats=1",
        ),
    }
}

fn descriptors() -> Finding {
    evenkeel_os::allow_descriptors();
    let count = evenkeel_os::open_files();
    let seen = counted(usize::try_from(count).unwrap_or(usize::MAX), "open file");
    match count {
        DESCRIPTORS_MIN.. => Finding::ok("open files", seen),
        _ => Finding::less(
            "open files",
            State::Limited,
            seen,
            "a profile has fewer sessions and a guard fewer clients than they could",
            "raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd)",
        ),
    }
}

fn uring() -> Finding {
    match evenkeel_os::try_ring() {
        Ok(()) => Finding::ok("io_uring", "disks are read and written without a thread for each I/O"),
        Err(error) => Finding::less(
            "io_uring",
            State::Missing,
            error.to_string(),
            "disks of `share` use threads and more CPU for each I/O",
            "sysctl kernel.io_uring_disabled=0, and a container whose seccomp profile allows it",
        ),
    }
}

fn fuse() -> Finding {
    const LOST: &str = "`share mount` cannot mount a disk; clients of NBD still can use it";
    let device = Path::new("/dev/fuse");
    let is_fuse = is_device(device, FUSE_DEVICE).unwrap_or(false);
    let opened = OpenOptions::new().read(true).write(true).open(device);
    match (is_fuse, opened) {
        (true, Ok(_)) if evenkeel_os::user().0 == 0 || in_path("fusermount3") => {
            Finding::ok("FUSE", "/dev/fuse opens")
        }
        (true, Ok(_)) => Finding::less(
            "FUSE",
            State::Limited,
            "/dev/fuse opens, and only root may mount here",
            LOST,
            "run it as root, or install fuse3, whose fusermount3 mounts for users",
        ),
        (is_fuse, opened) => {
            let seen = match opened {
                Err(error) => format!("/dev/fuse: {error}"),
                Ok(_) if !is_fuse => "/dev/fuse is something else".to_owned(),
                Ok(_) => "/dev/fuse".to_owned(),
            };
            let remedy = "load the kernel module fuse; a container needs /dev/fuse";
            Finding::less("FUSE", State::Missing, seen, LOST, remedy)
        }
    }
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn loops() -> Finding {
    loops_by(Path::new("/dev/loop-control"))
}

/// Whatever stands under that name may open, as a file that a container was given in its place does.
fn loops_by(device: &Path) -> Finding {
    let path = device.display();
    let seen = match is_device(device, LOOP_CONTROL).and_then(|is_it| {
        OpenOptions::new().read(true).write(true).open(device)?;
        Ok(is_it)
    }) {
        Ok(true) => return Finding::ok("loop devices", format!("{path} opens")),
        Ok(false) => format!("{path} is something else"),
        Err(error) => format!("{path}: {error}"),
    };
    Finding::less(
        "loop devices",
        State::Missing,
        seen,
        "`share mount` cannot put a file system on a disk",
        "run it as root on a kernel with the module loop",
    )
}

/// Whether it is the character device of this number.
fn is_device(path: &Path, number: u64) -> std::io::Result<bool> {
    let found = std::fs::metadata(path)?;
    Ok(found.file_type().is_char_device() && found.rdev() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_has_the_name_of_the_loop_control_is_not_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("loop-control");
        assert_eq!(loops_by(&file).state, State::Missing);
        std::fs::write(&file, "").unwrap();
        let found = loops_by(&file);
        assert_eq!(found.state, State::Missing, "a file opens as well");
        assert!(found.seen.ends_with("is something else"), "{}", found.seen);
        // A character device that opens, and of another number.
        assert_eq!(loops_by(Path::new("/dev/null")).state, State::Missing);
    }
}
