//! Disks as files, by the kernel and by fio.

use super::*;
use crate::backing::{Executor, FileBacking, FileOptions};
use crate::left_out::left_out;
use crate::{Buffer, DiskPlan, Engine, Errno, Plan, Reply, Request, Work};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::Costs;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::{NamedTempFile, TempDir};

const BYTES: u64 = 4 << 20;
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A disk that is shown, and all behind it, taken down in this order.
struct Shown {
    front: FuseFront,
    engine: Engine,
    folder: TempDir,
    _file: NamedTempFile,
}

/// A disk of its own, shown; where nothing can be shown here, the test is named as left out.
fn shown_or_left_out(read_only: bool) -> Option<Shown> {
    let file = NamedTempFile::new().unwrap();
    file.as_file().set_len(BYTES).unwrap();
    let backing =
        FileBacking::open(file.path(), FileOptions { read_only, ..FileOptions::default() }).unwrap();
    let disk = DiskPlan { name: "disk".to_owned(), shares: 1.0, backing: Box::new(backing) };
    let plan = Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 1 << 20 };
    let engine = Engine::start(plan).unwrap();
    let folder = TempDir::new().unwrap();
    let disk = FuseDisk { disk: 0, name: "disk".to_owned(), bytes: BYTES, read_only };
    match FuseFront::mount(engine.handle(), disk, folder.path()) {
        Ok(front) => Some(Shown { front, engine, folder, _file: file }),
        Err(error @ (FuseError::NoFuse(_) | FuseError::NotPermitted { .. })) => {
            left_out(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

#[test]
fn what_threads_write_at_any_place_is_read_again() {
    let Some(shown) = shown_or_left_out(false) else { return };
    let file = Arc::new(open(&shown.front.file()));
    let writers = (0..8_u64).map(|number| {
        let file = file.clone();
        std::thread::spawn(move || {
            // Each has every eighth piece, of odd lengths.
            let mut random = Random::new(Seed(number));
            for piece in (number..512).step_by(8) {
                let start = piece * 8_192;
                let from = random.uniform(0, 4_000);
                file.write_all_at(&vec![number as u8 + 1; 8_192 - from as usize], start + from).unwrap();
            }
            file.sync_data().unwrap();
        })
    });
    let writers: Vec<_> = writers.collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut bytes = vec![0; BYTES as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    for (number, piece) in bytes.chunks(8_192).enumerate() {
        assert!(piece[4_000..].iter().all(|&byte| byte == (number % 8) as u8 + 1), "{number}");
    }
    let counts = shown.engine.handle().measure(PATIENCE).unwrap().counts;
    assert!(counts.disks[0].writes >= 512 && counts.disks[0].flushes >= 8, "{:?}", counts.disks[0]);
}

#[test]
fn what_fio_writes_in_all_sizes_at_once_it_finds_again() {
    let Some(shown) = shown_or_left_out(false) else { return };
    shown.engine.handle().set_window(6.0);
    let file = format!("--filename={}", shown.front.file().display());
    let words = "--name=verify --size=4M --rw=randrw --bssplit=512/20:4k/40:20k/20:64k/20 --direct=1 --ioengine=libaio \
                 --iodepth=32 --loops=4 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --fallocate=none \
                 --fsync=64 --output-format=terse";
    let mut fio = Command::new("fio");
    fio.args(words.split(' ').filter(|word| !word.is_empty())).arg(&file);
    fio.current_dir(shown.folder.path().join(".."));
    let Ok(output) = fio.output() else {
        return left_out("fio is not installed");
    };
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !said.contains("verify:"), "{said}");
    let seen = shown.engine.handle().measure(PATIENCE).unwrap();
    let counts = &seen.counts.disks[0];
    assert!(counts.writes > 200 && counts.flushes > 0, "{counts:?}");
    let period = &seen.measured.period;
    assert!(period.wanted() > period.outstanding, "the window was full, fio wanted more");
}

#[test]
fn the_file_is_a_disk_and_stays_one() {
    let Some(shown) = shown_or_left_out(false) else { return };
    let path = shown.front.file();
    let file = open(&path);
    let errno = |result: io::Result<usize>| result.unwrap_err().raw_os_error();
    assert_eq!(file.metadata().unwrap().len(), BYTES);
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(errno(file.write_at(&[1; 10], BYTES)), Some(libc::ENOSPC));
    assert_eq!(errno(file.write_at(&[1; 20], BYTES - 10)), Some(libc::ENOSPC));
    assert_eq!(file.read_at(&mut [0; 20], BYTES - 10).unwrap(), 10);
    assert_eq!(file.read_at(&mut [0; 20], BYTES + 10).unwrap(), 0);
    assert_eq!(errno(file.set_len(0).map(|()| 0)), Some(libc::EPERM));
    file.set_len(BYTES).unwrap();
    assert!(fs::remove_file(&path).is_err() && File::create(shown.folder.path().join("other")).is_err());
    let names: Vec<_> =
        fs::read_dir(shown.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["disk"]);
}

#[test]
fn holes_and_zeroes_of_the_file_are_those_of_the_disk() {
    let Some(shown) = shown_or_left_out(false) else { return };
    let path = shown.front.file();
    let file = open(&path);
    file.write_all_at(&vec![7; BYTES as usize], 0).unwrap();
    for (mode, offset, length, works) in [
        ("--punch-hole", 10_000, 100_000, true),
        ("--zero-range", 200_000, 100_000, true),
        ("--punch-hole", BYTES - 5_000, 10_000, true),
        ("--posix", 0, 10, true),
        ("--collapse-range", 4_096, 4_096, false),
    ] {
        let (offset, length) = (offset.to_string(), length.to_string());
        let mut fallocate = Command::new("fallocate");
        let output =
            fallocate.args([mode, "--offset", &offset, "--length", &length]).arg(&path).output().unwrap();
        assert_eq!(output.status.success(), works, "{mode}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut wanted = vec![7; BYTES as usize];
    wanted[10_000..110_000].fill(0);
    wanted[200_000..300_000].fill(0);
    wanted[BYTES as usize - 5_000..].fill(0);
    let mut found = vec![1; BYTES as usize];
    file.read_exact_at(&mut found, 0).unwrap();
    assert!(found == wanted);
}

#[test]
fn a_disk_that_may_only_be_read_is_not_written() {
    let Some(shown) = shown_or_left_out(true) else { return };
    let path = shown.front.file();
    assert_eq!(fs::read(&path).unwrap().len() as u64, BYTES);
    let refused = OpenOptions::new().write(true).open(&path).unwrap_err().raw_os_error();
    assert_eq!(refused, Some(libc::EROFS));
}

#[test]
fn what_has_users_is_not_taken_down_but_hidden_and_goes_with_the_last() {
    for detaches in [false, true] {
        let Some(mut shown) = shown_or_left_out(false) else { return };
        let file = open(&shown.front.file());
        let error = shown.front.unmount().unwrap_err();
        assert!(matches!(error, FuseError::Busy(_)), "{error}");
        assert!(matches!(look(shown.folder.path()), Err(FuseError::InUse(_))));
        let hidden = || assert_eq!(fs::read_dir(shown.folder.path()).unwrap().count(), 0);
        if detaches {
            shown.front.detach().unwrap();
            hidden();
            file.write_all_at(b"still", 0).unwrap();
            assert!(!shown.front.has_ended());
            drop(file);
            shown.front.unmount().unwrap();
            assert!(shown.front.has_ended());
        } else {
            drop(shown.front);
            hidden();
            file.write_all_at(b"still", 0).unwrap();
            drop(file);
            look(shown.folder.path()).unwrap();
            shown.engine.stop().unwrap();
        }
    }
}

#[test]
fn a_file_system_that_is_taken_down_can_be_mounted_again() {
    let Some(mut shown) = shown_or_left_out(false) else { return };
    open(&shown.front.file()).write_all_at(b"once", 0).unwrap();
    shown.front.unmount().unwrap();
    let disk = FuseDisk { disk: 0, name: "other".to_owned(), bytes: BYTES, read_only: false };
    let front = FuseFront::mount(shown.engine.handle(), disk, shown.folder.path()).unwrap();
    let mut bytes = [0; 4];
    open(&front.file()).read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"once");
    shown.engine.stop().unwrap();
    let gone = open(&front.file()).read_at(&mut bytes, 0).unwrap_err();
    assert_eq!(gone.raw_os_error(), Some(libc::ESHUTDOWN), "a disk without an engine");
}

#[test]
fn errors_of_what_is_below_a_disk_are_told_as_they_are() {
    for executor in [Executor::Uring, Executor::Threads] {
        let Some(shown) = shown_or_left_out(false) else { return };
        let below =
            FileBacking::open(&shown.front.file(), FileOptions { executor, ..FileOptions::default() });
        let Ok(below) = below else { return left_out(format!("in part: no {executor}")) };
        let disk = DiskPlan { name: "above".to_owned(), shares: 1.0, backing: Box::new(below) };
        let plan = Plan { disks: vec![disk], window: 4.0, costs: Costs::default(), memory: 1 << 20 };
        let above = Engine::start(plan).unwrap();
        shown.engine.stop().unwrap();
        let works = [
            Work::Read { offset: 4_096, buffer: Buffer::zeroed(8_192) },
            Work::Write { offset: 4_096, buffer: Buffer::zeroed(8_192), durable: false },
            Work::Flush,
        ];
        for work in works {
            let (sender, receiver) = std::sync::mpsc::channel();
            let reply = Reply::Call(Box::new(move |answer| drop(sender.send(answer))));
            above.handle().submit(Request { disk: 0, work, reply });
            let answer = receiver.recv_timeout(PATIENCE).unwrap();
            assert_eq!(answer.map(drop), Err(Errno::SHUTDOWN), "{executor}");
        }
        assert!(above.stop().is_err(), "what was written may be lost");
    }
}

#[test]
fn a_place_that_cannot_be_mounted_on_is_refused_in_words() {
    let folder = TempDir::new().unwrap();
    let said = |path: &Path| look(path).unwrap_err().to_string();
    assert!(said(&folder.path().join("none")).starts_with("no such folder: "));
    let file = folder.path().join("file");
    File::create(&file).unwrap();
    assert!(said(&file).starts_with("not a folder: "));
    assert!(said(folder.path()).starts_with("folder not empty: "));
    assert!(said(Path::new("/proc")).starts_with("already a mount point: "));
    assert!(said(Path::new("/")).starts_with("already a mount point: "));
}
