//! `evenkeel doctor`: what this machine allows, and what is lost without it.

use super::Session;
use crate::format::{counted, percent};
use crate::out;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::caveat::threshold::TAKEN_MAX;
use evenkeel_os::clock::Clock;
use evenkeel_sense::counters::{Counters, Event};
use evenkeel_sense::cpu::{CpuOf, CpuUse};
use evenkeel_sense::pressure;
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_site::sandbox::{self, DiskLimit, Domain};
use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Flags of `evenkeel doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  evenkeel doctor
  sudo evenkeel doctor    as root it may find more; what counts is the user who measures

Each feature is tried as the commands use it. This takes two seconds in all and leaves nothing behind. A line says what this \
machine has and, if something is missing, what is lost without it and what to do. No feature is needed by all commands, so the \
exit code is 0 whatever is missing.")]
pub struct Args {
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Tries everything and says what came of it.
pub fn run(_session: &Session, args: &Args) -> Result<ExitCode> {
    let findings = examine();
    out::answer(args.json, &findings, || out::write(&text(&findings)))?;
    Ok(ExitCode::SUCCESS)
}

/// One thing that is tried.
struct Probe {
    name: &'static str,
    /// What is seen of it, or how much is missing and what is seen instead.
    seen: fn() -> Result<String, (State, String)>,
    /// What does not work, or not as well, without it.
    lost: &'static str,
    /// What to do to have it.
    remedy: &'static str,
}

/// How much of a thing there is, as it is shown.
type State = &'static str;
const OK: State = "ok";
const LIMITED: State = "limited";
const MISSING: State = "missing";

/// All of them, in the order in which they are shown.
const PROBES: [Probe; 12] = [
    Probe {
        name: "private server",
        seen: || sandbox::check_server(None).map_err(|error| (MISSING, error.to_string())),
        lost: "a profile without a URL, `sandbox` and the studies have no server of their own",
        remedy: "apt-get install mariadb-server-core, or name yours as mysql://user@host/database",
    },
    Probe {
        name: "CPUs",
        seen: cpus,
        lost: "load generator and server disturb one another, so that runs of a busy server are not valid",
        remedy: "measure a server on another machine, or give this one a second CPU",
    },
    Probe {
        name: "neighbours",
        seen: neighbours,
        lost: "bounds of a profile are wider; where stolen time is not shown, it looks like a slow server",
        remedy: "stop what else runs here, give a profile more time (--within), or measure on a host that shows stolen time",
    },
    Probe {
        name: "control groups",
        seen: groups,
        lost: "`memory=` of private servers (`--at`) may be refused, and `cpus=` is kept by affinity alone",
        remedy: "run as root, or have systemd delegate a group (systemd-run --user -p Delegate=yes)",
    },
    Probe {
        name: "disk limit",
        seen: disk,
        lost: "`disk-iops=` and `disk-rate=` of private servers (`--at`) are refused",
        remedy: "run it as root, with blkio or io control groups, and with --home on a disk of its own",
    },
    Probe {
        name: "hardware counters",
        seen: counters,
        lost: "the guard and the throttling study use throughput and CPU time, without misses per commit",
        remedy: "a guest sees as many as its hypervisor passes on",
    },
    Probe {
        name: "pressure",
        seen: || match pressure::host().is_empty() {
            false => Ok("waits for CPU, memory and I/O are shown".to_owned()),
            true => Err((MISSING, "no /proc/pressure".to_owned())),
        },
        lost: "a run does not say how long its server waited for CPU, memory and I/O",
        remedy: "boot with psi=1, or a kernel with CONFIG_PSI",
    },
    Probe {
        name: "scheduler's waits",
        seen: || match ThreadWaits::own() {
            Some(_) => Ok("a thread's waits for a CPU are shown".to_owned()),
            None => Err((MISSING, "no schedstat".to_owned())),
        },
        lost: "waking up cannot be separated from the network in the probe delay",
        remedy: "a kernel with CONFIG_SCHED_INFO is needed, and sysctl kernel.sched_schedstats=1",
    },
    Probe {
        name: "open files",
        seen: descriptors,
        lost: "a profile has fewer sessions and a guard fewer clients than they could",
        remedy: "raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd)",
    },
    Probe {
        name: "io_uring",
        seen: || match evenkeel_os::try_ring() {
            Ok(()) => Ok("disks are read and written without a thread for each I/O".to_owned()),
            Err(error) => Err((MISSING, error.to_string())),
        },
        lost: "disks of `share` use threads and more CPU for each I/O",
        remedy: "sysctl kernel.io_uring_disabled=0, and a container whose seccomp profile allows it",
    },
    Probe {
        name: "FUSE",
        seen: fuse,
        lost: "`share mount` cannot mount a disk; clients of NBD still can use it",
        remedy: "load the kernel module fuse (a container needs /dev/fuse), and run it as root or install fuse3",
    },
    Probe {
        name: "loop devices",
        seen: || device(Path::new("/dev/loop-control"), LOOP_CONTROL),
        lost: "`share mount` cannot put a file system on a disk",
        remedy: "run it as root on a kernel with the module loop",
    },
];

/// What trying a thing came to.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Check {
    name: &'static str,
    state: State,
    seen: String,
    /// Empty where all of it is there.
    lost: &'static str,
    remedy: &'static str,
}

/// Tries everything; takes some five seconds and leaves nothing behind.
fn examine() -> Vec<Check> {
    let found = |&Probe { name, seen, lost, remedy }: &Probe| match seen() {
        Ok(seen) => Check { name, state: OK, seen, lost: "", remedy: "" },
        Err((state, seen)) => Check { name, state, seen, lost, remedy },
    };
    PROBES.iter().map(found).collect()
}

/// A line for each finding.
fn text(findings: &[Check]) -> String {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let line = |Check { name, state, seen, lost, remedy }: &Check| match *state {
        OK => format!("{state:<7}  {name:<width$}  {seen}\n"),
        _ => format!("{state:<7}  {name:<width$}  {seen}: {lost}; {remedy}\n"),
    };
    findings.iter().map(line).collect()
}

/// For how long neighbours are watched.
const WATCHED: Duration = Duration::from_millis(1_500);
/// Descriptors below which a profile may want for sessions: two for each of a thousand.
const DESCRIPTORS_MIN: u64 = 2_048;
/// The major number of miscellaneous devices and the minor number of FUSE among them (Linux, devices.txt).
const FUSE_DEVICE: u64 = (10 << 8) | 229;
/// And that of the control of loop devices.
const LOOP_CONTROL: u64 = (10 << 8) | 237;
/// I/Os per second that the disk of a private server is held back to for a moment.
const IOPS_TRIED: u64 = 500;
/// Bytes of memory of a group that nobody is in.
const MEMORY_TRIED: u64 = 64 << 20;

fn cpus() -> Result<String, (State, String)> {
    match std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
        1 => Err((LIMITED, "1".to_owned())),
        count => Ok(format!("{count}, so that the load generator has one to itself")),
    }
}

/// What others and the hypervisor take just now.
fn neighbours() -> Result<String, (State, String)> {
    let clock = Clock::start();
    let before = (CpuOf::Host.read(), clock.now());
    std::thread::sleep(WATCHED);
    let after = (CpuOf::Host.read(), clock.now());
    let own = before
        .0
        .zip(after.0)
        .and_then(|(one, other)| CpuUse::between(&one, &other, Nanos(after.1.0 - before.1.0)));
    let Some(found) = own else { return Err((MISSING, "no /proc/stat".to_owned())) };
    let used = percent(found.total);
    let Some(steal) = found.steal else {
        return Err((LIMITED, format!("{used} of the CPUs used just now, stolen time not shown")));
    };
    let seen = format!("{used} of the CPUs used and {} stolen just now", percent(steal));
    if found.total + steal > 100.0 * TAKEN_MAX { Err((LIMITED, seen)) } else { Ok(seen) }
}

fn groups() -> Result<String, (State, String)> {
    let tried = |domain| sandbox::try_groups(&domain).map_err(|error| error.to_string());
    let cpus = Domain { cpus: CpuOf::Process(std::process::id()).cpus(), ..Domain::default() };
    match (tried(cpus), tried(Domain { memory: Some(MEMORY_TRIED), ..Domain::default() })) {
        (Ok(true), Ok(_)) => Ok("CPUs and memory of private servers can be limited".to_owned()),
        (Ok(false), Ok(_)) => Err((LIMITED, "memory can be limited, CPUs by affinity alone".to_owned())),
        (_, Err(error)) => Err((MISSING, error)),
        (Err(error), _) => Err((LIMITED, error)),
    }
}

fn disk() -> Result<String, (State, String)> {
    let folder = sandbox::default_home().ok().filter(|home| home.is_dir()).unwrap_or_else(std::env::temp_dir);
    sandbox::try_disk(&folder, DiskLimit { iops: Some(IOPS_TRIED), bytes_per_s: None })
        .map_err(|error| (MISSING, error.to_string()))
}

fn counters() -> Result<String, (State, String)> {
    let cpus = CpuOf::Host.cpus().unwrap_or_default();
    match Counters::open(&cpus) {
        Ok(counters) => {
            let names: Vec<&str> = counters.events().map(|event| event.name()).collect();
            let (seen, all) = (names.join(", "), Event::ALL.len());
            if names.len() == all { Ok(seen) } else { Err((LIMITED, format!("{seen} of {all} events"))) }
        }
        Err(error) => {
            let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
            Err((MISSING, format!("{error}{hint}")))
        }
    }
}

fn descriptors() -> Result<String, (State, String)> {
    evenkeel_os::allow_descriptors();
    let count = evenkeel_os::open_files();
    let seen = counted(usize::try_from(count).unwrap_or(usize::MAX), "open file");
    if count >= DESCRIPTORS_MIN { Ok(seen) } else { Err((LIMITED, seen)) }
}

fn fuse() -> Result<String, (State, String)> {
    let seen = device(Path::new("/dev/fuse"), FUSE_DEVICE)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join("fusermount3").is_file());
    match evenkeel_os::user().0 == 0 || is_there {
        true => Ok(seen),
        false => Err((LIMITED, format!("{seen}, and only root may mount here"))),
    }
}

/// Whether it opens and is the character device of this number: whatever stands under that name may open, as a file that a
/// container was given in its place does.
fn device(path: &Path, number: u64) -> Result<String, (State, String)> {
    let tried = || -> std::io::Result<bool> {
        let found = std::fs::metadata(path)?;
        OpenOptions::new().read(true).write(true).open(path)?;
        Ok(found.file_type().is_char_device() && found.rdev() == number)
    };
    let path = path.display();
    match tried() {
        Ok(true) => Ok(format!("{path} opens")),
        Ok(false) => Err((MISSING, format!("{path} is something else"))),
        Err(error) => Err((MISSING, format!("{path}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_has_the_name_of_the_loop_control_is_not_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("loop-control");
        let tried = |path: &Path| device(path, LOOP_CONTROL).unwrap_err();
        assert_eq!(tried(&file).0, MISSING);
        std::fs::write(&file, "").unwrap();
        assert!(tried(&file).1.ends_with("is something else"), "a file opens as well");
        // A character device that opens, and of another number.
        assert_eq!(tried(Path::new("/dev/null")).0, MISSING);
    }
}
